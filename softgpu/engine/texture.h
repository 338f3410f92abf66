/* SPDX-License-Identifier: Apache-2.0 */
/* Texels in memory, and the texture and surface objects through which kernels reach them.
 *
 * What a reader would get wrong: nothing here owns texels. struct sg_texels describes memory of the
 * owner (arrays of the driver half, or any device memory), and every access of a kernel is checked
 * against the launch's struct sg_map, as that of a load or store is. So an array that is freed
 * while objects still refer to it gives a fault, never a crash: no reference has to be kept.
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

enum sg_channel { /* of what kind each channel of a texel is */
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
    SG_SHAPE_2D, /* pitched linear memory is one of these, too */
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
    uint64_t base;                   /* address; a multiple of the texel's size, as the pitches */
    uint64_t row_bytes, slice_bytes; /* 0 where there is one row, one slice */
    uint32_t width, height, depth;   /* texels; those that the shape lacks are 1 */
};

#define SG_LEVELS_MAX 18 /* 131072 texels wide */

struct sg_texels {
    enum sg_shape shape;
    enum sg_channel channel;
    uint32_t channels; /* 1, 2 or 4 */
    /* Integer channels that are always read as numbers of [0, 1] or [-1, 1] (CUDA's UNORM and
     * SNORM formats), whatever the sampler says. Only 8 and 16 bits. */
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

/* Lays levels out one behind the other in row-major order: from shape, channel, channels, layers
 * and level_count of `texels` fills in the levels, whose bases are offsets from 0, for a first
 * level of the given size (1 for what the shape lacks). Every level begins at a multiple of
 * SG_LEVEL_ALIGN. Returns the bytes of all. */
#define SG_LEVEL_ALIGN 512
uint64_t sg_texels_layout(struct sg_texels *texels, uint32_t width, uint32_t height,
                          uint32_t depth);
/* Adds `base`, a multiple of SG_LEVEL_ALIGN, to the bases of all levels. */
void sg_texels_place(struct sg_texels *texels, uint64_t base);
/* Can this be: enums, counts, extents and alignment? Whether memory is there is not looked up. */
bool sg_texels_are_right(const struct sg_texels *texels);
/* Level `level` alone, which must exist, as a texture of its own or a surface. */
struct sg_texels sg_texels_level(const struct sg_texels *texels, uint32_t level);

/* ---- Samplers ---- */

enum sg_address_mode { /* coordinates beyond the edge; with the numbers of CUaddress_mode */
                       SG_ADDRESS_WRAP, /* WRAP and MIRROR count as CLAMP without normalised
                                           coordinates */
                       SG_ADDRESS_CLAMP,
                       SG_ADDRESS_MIRROR,
                       SG_ADDRESS_BORDER,
};

struct sg_sampler {
    enum sg_address_mode address[3]; /* x, y, z; cubes: not looked at */
    bool linear;                 /* filter; else the nearest texel. Only what is read as float */
    bool normalised_coordinates; /* 0..1, else texels; not for LINEAR, always so for cubes */
    /* Integer channels as they are; else those of 8 and 16 bits become numbers of [0, 1] or [-1,
     * 1]. HALF and FLOAT are read as float in any case, those of 32 bits as integers. */
    bool read_integer;
    bool srgb;       /* 8-bit channels read as float: the first three are sRGB */
    bool mip_linear; /* between levels; else the nearest level */
    bool seamless;   /* cubes: filter across edges */
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

/* The objects of one context, which each of its launches brings along (sg_launch.objects). A handle
 * is never 0, and never again that of another object of the process: kernels may hold old ones, or
 * those of other contexts, and get a fault. One thread at a time adds and removes; kernels look up
 * without a lock. */
struct sg_objects;

/* NULL: no memory. */
struct sg_objects *sg_objects_create(void);
/* No kernel that has it may run. */
void sg_objects_destroy(struct sg_objects *objects);

/* Copies *object. GA_NO_MEMORY (also: 2^20 objects), GA_INVALID (!sg_texels_are_right, or wrong
 * enums). */
GA_CHECKED enum ga_status sg_objects_add(struct sg_objects *objects, const struct sg_object *object,
                                         uint64_t *handle);
/* False: there is no such object. Kernels may run: those that use it fault, or go on with it; its
 * memory is given back when no kernel of the context runs. */
bool sg_objects_remove(struct sg_objects *objects, uint64_t handle);
/* NULL: there is none. Any thread that is a user. */
const struct sg_object *sg_objects_find(const struct sg_objects *objects, uint64_t handle);

/* Between these two what sg_objects_find answers stays; the engine does so around each grid,
 * whoever adds and removes needs neither. `objects` may be NULL. */
void sg_objects_use(struct sg_objects *objects);
void sg_objects_leave(struct sg_objects *objects);

#endif
