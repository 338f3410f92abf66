/* SPDX-License-Identifier: Apache-2.0 */
/* mma, wmma, ldmatrix, stmatrix, movmatrix: shapes, types and fragments. */
#include "softgpu/ptx/decode_matrix.h"

#include "softgpu/exec/matrix.h"

#include <immintrin.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/exec/fragment.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_flow.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_rows.h"

static const char *const element_names[SG_ELEMENTS] = {
    [SG_ELEMENT_F16] = "f16",   [SG_ELEMENT_BF16] = "bf16", [SG_ELEMENT_TF32] = "tf32",
    [SG_ELEMENT_E4M3] = "e4m3", [SG_ELEMENT_E5M2] = "e5m2", [SG_ELEMENT_F32] = "f32",
    [SG_ELEMENT_F64] = "f64",   [SG_ELEMENT_S8] = "s8",     [SG_ELEMENT_U8] = "u8",
    [SG_ELEMENT_S4] = "s4",     [SG_ELEMENT_U4] = "u4",     [SG_ELEMENT_B1] = "b1",
    [SG_ELEMENT_S32] = "s32",
};

/* Shapes by the type of A (PTX ISA 9.0, tables of "wmma" and "mma"). */
struct shape {
    uint16_t m, n, k;
};

static const struct {
    uint32_t elements; /* bits, by enum sg_element */
    enum sg_layout layout;
    struct shape shapes[4];
} shapes[] = {
#define ELEMENT_BIT(name) (1u << SG_ELEMENT_##name)
    {ELEMENT_BIT(F16) | ELEMENT_BIT(BF16) | ELEMENT_BIT(S8) | ELEMENT_BIT(U8),
     SG_LAYOUT_WMMA,
     {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {0}}},
    {ELEMENT_BIT(TF32), SG_LAYOUT_WMMA, {{16, 16, 8}}},
    {ELEMENT_BIT(F64), SG_LAYOUT_WMMA, {{8, 8, 4}}},
    {ELEMENT_BIT(S4) | ELEMENT_BIT(U4), SG_LAYOUT_WMMA, {{8, 8, 32}}},
    {ELEMENT_BIT(B1), SG_LAYOUT_WMMA, {{8, 8, 128}}},
    {ELEMENT_BIT(F16), SG_LAYOUT_QUAD, {{8, 8, 4}}},
    {ELEMENT_BIT(F16) | ELEMENT_BIT(BF16), SG_LAYOUT_SPARSE, {{16, 8, 16}, {16, 8, 32}}},
    {ELEMENT_BIT(TF32), SG_LAYOUT_SPARSE, {{16, 8, 8}, {16, 8, 16}}},
    {ELEMENT_BIT(F16) | ELEMENT_BIT(BF16), SG_LAYOUT_MMA, {{16, 8, 8}, {16, 8, 16}}},
    {ELEMENT_BIT(TF32), SG_LAYOUT_MMA, {{16, 8, 4}, {16, 8, 8}}},
    {ELEMENT_BIT(F64), SG_LAYOUT_MMA, {{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}}},
    {ELEMENT_BIT(E4M3) | ELEMENT_BIT(E5M2), SG_LAYOUT_MMA, {{16, 8, 16}, {16, 8, 32}}},
    {ELEMENT_BIT(S8) | ELEMENT_BIT(U8), SG_LAYOUT_MMA, {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}}},
    {ELEMENT_BIT(S4) | ELEMENT_BIT(U4), SG_LAYOUT_MMA, {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}}},
    {ELEMENT_BIT(B1), SG_LAYOUT_MMA, {{8, 8, 128}, {16, 8, 128}, {16, 8, 256}}},
#undef E
};

/* "m16n8k16" among the modifiers; refused if the type has no such shape. */
static struct shape read_shape(struct sg_decoder *decoder, enum sg_element element, bool wmma,
                               enum sg_layout *layout)
{
    bool sparse = sg_modifier(decoder, "sp") || sg_modifier(decoder, "sp::ordered_metadata");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (!(shapes[i].elements >> element & 1) || (shapes[i].layout == SG_LAYOUT_WMMA) != wmma ||
            (shapes[i].layout == SG_LAYOUT_SPARSE) != sparse) {
            continue;
        }
        for (int s = 0; s < 4 && shapes[i].shapes[s].m; s++) {
            const struct shape *shape = &shapes[i].shapes[s];
            char name[32];
            snprintf(name, sizeof name, "m%un%uk%u", shape->m, shape->n, shape->k);
            if (sg_modifier(decoder, name)) {
                *layout = shapes[i].layout;
                return *shape;
            }
        }
    }
    sg_decode_unsupported(decoder);
}

