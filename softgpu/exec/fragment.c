/* SPDX-License-Identifier: Apache-2.0 */
/* The places of matrix elements in the registers of a warp. */
#include "softgpu/exec/fragment.h"

#include "softgpu/exec/matrix.h"

unsigned sg_element_bits(enum sg_element element)
{
    static const unsigned char bits[SG_ELEMENTS] = {
        [SG_ELEMENT_F16] = 16, [SG_ELEMENT_BF16] = 16, [SG_ELEMENT_TF32] = 32,
        [SG_ELEMENT_E4M3] = 8, [SG_ELEMENT_E5M2] = 8,  [SG_ELEMENT_F32] = 32,
        [SG_ELEMENT_F64] = 64, [SG_ELEMENT_S8] = 8,    [SG_ELEMENT_U8] = 8,
        [SG_ELEMENT_S4] = 4,   [SG_ELEMENT_U4] = 4,    [SG_ELEMENT_B1] = 1,
        [SG_ELEMENT_S32] = 32,
    };
    return bits[element];
}

static unsigned per_register(const struct sg_fragment *fragment)
{
    unsigned bits = sg_element_bits((enum sg_element)fragment->element);
    return bits == 64 ? 1 : 32 / bits;
}

unsigned sg_fragment_registers(const struct sg_fragment *fragment)
{
    unsigned lanes = fragment->layout == SG_LAYOUT_QUAD ? 8 : SG_LANES;
    bool wmma_half = fragment->layout == SG_LAYOUT_WMMA && fragment->role != SG_MATRIX_C &&
                     fragment->element == SG_ELEMENT_F16;
    unsigned elements = (unsigned)fragment->rows * fragment->columns;
    unsigned count = elements / (lanes * per_register(fragment));
    return wmma_half ? 8 : count ? count : 1; /* .f16: 16 elements in each lane, for all shapes */
}

/* A: two registers hold row g and row g + 8, with four times as many columns as a register has
 * elements; the next registers hold the next columns. B is one register wide, with its columns in
 * the lanes. */
static void place_mma(const struct sg_fragment *f, unsigned lane, unsigned r, unsigned at,
                      unsigned *row, unsigned *column)
{
    unsigned group = lane >> 2, thread = lane & 3, width = per_register(f);
    unsigned tall = f->role != SG_MATRIX_B && f->rows == 16;
    if (f->role == SG_MATRIX_C) {
        unsigned i = r * width + at;
        *row = group + (tall ? 8 * (i >> 1) : 0);
        *column = thread * 2 + (tall ? i & 1 : i);
        return;
    }
    unsigned block = tall ? r >> 1 : r;
    unsigned k = block * 4 * width + thread * width + at;
    unsigned other = group + (tall ? 8 * (r & 1) : 0);
    *row = f->role == SG_MATRIX_A ? other : k;
    *column = f->role == SG_MATRIX_A ? k : other;
}

/* Each lane belongs to the matrix of its quad pair. */
static void place_quad(const struct sg_fragment *f, unsigned lane, unsigned r, unsigned at,
                       unsigned *row, unsigned *column)
{
    unsigned i = r * per_register(f) + at, low = lane & 3, high = lane < 16 ? 0 : 4;
    if (f->role == SG_MATRIX_A) {
        *row = f->column ? i + high : low + high;
        *column = f->column ? low : i;
    } else if (f->role == SG_MATRIX_B) {
        *row = f->column ? i : low;
        *column = f->column ? low + high : i + high;
    } else if (f->element == SG_ELEMENT_F16) {
        *row = low + high;
        *column = i;
    } else {
        *row = (lane & 1) + (i & 2) + high;
        *column = (i & 4) + (lane & 2) + (i & 1);
    }
}

bool sg_fragment_place(const struct sg_fragment *fragment, unsigned lane, unsigned r, unsigned at,
                       unsigned *row, unsigned *column)
{
    if (fragment->layout == SG_LAYOUT_QUAD) {
        place_quad(fragment, lane, r, at, row, column);
        return true;
    }
    if (fragment->layout == SG_LAYOUT_MMA) {
        place_mma(fragment, lane, r, at, row, column);
        return true;
    }
    unsigned index = (lane * fragment->registers + r) * per_register(fragment) + at;
    unsigned elements = (unsigned)fragment->rows * fragment->columns;
    *row = index % elements / fragment->columns;
    *column = index % fragment->columns;
    return index < elements;
}
