/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling one texture object with many lanes. What is declared here exists once per instruction
 * set (SG_ISA_NAME). */
#ifndef SOFTGPU_EXEC_SAMPLE_H
#define SOFTGPU_EXEC_SAMPLE_H

#include "softgpu/exec/alu.h"
#include "softgpu/exec/tex.h"

/* What memory holds, as it is read */
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
    unsigned axes; /* along which instruction and texture both have a coordinate */
    bool linear;   /* filter */
    bool seamless; /* a cube whose faces are filtered as one */
    bool floats;   /* what is read are floats */
    enum sg_decoding decoding;
    /* rows of SG_LANES */
    const int32_t *offset[3]; /* NULL: none */
    const float *coord[3];
    const int32_t *index[3]; /* instead, if form.integer */
    const uint32_t *layer;   /* faces counted; not looked at where there is one */
};

/* How an axis falls on texels: the two between which to filter, or one in `at[0]` */
struct sg_axis {
    _Alignas(64) int32_t at[2][SG_LANES];
    float weight[SG_LANES]; /* of at[1] */
    uint32_t outside[2];    /* lanes: the border's colour instead */
};

/* One level; colours of the channels that the texture has. Without `filter`: the nearest texels.
 * False: a fault. */
bool SG_ISA_NAME(sg_sample_level)(const struct sg_sampling *s, unsigned level, uint32_t mask,
                                  sg_colours out);

/* Texels at base + offset[lane], all 32 of which must be there, to the channels of the texture. */
void SG_ISA_NAME(sg_texels_decode)(enum sg_decoding decoding, uint32_t channels,
                                   const uint8_t *base, const int64_t *offset, sg_colours out);

sg_handler SG_ISA_NAME(sg_tex);

#endif