/* Reads the element types among the modifiers, in order; returns their number. */
static unsigned read_elements(const struct sg_decoder *decoder, enum sg_element *out, unsigned most)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < decoder->at->modifier_count; i++) {
        for (unsigned e = 0; e < SG_ELEMENTS; e++) {
            if (count < most && sg_text_is(decoder->at->modifiers[i], element_names[e])) {
                out[count++] = (enum sg_element)e;
            }
        }
    }
    return count;
}

/* Every modifier other than element types and shapes must be one of `words`. */
static void decode_matrix_check_words(struct sg_decoder *decoder, const char *words)
{
    char allowed[512];
    snprintf(allowed, sizeof allowed,
             "sync aligned row col m8n8k4 m8n8k16 m8n8k32 m8n8k128 m8n32k16 m16n8k4 m16n8k8 "
             "m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256 m16n16k8 m16n16k16 m32n8k16 "
             "f16 bf16 tf32 e4m3 e5m2 f32 f64 s8 u8 s4 u4 b1 s32 %s",
             words);
    sg_modifiers_check(decoder, allowed, false);
}

static struct sg_fragment fragment_of(enum sg_layout layout, enum sg_matrix_role role,
                                      enum sg_element element, struct shape shape)
{
    struct sg_fragment f = {
        .layout = (uint8_t)layout, .role = (uint8_t)role, .element = (uint8_t)element};
    f.rows = role == SG_MATRIX_B ? shape.k : shape.m;
    f.columns = role == SG_MATRIX_A ? shape.k : shape.n;
    f.registers = (uint8_t)sg_fragment_registers(&f);
    return f;
}

/* The rows of a fragment's registers: {a, b, ...}, or the only one. */
static void fragment_rows(struct sg_decoder *decoder, const struct sg_operand *operand,
                          const struct sg_fragment *fragment, bool target, uint32_t *rows)
{
    bool list = operand->kind == SG_OPERAND_LIST;
    enum sg_type type = fragment->element == SG_ELEMENT_F64   ? SG_TYPE_F64
                        : fragment->element == SG_ELEMENT_F32 ? SG_TYPE_F32
                                                              : SG_TYPE_B32;
    if ((list ? operand->item_count : 1) != fragment->registers) {
        sg_decode_wrong(decoder, "the wrong number of registers for this fragment");
    }
    for (unsigned i = 0; i < fragment->registers; i++) {
        const struct sg_operand *item = list ? &operand->items[i] : operand;
        rows[i] = target ? sg_row_target(decoder, item, type) : sg_row_source(decoder, item, type);
    }
}

static uint32_t whole_warp(struct sg_decoder *decoder)
{
    return sg_row_literal(decoder, UINT32_MAX, false);
}

/* ---- products ---- */

/* Whether C and D may have these types. */
static bool sums_in(enum sg_element a, enum sg_element b, enum sg_element c, enum sg_element d)
{
    bool f8 = a == SG_ELEMENT_E4M3 || a == SG_ELEMENT_E5M2;
    bool same =
        a == b || (f8 && (b == SG_ELEMENT_E4M3 || b == SG_ELEMENT_E5M2)) ||
        (a == SG_ELEMENT_S8 && b == SG_ELEMENT_U8) || (a == SG_ELEMENT_U8 && b == SG_ELEMENT_S8) ||
        (a == SG_ELEMENT_S4 && b == SG_ELEMENT_U4) || (a == SG_ELEMENT_U4 && b == SG_ELEMENT_S4);
    if (a == SG_ELEMENT_F16 || f8) {
        return same && (c == SG_ELEMENT_F16 || c == SG_ELEMENT_F32) &&
               (d == SG_ELEMENT_F16 || d == SG_ELEMENT_F32);
    }
    enum sg_element sum = a >= SG_ELEMENT_S8    ? SG_ELEMENT_S32
                          : a == SG_ELEMENT_F64 ? SG_ELEMENT_F64
                                                : SG_ELEMENT_F32;
    return same && c == sum && d == sum;
}

