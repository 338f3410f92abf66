/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices between memory and registers: wmma.load and .store, ldmatrix, stmatrix, movmatrix. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/fragment.h"
#include "softgpu/exec/matrix.h"
#include "softgpu/exec/reach.h"

/* ---- wmma: element after element, at the distance that the stride says ---- */

struct tile { /* a matrix in memory; all lanes name the same address and stride */
    struct sg_warp *warp;
    const struct sg_insn *in;
    const struct sg_matrix_access *access;
    uint64_t address, stride; /* stride: elements */
    unsigned bits, need;
    uint8_t *line; /* the address of row (column: column) `line_number` */
    unsigned line_number;
};

/* The address of the unit with an element: the element, or a byte with several. NULL: a fault. */
static uint8_t *tile_at(struct tile *tile, unsigned row, unsigned column, unsigned *shift)
{
    const struct sg_fragment *f = &tile->access->fragment;
    unsigned line = tile->access->column ? column : row, at = tile->access->column ? row : column;
    unsigned length = tile->access->column ? f->rows : f->columns;
    if (tile->line == NULL || tile->line_number != line) {
        uint64_t from = tile->address + (uint64_t)line * tile->stride * tile->bits / 8;
        unsigned align = tile->bits < 8 ? 1 : tile->bits / 8;
        tile->line = sg_reach(tile->warp, tile->in, 0, from, (uint64_t)length * tile->bits / 8,
                              align, tile->need);
        tile->line_number = line;
    }
    *shift = at * tile->bits % 8;
    return tile->line != NULL ? tile->line + (size_t)at * tile->bits / 8 : NULL;
}

static struct tile tile_of(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask,
                           unsigned need)
{
    unsigned lane = (unsigned)__builtin_ctz(mask);
    const struct sg_matrix_access *access = (const struct sg_matrix_access *)(intptr_t)in->imm;
    return (struct tile){
        .warp = warp,
        .in = in,
        .access = access,
        .address = ((const uint64_t *)sg_row(warp, in->a))[lane],
        .stride = ((const uint32_t *)sg_row(warp, in->b))[lane],
        .bits = sg_element_bits((enum sg_element)access->fragment.element),
        .need = need,
    };
}

/* Loads one register of one lane. Lanes may hold copies of others' elements. */
static bool load_register(struct tile *tile, unsigned lane, unsigned r, uint64_t *value)
{
    const struct sg_fragment *f = &tile->access->fragment;
    unsigned per = tile->bits == 64 ? 1 : 32 / tile->bits;
    unsigned elements = (unsigned)f->rows * f->columns;
    *value = 0;
    for (unsigned at = 0; at < per; at++) {
        unsigned index = ((lane * f->registers + r) * per + at) % elements, shift;
        const uint8_t *from = tile_at(tile, index / f->columns, index % f->columns, &shift);
        uint64_t element = 0;
        if (from == NULL) {
            return false;
        }
        memcpy(&element, from, (tile->bits + 7) / 8);
        if (tile->bits < 8) {
            element = element >> shift & ((1u << tile->bits) - 1);
        }
        *value |= element << tile->bits * at % 64;
    }
    return true;
}

void sg_matrix_load(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    struct tile tile = tile_of(warp, in, mask, SG_MAP_READ);
    const uint32_t *rows = sg_row_list(warp, in);
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        for (unsigned r = 0; (mask >> lane & 1) && r < tile.access->fragment.registers; r++) {
            uint64_t value;
            if (!load_register(&tile, lane, r, &value)) {
                return;
            }
            if (tile.bits == 64) {
                ((uint64_t *)sg_row(warp, rows[r]))[lane] = value;
            } else {
                ((uint32_t *)sg_row(warp, rows[r]))[lane] = (uint32_t)value;
            }
        }
    }
}

