/* SPDX-License-Identifier: Apache-2.0 */
/* mma and wmma.mma: fragments to matrices, the product, and back.
 *
 * Sums of .f32 and .f16 are computed in single precision, beginning with C, in the order of k;
 * products of the narrow formats are exact there. .f16 results are rounded once, at the end.
 * (Hardware promises no order, and at least single precision; PTX ISA, "mma".) */
#include "softgpu/exec/matrix.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "softgpu/exec/fragment.h"
#include "softgpu/exec/half.h"
#include "softgpu/exec/warp.h"

union matrix { /* .f64: at most 16 x 16 */
    float f[SG_MATRIX_ELEMENTS_MAX];
    int32_t i[SG_MATRIX_ELEMENTS_MAX];
    double d[SG_MATRIX_ELEMENTS_MAX / 2];
};

union result { /* at most 32 x 8 */
    float f[256];
    int32_t i[256];
    double d[256];
};

enum number { NUMBER_FLOAT, NUMBER_DOUBLE, NUMBER_INT };

static enum number number_of(unsigned element)
{
    return element == SG_ELEMENT_F64  ? NUMBER_DOUBLE
           : element >= SG_ELEMENT_S8 ? NUMBER_INT
                                      : NUMBER_FLOAT;
}

static float read_float(unsigned element, uint32_t bits, unsigned at)
{
    switch ((enum sg_element)element) {
    case SG_ELEMENT_F16:
        return sg_f32_f16(bits >> 16 * at & 0xffff);
    case SG_ELEMENT_BF16:
        return sg_f32_bf16(bits >> 16 * at & 0xffff);
    case SG_ELEMENT_TF32:
        return sg_f32_tf32(bits);
    case SG_ELEMENT_E4M3:
        return sg_f32_e4m3(bits >> 8 * at & 0xff);
    case SG_ELEMENT_E5M2:
        return sg_f32_e5m2(bits >> 8 * at & 0xff);
    default:
        return sg_float32(bits);
    }
}

static int32_t read_int(unsigned element, uint32_t bits, unsigned at)
{
    switch ((enum sg_element)element) {
    case SG_ELEMENT_S8:
        return (int8_t)(bits >> 8 * at);
    case SG_ELEMENT_U8:
        return (uint8_t)(bits >> 8 * at);
    case SG_ELEMENT_S4:
        return (int32_t)(bits >> 4 * at << 28) >> 28;
    case SG_ELEMENT_U4:
        return (int32_t)(bits >> 4 * at & 15);
    case SG_ELEMENT_B1:
        return (int32_t)(bits >> at & 1);
    default:
        return (int32_t)bits;
    }
}

/* Whether the lane belongs to matrix `quad`. All instructions but mma.m8n8k4 have only one. */
static bool takes_part(const struct sg_fragment *f, unsigned lane, unsigned quad)
{
    return f->layout != SG_LAYOUT_QUAD || (lane >> 2 & 3) == quad;
}

static void matrix_gather(struct sg_warp *warp, const struct sg_fragment *f, const uint32_t *rows,
                          unsigned quad, void *out)
{
    enum number number = number_of(f->element);
    unsigned bits = sg_element_bits((enum sg_element)f->element), per = bits == 64 ? 1 : 32 / bits;
    size_t elements = (size_t)f->rows * f->columns;
    memset(out, 0, elements * (number == NUMBER_DOUBLE ? sizeof(double) : sizeof(float)));
    for (unsigned r = 0; r < f->registers; r++) {
        const void *source = sg_row(warp, rows[r]);
        for (unsigned lane = 0; lane < SG_LANES; lane++) {
            for (unsigned at = 0; takes_part(f, lane, quad) && at < per; at++) {
                unsigned row, column;
                if (!sg_fragment_place(f, lane, r, at, &row, &column)) {
                    continue;
                }
                unsigned to = row * f->columns + column;
                if (number == NUMBER_DOUBLE) {
                    memcpy((double *)out + to, (const uint64_t *)source + lane, sizeof(double));
                } else if (number == NUMBER_INT) {
                    ((int32_t *)out)[to] =
                        read_int(f->element, ((const uint32_t *)source)[lane], at);
                } else {
                    ((float *)out)[to] =
                        read_float(f->element, ((const uint32_t *)source)[lane], at);
                }
            }
        }
    }
}

static void write_element(const struct sg_fragment *f, void *target, unsigned lane, unsigned at,
                          const union result *from, unsigned index)
{
    if (f->element == SG_ELEMENT_F64) {
        memcpy((uint64_t *)target + lane, &from->d[index], sizeof(double));
    } else if (f->element == SG_ELEMENT_F16) {
        uint32_t *word = (uint32_t *)target + lane;
        *word = (*word & ~(0xffffu << 16 * at)) | sg_f16(from->f[index]) << 16 * at;
    } else {
        memcpy((uint32_t *)target + lane, &from->i[index], sizeof(uint32_t));
    }
}