static unsigned rounding_of(const struct sg_decoder *decoder)
{
    return sg_modifier(decoder, "rz")   ? _MM_ROUND_TOWARD_ZERO
           : sg_modifier(decoder, "rm") ? _MM_ROUND_DOWN
           : sg_modifier(decoder, "rp") ? _MM_ROUND_UP
                                        : _MM_ROUND_NEAREST;
}

static bool layout_is_column(struct sg_decoder *decoder, unsigned index)
{
    for (uint32_t i = 0; i < decoder->at->modifier_count; i++) {
        bool column = sg_text_is(decoder->at->modifiers[i], "col");
        if ((column || sg_text_is(decoder->at->modifiers[i], "row")) && index-- == 0) {
            return column;
        }
    }
    sg_decode_wrong(decoder, ".row or .col is missing");
}

static void emit_mma(struct sg_decoder *decoder, const struct sg_mma *mma)
{
    const struct sg_operand *operands = decoder->at->operands;
    struct sg_mma *kept = sg_load_alloc(decoder->load, decoder->load->keep, sizeof *kept);
    uint32_t d[SG_MATRIX_REGISTERS_MAX], rest[3][SG_MATRIX_REGISTERS_MAX];
    const struct sg_fragment *sources[] = {&mma->a, &mma->b, &mma->c};
    *kept = *mma;
    unsigned extra = mma->index_bits ? 2 : 0; /* metadata and the selector */
    sg_operands_check(decoder, 4 + extra, 4 + extra);
    uint32_t metadata = extra ? sg_row_source(decoder, &operands[4], SG_TYPE_B32) : 0;
    fragment_rows(decoder, &operands[0], &mma->d, true, d);
    for (int i = 0; i < 3; i++) {
        fragment_rows(decoder, &operands[i + 1], sources[i], false, rest[i]);
    }
    struct sg_draft *draft = sg_emit_collective(decoder, sg_matrix_mma, whole_warp(decoder));
    sg_emit_list(decoder, draft, d, mma->d.registers, SG_LIST_WRITE);
    for (int i = 0; i < 3; i++) {
        sg_emit_list(decoder, draft, rest[i], sources[i]->registers, SG_LIST_READ);
    }
    sg_emit_list(decoder, draft, &metadata, extra ? 1 : 0, SG_LIST_READ);
    draft->in.imm = (int64_t)(intptr_t)kept;
}

/* mma.sp: A has half of its elements. The selector names the lanes of four that have the
 * metadata. */
static void read_sparse(struct sg_decoder *decoder, struct shape shape, struct sg_mma *mma)
{
    const struct sg_operand *selector = &decoder->at->operands[5];
    unsigned bits = mma->a.element == SG_ELEMENT_TF32 ? 4 : 2;
    unsigned lanes =
        shape.k / 2 * bits / 16; /* number of lanes that hold a row's metadata together */
    sg_operands_check(decoder, 6, 6);
    if (selector->kind != SG_OPERAND_INT || selector->value >= 4 / lanes) {
        sg_decode_wrong(decoder, "a sparsity selector that there is not");
    }
    shape.k /= 2;
    mma->a = fragment_of(SG_LAYOUT_MMA, SG_MATRIX_A, (enum sg_element)mma->a.element, shape);
    mma->index_bits = (uint8_t)bits;
    mma->first_lane = (uint8_t)(selector->value * lanes);
}