/* Accumulators only: elements of at least 16 bits, each in one lane. */
void sg_matrix_store(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    struct tile tile = tile_of(warp, in, mask, SG_MAP_WRITE);
    const struct sg_fragment *f = &tile.access->fragment;
    const uint32_t *rows = sg_row_list(warp, in);
    unsigned per = tile.bits == 16 ? 2 : 1;
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        for (unsigned i = 0; (mask >> lane & 1) && i < f->registers * per; i++) {
            unsigned index = lane * f->registers * per + i, shift;
            const void *row = sg_row(warp, rows[i / per]);
            uint64_t value = tile.bits == 64 ? ((const uint64_t *)row)[lane]
                                             : ((const uint32_t *)row)[lane] >> 16 * (i % per);
            uint8_t *to = tile_at(&tile, index / f->columns, index % f->columns, &shift);
            if (to == NULL) {
                return;
            }
            memcpy(to, &value, tile.bits / 8);
        }
    }
}

/* ---- 8x8 matrices of 16 bits: lane l holds elements 2*(l%4) and +1 of row l/4 ---- */

typedef uint16_t matrix8[8][8];

static uint32_t matrix_memory_take(const matrix8 m, unsigned lane, bool transposed)
{
    unsigned row = lane / 4, column = lane % 4 * 2;
    return transposed ? m[column][row] | (uint32_t)m[column + 1][row] << 16
                      : m[row][column] | (uint32_t)m[row][column + 1] << 16;
}

static void matrix_memory_put(matrix8 m, unsigned lane, bool transposed, uint32_t value)
{
    unsigned row = lane / 4, column = lane % 4 * 2;
    uint16_t *low = transposed ? &m[column][row] : &m[row][column];
    uint16_t *high = transposed ? &m[column + 1][row] : &m[row][column + 1];
    *low = (uint16_t)value;
    *high = (uint16_t)(value >> 16);
}

/* Lanes 8*number to 8*number + 7 hold the rows' addresses. */
static uint8_t *matrix_row(struct sg_warp *warp, const struct sg_insn *in, unsigned number,
                           unsigned row, unsigned need)
{
    unsigned lane = number * 8 + row;
    const uint64_t *addresses = sg_row(warp, in->a);
    return sg_reach(warp, in, lane, addresses[lane], 16, 16, need);
}

void sg_matrix_ld(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *rows = sg_row_list(warp, in);
    matrix8 m[4];
    for (unsigned number = 0; number < in->mode; number++) {
        for (unsigned row = 0; row < 8; row++) {
            const uint8_t *from = matrix_row(warp, in, number, row, SG_MAP_READ);
            if (from == NULL) {
                return;
            }
            memcpy(m[number][row], from, 16);
        }
    }
    for (unsigned number = 0; number < in->mode; number++) {
        uint32_t *d = sg_row(warp, rows[number]);
        for (unsigned lane = 0; lane < SG_LANES; lane++) {
            d[lane] =
                mask >> lane & 1 ? matrix_memory_take(m[number], lane, in->imm != 0) : d[lane];
        }
    }
}

void sg_matrix_st(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *rows = sg_row_list(warp, in);
    (void)mask; /* the PTX ISA does not say what is stored for lanes that have exited */
    for (unsigned number = 0; number < in->mode; number++) {
        const uint32_t *source = sg_row(warp, rows[number]);
        matrix8 m;
        for (unsigned lane = 0; lane < SG_LANES; lane++) {
            matrix_memory_put(m, lane, in->imm != 0, source[lane]);
        }
        for (unsigned row = 0; row < 8; row++) {
            uint8_t *to = matrix_row(warp, in, number, row, SG_MAP_WRITE);
            if (to == NULL) {
                return;
            }
            memcpy(to, m[row], 16);
        }
    }
}

void sg_matrix_move(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *a = sg_row(warp, in->a);
    uint32_t *d = sg_row(warp, in->d);
    matrix8 m;
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        matrix_memory_put(m, lane, false, a[lane]);
    }
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        d[lane] = mask >> lane & 1 ? matrix_memory_take(m, lane, true) : d[lane];
    }
}
