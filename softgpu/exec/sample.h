/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling one texture object with many lanes. These functions exist once per instruction set
 * (SG_ISA_NAME). */
#ifndef SOFTGPU_EXEC_SAMPLE_H
#define SOFTGPU_EXEC_SAMPLE_H

#include "softgpu/exec/alu.h"
#include "softgpu/exec/tex.h"

/* How texels are decoded. */
enum sg_decoding {
    SG_DECODE_U8,
    SG_DECODE_S8,
    SG_DECODE_U16,
    SG_DECODE_S16,
    SG_DECODE_32, /* as it is */
    SG_DECODE_HALF,
    SG_DECODE_UNORM8,
    SG_DECODE_SNORM8,
    SG_DECODE_UNORM16,
    SG_DECODE_SNORM16,
    SG_DECODE_SRGB8,
    SG_DECODINGS
};

/* Channel c of lane i: [c][i]. The bits of a float or of an integer. */
typedef uint32_t sg_colours[4][SG_LANES];

struct sg_sampling {
    struct sg_warp *warp;
    const struct sg_insn *in;
    const struct sg_object *object;
    struct sg_tex_form form;
    unsigned axes; /* the axes that both instruction and texture have */
    bool linear;   /* filter */
    bool seamless; /* a cube that is filtered across faces */
    bool floats;   /* the result is floats */
    enum sg_decoding decoding;
    /* Rows of SG_LANES. */
    const int32_t *offset[3]; /* NULL: none */
    const float *coord[3];
    const int32_t *index[3]; /* if form.integer, instead of coordinates */
    const uint32_t *layer;   /* counts faces; ignored if there is only one */
};

/* The texels of an axis: the two between which to filter, or one in `at[0]`. */
struct sg_axis {
    _Alignas(64) int32_t at[2][SG_LANES];
    float weight[SG_LANES]; /* of at[1] */
    uint32_t outside[2];    /* lanes that get the border's colour */
};

/* Samples one level: the channels that the texture has. Without `filter`: the nearest texels.
 * False: a fault. */
bool SG_ISA_NAME(sg_sample_level)(const struct sg_sampling *s, unsigned level, uint32_t mask,
                                  sg_colours out);

/* Decodes the texels at base + offset[lane], all 32 of which must exist, to the channels of the
 * texture. */
void SG_ISA_NAME(sg_texels_decode)(enum sg_decoding decoding, uint32_t channels,
                                   const uint8_t *base, const int64_t *offset, sg_colours out);

sg_handler SG_ISA_NAME(sg_tex);

#endif