static void decode_product(struct sg_decoder *decoder, bool wmma)
{
    enum sg_element e[4]; /* d, a, b, c; wmma with .f16: d, c */
    unsigned count = read_elements(decoder, e, 4);
    if (wmma && count == 2) {
        e[3] = e[1];
        e[1] = e[2] = SG_ELEMENT_F16;
    } else if (count != 4 || (wmma && e[1] == SG_ELEMENT_F16)) {
        sg_decode_unsupported(decoder);
    }
    enum sg_layout layout;
    struct shape shape = read_shape(decoder, e[1], wmma, &layout);
    bool bits = e[1] == SG_ELEMENT_B1, integer = e[1] >= SG_ELEMENT_S8 && !bits;
    bool sparse = layout == SG_LAYOUT_SPARSE;
    layout = sparse ? SG_LAYOUT_MMA : layout;
    decode_matrix_check_words(decoder, sparse                   ? "sp sp::ordered_metadata"
                                       : bits                   ? "mma xor and popc"
                                       : integer                ? "mma satfinite"
                                       : e[1] == SG_ELEMENT_F64 ? "mma rn rz rm rp"
                                                                : "mma");
    if (!sums_in(e[1], e[2], e[3], e[0]) || (bits && !sg_modifier(decoder, "popc"))) {
        sg_decode_unsupported(decoder);
    }
    struct sg_mma mma = {
        .d = fragment_of(layout, SG_MATRIX_C, e[0], shape),
        .a = fragment_of(layout, SG_MATRIX_A, e[1], shape),
        .b = fragment_of(layout, SG_MATRIX_B, e[2], shape),
        .c = fragment_of(layout, SG_MATRIX_C, e[3], shape),
        .op = sg_modifier(decoder, "xor")   ? SG_MMA_XOR
              : sg_modifier(decoder, "and") ? SG_MMA_AND
                                            : SG_MMA_MULTIPLY,
        .saturate = sg_modifier(decoder, "satfinite"),
        .rounding = rounding_of(decoder),
    };
    mma.a.column = layout_is_column(decoder, 0);
    mma.b.column = layout_is_column(decoder, 1);
    if (layout == SG_LAYOUT_MMA && (mma.a.column || !mma.b.column)) {
        sg_decode_wrong(decoder, "only .row.col exists");
    }
    if (sparse) {
        read_sparse(decoder, shape, &mma);
    }
    emit_mma(decoder, &mma);
}

void sg_decode_mma(struct sg_decoder *decoder)
{
    decode_product(decoder, false);
}

/* ---- wmma.load, wmma.store ---- */

static enum sg_mem_space decode_matrix_space(const struct sg_decoder *decoder)
{
    return sg_modifier(decoder, "global")                                          ? SG_MEM_GLOBAL
           : sg_modifier(decoder, "shared") || sg_modifier(decoder, "shared::cta") ? SG_MEM_SHARED
                                                                                   : SG_MEM_GENERIC;
}

static enum sg_element accumulated(enum sg_element element)
{
    return element == SG_ELEMENT_S32   ? SG_ELEMENT_S8
           : element == SG_ELEMENT_F64 ? SG_ELEMENT_F64
                                       : SG_ELEMENT_F16;
}

/* The shape of accumulators does not depend on A: the first type that has the shape will do. */
static struct shape accumulator_shape(struct sg_decoder *decoder, enum sg_element element)
{
    enum sg_layout layout;
    enum sg_element a = accumulated(element);
    if (sg_modifier(decoder, "m8n8k32")) {
        a = SG_ELEMENT_S4;
    } else if (sg_modifier(decoder, "m8n8k128")) {
        a = SG_ELEMENT_B1;
    } else if (sg_modifier(decoder, "m16n16k8")) {
        a = SG_ELEMENT_TF32;
    }
    bool right = element == SG_ELEMENT_S32
                     ? a == SG_ELEMENT_S8 || a == SG_ELEMENT_S4 || a == SG_ELEMENT_B1
                 : element == SG_ELEMENT_F64 ? a == SG_ELEMENT_F64
                 : element == SG_ELEMENT_F16 ? a == SG_ELEMENT_F16
                                             : a == SG_ELEMENT_F16 || a == SG_ELEMENT_TF32;
    if (!right || (element < SG_ELEMENT_F32 && element != SG_ELEMENT_F16)) {
        sg_decode_unsupported(decoder);
    }
    return read_shape(decoder, a, true, &layout);
}

static struct sg_fragment accessed_fragment(struct sg_decoder *decoder, enum sg_element element)
{
    enum sg_layout layout;
    if (sg_modifier(decoder, "a") || sg_modifier(decoder, "b")) {
        enum sg_matrix_role role = sg_modifier(decoder, "a") ? SG_MATRIX_A : SG_MATRIX_B;
        struct shape shape = read_shape(decoder, element, true, &layout);
        return fragment_of(SG_LAYOUT_WMMA, role, element, shape);
    }
    return fragment_of(SG_LAYOUT_WMMA, SG_MATRIX_C, element, accumulator_shape(decoder, element));
}