static void scatter(struct sg_warp *warp, const struct sg_fragment *f, const uint32_t *rows,
                    unsigned quad, uint32_t mask, const union result *from)
{
    unsigned per = f->element == SG_ELEMENT_F16 ? 2 : 1;
    for (unsigned r = 0; r < f->registers; r++) {
        void *target = sg_row(warp, rows[r]);
        for (unsigned lane = 0; lane < SG_LANES; lane++) {
            for (unsigned at = 0; at < per && (mask >> lane & 1); at++) {
                unsigned row, column;
                if (takes_part(f, lane, quad)) {
                    sg_fragment_place(f, lane, r, at, &row, &column);
                    write_element(f, target, lane, at, from, row * f->columns + column);
                }
            }
        }
    }
}

/* ---- products: c += a * b ---- */

static void multiply_float(const struct sg_mma *mma, const float *a, const float *b, float *c)
{
    unsigned n = mma->b.columns, depth = mma->b.rows;
    for (unsigned row = 0; row < mma->a.rows; row++) {
        for (unsigned k = 0; k < depth; k++) {
            float x = a[row * depth + k];
            for (unsigned column = 0; column < n; column++) {
                c[row * n + column] += x * b[k * n + column];
            }
        }
    }
}

static void multiply_double(const struct sg_mma *mma, const double *a, const double *b, double *c)
{
    unsigned n = mma->b.columns, depth = mma->b.rows, mxcsr = _mm_getcsr();
    _mm_setcsr((mxcsr & ~(unsigned)_MM_ROUND_MASK) | mma->rounding);
    for (unsigned row = 0; row < mma->a.rows; row++) {
        for (unsigned column = 0; column < n; column++) {
            double sum = c[row * n + column];
            for (unsigned k = 0; k < depth; k++) {
                sum = fma(a[row * depth + k], b[k * n + column], sum);
            }
            c[row * n + column] = sum;
        }
    }
    _mm_setcsr(mxcsr);
}

static int32_t int_sum(const struct sg_mma *mma, const int32_t *a, const int32_t *b, int32_t c)
{
    unsigned n = mma->b.columns, depth = mma->b.rows;
    int64_t sum = c;
    for (unsigned k = 0; k < depth; k++) {
        int32_t x = a[k], y = b[(size_t)k * n];
        sum += mma->op == SG_MMA_XOR ? x ^ y : x * y; /* bits: * is & */
    }
    if (mma->saturate) {
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    }
    return (int32_t)sum;
}

static void multiply_int(const struct sg_mma *mma, const int32_t *a, const int32_t *b, int32_t *c)
{
    unsigned n = mma->b.columns, depth = mma->b.rows;
    for (unsigned row = 0; row < mma->a.rows; row++) {
        for (unsigned column = 0; column < n; column++) {
            int32_t *sum = &c[row * n + column];
            *sum = int_sum(mma, a + (size_t)row * depth, b + column, *sum);
        }
    }
}

/* Half of the elements of a row are present: two of each four, each with two bits that give its
 * position; of .tf32 one of each two, with four bits, 0100 or 1110. A lane has 16 bits of row g
 * and 16 of row g + 8; if a row needs more, the next lane has them (PTX ISA, "Sparse matrix
 * storage"). */
static void spread(struct sg_warp *warp, const struct sg_mma *mma, uint32_t row_of_metadata,
                   float *a)
{
    const uint32_t *metadata = sg_row(warp, row_of_metadata);
    unsigned depth = mma->b.rows, there = mma->a.columns, bits = mma->index_bits;
    float packed[16 * 16];
    memcpy(packed, a, sizeof *packed * mma->a.rows * there);
    memset(a, 0, sizeof *a * mma->a.rows * depth);
    for (unsigned row = 0; row < mma->a.rows; row++) {
        for (unsigned i = 0; i < there; i++) {
            unsigned lane = row % 8 * 4 + mma->first_lane + i * bits / 16;
            unsigned index = metadata[lane] >> (row / 8 * 16 + i * bits % 16) & 3;
            unsigned column = bits == 2 ? i / 2 * 4 + index : i * 2 + (index >> 1);
            a[row * depth + column] = packed[row * there + i];
        }
    }
}

void sg_matrix_mma(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const struct sg_mma *mma = (const struct sg_mma *)(intptr_t)in->imm;
    const uint32_t *d = sg_row_list(warp, in), *a = d + mma->d.registers;
    const uint32_t *b = a + mma->a.registers, *c = b + mma->b.registers;
    /* Results are kept here, since a row of d may be one of a, b or c of another quad pair. */
    union matrix ma, mb;
    union result mc[4];
    unsigned quads = mma->d.layout == SG_LAYOUT_QUAD ? 4 : 1;
    for (unsigned quad = 0; quad < quads; quad++) {
        matrix_gather(warp, &mma->a, a, quad, &ma);
        if (mma->index_bits) {
            spread(warp, mma, c[mma->c.registers], ma.f);
        }
        matrix_gather(warp, &mma->b, b, quad, &mb);
        matrix_gather(warp, &mma->c, c, quad, &mc[quad]);
        switch (number_of(mma->a.element)) {
        case NUMBER_FLOAT:
            multiply_float(mma, ma.f, mb.f, mc[quad].f);
            break;
        case NUMBER_DOUBLE:
            multiply_double(mma, ma.d, mb.d, mc[quad].d);
            break;
        default:
            multiply_int(mma, ma.i, mb.i, mc[quad].i);
            break;
        }
    }
    for (unsigned quad = 0; quad < quads; quad++) {
        scatter(warp, &mma->d, d, quad, mask, &mc[quad]);
    }
}
