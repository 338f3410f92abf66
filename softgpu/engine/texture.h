/* SPDX-License-Identifier: Apache-2.0 */
/* Texels in memory, and the texture and surface objects through which kernels reach them.
 *
 * Note: nothing here owns texels. struct sg_texels describes memory of its owner (arrays of the
 * driver half, or any device memory), and every access of a kernel is checked against the launch's
 * struct sg_map, as a load or store is. Therefore an array that is freed while objects still refer
 * to it gives a fault, never a crash: no reference is kept.
 *
 * Source of semantics: CUDA C++ Programming Guide, "Texture Fetching" and "Texture and Surface
 * Memory"; PTX ISA 9.0, "Texture Instructions" and "Surface Instructions". */
#ifndef SOFTGPU_ENGINE_TEXTURE_H
#define SOFTGPU_ENGINE_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* ---- Texels ---- */
enum sg_channel { /* the type of each channel of a texel */
                  SG_CHANNEL_U8,
                  SG_CHANNEL_U16,
                  SG_CHANNEL_U32,
                  SG_CHANNEL_S8,
                  SG_CHANNEL_S16,
                  SG_CHANNEL_S32,
                  SG_CHANNEL_HALF,
                  SG_CHANNEL_FLOAT,
                  SG_CHANNELS
};

enum sg_shape {
    SG_SHAPE_LINEAR, /* a buffer: 1D, fetched by integer index only */
    SG_SHAPE_1D,
    SG_SHAPE_2D, /* also pitched linear memory */
    SG_SHAPE_3D,
    SG_SHAPE_1D_LAYERED,
    SG_SHAPE_2D_LAYERED,
    SG_SHAPE_CUBE,         /* six layers: +x -x +y -y +z -z */
    SG_SHAPE_CUBE_LAYERED, /* layer 6 * n + face */
    SG_SHAPES
};

/* One mipmap level. Texel (x, y, z) of it, z being depth or layer, lies at
 * base + z * slice_bytes + y * row_bytes + x * (bytes of a texel). */
struct sg_level {
    uint64_t base; /* address; a multiple of the texel's size, as are the pitches */
    uint64_t row_bytes, slice_bytes; /* 0 with a single row, with a single slice */
    uint32_t width, height, depth;   /* texels; 1 in dimensions that the shape lacks */
};

#define SG_LEVELS_MAX 18 /* 131072 texels wide */

struct sg_texels {
    enum sg_shape shape;
    enum sg_channel channel;
    uint32_t channels; /* 1, 2 or 4 */
    /* Integer channels that are always read as numbers in [0, 1] or [-1, 1] (CUDA's UNORM and SNORM
     * formats), whatever the sampler says. Only 8 and 16 bits. */
    bool normalised;
    uint32_t layers; /* all layers, faces counted: 6 for a cube; 1 without layers */
    uint32_t level_count;
    struct sg_level levels[SG_LEVELS_MAX];
};

/* Bytes of one channel, and of one texel */
uint32_t sg_channel_bytes(enum sg_channel channel);
uint32_t sg_texel_bytes(const struct sg_texels *texels);

/* The most levels that an array of this size can have. */
uint32_t sg_levels_of(uint32_t width, uint32_t height, uint32_t depth);

/* Lays out the levels one behind the other in row-major order. Input: shape, channel, channels,
 * layers and level_count of `texels`, and the size of the first level (1 in dimensions that the
 * shape lacks). Output: the levels, whose bases are offsets from 0 and multiples of SG_LEVEL_ALIGN.
 * Returns the bytes of all. */
#define SG_LEVEL_ALIGN 512
uint64_t sg_texels_layout(struct sg_texels *texels, uint32_t width, uint32_t height,
                          uint32_t depth);

/* Adds `base`, a multiple of SG_LEVEL_ALIGN, to the bases of all levels. */
void sg_texels_place(struct sg_texels *texels, uint64_t base);

/* Whether the description is valid: enums, counts, extents and alignment. It does not check that
 * the memory exists. */
bool sg_texels_are_right(const struct sg_texels *texels);

/* The existing level `level` alone, as a texture or surface of its own. */
struct sg_texels sg_texels_level(const struct sg_texels *texels, uint32_t level);

/* ---- Samplers ---- */
enum sg_address_mode { /* coordinates beyond the edge; the values are those of CUaddress_mode */
                       SG_ADDRESS_WRAP, /* without normalised coordinates WRAP and MIRROR count as
                                           CLAMP */
                       SG_ADDRESS_CLAMP,
                       SG_ADDRESS_MIRROR,
                       SG_ADDRESS_BORDER,
};

struct sg_sampler {
    enum sg_address_mode address[3]; /* x, y, z; ignored for cubes */
    bool linear; /* linear filter, otherwise the nearest texel; only for reads as float */
    bool normalised_coordinates; /* 0..1, otherwise texels; never for LINEAR, always for cubes */
    /* Integer channels are read as integers; otherwise those of 8 and 16 bits become numbers in
     * [0, 1] or [-1, 1]. HALF and FLOAT are read as float in any case, channels of 32 bits as
     * integers. */
    bool read_integer;
    bool srgb;       /* 8-bit channels read as float: the first three are sRGB */
    bool mip_linear; /* between levels; otherwise the nearest level */
    bool seamless;   /* cubes: the filter crosses edges */
    float mip_bias, mip_min, mip_max;
    float border[4]; /* for integer reads: the bits of the integers */
};

/* ---- Objects ---- */
enum sg_object_kind { SG_OBJECT_TEXTURE, SG_OBJECT_SURFACE };

struct sg_object {
    enum sg_object_kind kind;
    struct sg_texels texels;   /* SURFACE: the first level only */
    struct sg_sampler sampler; /* TEXTURE */
    uint64_t handle;           /* set when it is added */
};

#endif