static void decode_access(struct sg_decoder *decoder, bool store)
{
    const struct sg_operand *operands = decoder->at->operands;
    enum sg_element element = SG_ELEMENT_F16;
    decode_matrix_check_words(decoder, store ? "store d global shared shared::cta"
                                             : "load a b c global shared shared::cta");
    if (read_elements(decoder, &element, 1) != 1) {
        sg_decode_unsupported(decoder);
    }
    struct sg_matrix_access *access =
        sg_load_alloc(decoder->load, decoder->load->keep, sizeof *access);
    access->fragment = accessed_fragment(decoder, element);
    access->column = layout_is_column(decoder, 0);
    const struct sg_fragment *f = &access->fragment;
    sg_operands_check(decoder, 2, 3);
    uint32_t rows[SG_MATRIX_REGISTERS_MAX];
    fragment_rows(decoder, &operands[store ? 1 : 0], f, !store, rows);
    uint32_t at = sg_row_generic(decoder, &operands[store ? 0 : 1], decode_matrix_space(decoder));
    uint32_t stride = decoder->at->operand_count == 3
                          ? sg_row_source(decoder, &operands[2], SG_TYPE_B32)
                          : sg_row_literal(decoder, access->column ? f->rows : f->columns, false);
    struct sg_draft *draft =
        sg_emit_collective(decoder, store ? sg_matrix_store : sg_matrix_load, whole_warp(decoder));
    sg_emit_list(decoder, draft, rows, f->registers, store ? SG_LIST_READ : SG_LIST_WRITE);
    draft->in.a = at;
    draft->in.b = stride;
    draft->in.imm = (int64_t)(intptr_t)access;
    draft->reads |= SG_FIELD_A | SG_FIELD_B;
}

void sg_decode_wmma(struct sg_decoder *decoder)
{
    bool store = sg_modifier(decoder, "store");
    if (store || sg_modifier(decoder, "load")) {
        decode_access(decoder, store);
    } else if (sg_modifier(decoder, "mma")) {
        decode_product(decoder, true);
    } else {
        sg_decode_unsupported(decoder);
    }
}

/* ---- 8x8 matrices ---- */

static void decode_move(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "sync aligned m8n8 trans b16", false);
    sg_operands_check(decoder, 2, 2);
    uint32_t a = sg_row_source(decoder, &decoder->at->operands[1], SG_TYPE_B32);
    uint32_t d = sg_row_target(decoder, &decoder->at->operands[0], SG_TYPE_B32);
    struct sg_draft *draft = sg_emit_collective(decoder, sg_matrix_move, whole_warp(decoder));
    draft->in.a = a;
    draft->in.d = d;
    draft->reads |= SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}

void sg_decode_ldmatrix(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    bool store = sg_text_is(decoder->at->opcode, "stmatrix");
    if (sg_text_is(decoder->at->opcode, "movmatrix")) {
        decode_move(decoder);
        return;
    }
    sg_modifiers_check(decoder, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta b16", false);
    sg_operands_check(decoder, 2, 2);
    unsigned count = sg_modifier(decoder, "x4") ? 4 : sg_modifier(decoder, "x2") ? 2 : 1;
    struct sg_fragment f = {.element = SG_ELEMENT_F16, .registers = (uint8_t)count};
    uint32_t rows[4];
    fragment_rows(decoder, &operands[store ? 1 : 0], &f, !store, rows);
    uint32_t at = sg_row_generic(decoder, &operands[store ? 0 : 1], decode_matrix_space(decoder));
    struct sg_draft *draft =
        sg_emit_collective(decoder, store ? sg_matrix_st : sg_matrix_ld, whole_warp(decoder));
    sg_emit_list(decoder, draft, rows, count, store ? SG_LIST_READ : SG_LIST_WRITE);
    draft->in.a = at;
    draft->in.mode = (uint8_t)count;
    draft->in.imm = sg_modifier(decoder, "trans");
    draft->reads |= SG_FIELD_A;
}
