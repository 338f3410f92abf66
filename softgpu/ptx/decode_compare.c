/* SPDX-License-Identifier: Apache-2.0 */
/* setp and set. gt and ge are lt and le with exchanged operands. */
#include "softgpu/ptx/decode_compare.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

#include <stdio.h>
#include <string.h>

struct comparison {
    const char *name;  /* in PTX */
    const char *table; /* in op_compare.def */
    bool exchange, floats, unsigned_only;
};

static const struct comparison comparisons[] = {
    {"eq", "eq", false, false, false},  {"ne", "ne", false, false, false},
    {"lt", "lt", false, false, false},  {"le", "le", false, false, false},
    {"gt", "lt", true, false, false},   {"ge", "le", true, false, false},
    {"lo", "lt", false, false, true},   {"ls", "le", false, false, true},
    {"hi", "lt", true, false, true},    {"hs", "le", true, false, true},
    {"equ", "equ", false, true, false}, {"neu", "neu", false, true, false},
    {"ltu", "ltu", false, true, false}, {"leu", "leu", false, true, false},
    {"gtu", "ltu", true, true, false},  {"geu", "leu", true, true, false},
    {"num", "num", false, true, false}, {"nan", "nan", false, true, false},
};

static const struct comparison *comparison_of(struct sg_decoder *decoder)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (sg_text_is(decoder->at->modifiers[0], comparisons[i].name)) {
            return &comparisons[i];
        }
    }
    sg_decode_unsupported(decoder);
}

static uint32_t decode_compare_step(struct sg_decoder *decoder, const char *name, uint32_t row)
{
    uint32_t out = sg_row_new(decoder, SG_ROW_32);
    sg_emit_op(decoder, name, out, row, 0, 0);
    return out;
}

static bool decode_compare_is_half(enum sg_type type)
{
    return type >= SG_TYPE_F16 && type <= SG_TYPE_BF16X2;
}

static bool decode_compare_is_pair(enum sg_type type)
{
    return type == SG_TYPE_F16X2 || type == SG_TYPE_BF16X2;
}

/* An operand of a comparison: flushed with .ftz; f16 and bf16 as f32. */
static uint32_t operand_row(struct sg_decoder *decoder, const struct sg_operand *operand,
                            enum sg_type type, bool high)
{
    bool ftz = sg_modifier(decoder, "ftz"), f16 = type == SG_TYPE_F16 || type == SG_TYPE_F16X2;
    uint32_t row = sg_row_source(decoder, operand, type);
    if (ftz && type == SG_TYPE_F32) {
        row = decode_compare_step(decoder, "x_ftz_f32", row);
    } else if (ftz && f16) {
        row = decode_compare_step(decoder,
                                  decode_compare_is_pair(type) ? "x_ftz_f16x2" : "x_ftz_f16", row);
    }
    if (!decode_compare_is_half(type)) {
        return row;
    }
    return decode_compare_step(decoder,
                               high  ? (f16 ? "x_f32_f16_hi" : "x_f32_bf16_hi")
                               : f16 ? "cvt_f32_f16"
                                     : "cvt_f32_bf16",
                               row);
}

/* The predicate a <comparison> b; of pairs: of their lower or upper halves. */
static uint32_t decode_compare_rows(struct sg_decoder *decoder, enum sg_type type, bool high)
{
    const struct comparison *c = comparison_of(decoder);
    const struct sg_ptx_insn *insn = decoder->at;
    uint32_t first = sg_text_is(insn->opcode, "setp") || sg_text_is(insn->opcode, "set") ? 1 : 0;
    uint32_t a = operand_row(decoder, &insn->operands[first], type, high);
    uint32_t b = operand_row(decoder, &insn->operands[first + 1], type, high);
    bool is_float = sg_type_is_float(type);
    unsigned bits = decode_compare_is_half(type) ? 32 : sg_type_bytes(type) * 8;
    char name[32];
    if ((c->floats && !is_float) || (c->unsigned_only && (is_float || sg_type_is_signed(type))) ||
        bits == 8) {
        sg_decode_wrong(decoder, "a comparison that its type does not have");
    }
    bool equality = strcmp(c->table, "eq") == 0 || strcmp(c->table, "ne") == 0;
    char kind = is_float ? 'f' : equality ? 'b' : sg_type_is_signed(type) ? 's' : 'u';
    snprintf(name, sizeof name, "x_%s_%c%u", c->table, kind, bits);
    uint32_t out = sg_row_new(decoder, SG_ROW_PREDICATE);
    sg_emit_op(decoder, name, out, c->exchange ? b : a, c->exchange ? a : b, 0);
    return out;
}

/* The operation that joins the third operand; NULL: there is none. */
static const char *join_name(struct sg_decoder *decoder, bool negated)
{
    static const char *const names[3][3] = {{"and", "and_pred", "x_andn_pred"},
                                            {"or", "or_pred", "x_orn_pred"},
                                            {"xor", "xor_pred", "x_xorn_pred"}};
    for (size_t i = 0; i < 3; i++) {
        if (sg_modifier(decoder, names[i][0])) {
            return names[i][negated ? 2 : 1];
        }
    }
    return NULL;
}

static uint32_t decode_compare_join(struct sg_decoder *decoder, uint32_t predicate,
                                    uint32_t operand)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (join_name(decoder, false) == NULL) {
        sg_operands_check(decoder, operand, operand);
        return predicate;
    }
    sg_operands_check(decoder, operand + 1, operand + 1);
    struct sg_operand third = insn->operands[operand];
    const char *name = join_name(decoder, third.negated);
    third.negated = false;
    uint32_t c = sg_row_source(decoder, &third, SG_TYPE_PRED);
    uint32_t out = sg_row_new(decoder, SG_ROW_PREDICATE);
    sg_emit_op(decoder, name, out, predicate, c, 0);
    return out;
}

static enum sg_type checked_type(struct sg_decoder *decoder, unsigned index)
{
    enum sg_type type = sg_modifier_type(decoder, index);
    if (type == SG_TYPE_NONE || type == SG_TYPE_PRED) {
        sg_decode_unsupported(decoder);
    }
    return type;
}

#define COMPARE_WORDS "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz and or xor"

void sg_decode_setp(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, COMPARE_WORDS, true);
    sg_operands_check(decoder, 3, 4);
    enum sg_type type = checked_type(decoder, 0);
    uint32_t plain = decode_compare_rows(decoder, type, false);
    const struct sg_operand *p = &insn->operands[0], *q = p->pair;
    uint32_t joined = decode_compare_join(decoder, plain, 3);
    bool simple = joined == plain && q == NULL && !decoder->guard && p->kind == SG_OPERAND_REG;
    if (simple) {
        decoder->drafts.items[decoder->drafts.count - 1].in.d =
            sg_row_target(decoder, p, SG_TYPE_PRED);
        return;
    }
    uint32_t inverse = 0;
    if (q != NULL &&
        q->kind !=
            SG_OPERAND_SINK) { /* q: joined with the opposite, or the result of the upper half */
        uint32_t other;
        if (decode_compare_is_pair(type)) {
            other = decode_compare_rows(decoder, type, true);
        } else {
            other = sg_row_new(decoder, SG_ROW_PREDICATE);
            sg_emit_op(decoder, "not_pred", other, plain, 0, 0);
        }
        inverse = decode_compare_join(decoder, other, 3);
    }
    if (inverse) {
        uint32_t guard = decoder->guard;
        if (guard) { /* the guard of the second instruction may be the first result */
            uint32_t copy = sg_row_new(decoder, SG_ROW_PREDICATE);
            sg_emit_op(decoder, "mov_pred", copy, guard, 0, 0);
            decoder->guard = copy;
        }
        sg_guard(decoder, sg_emit_op(decoder, "mov_pred", sg_row_target(decoder, q, SG_TYPE_PRED),
                                     inverse, 0, 0));
    }
    if (p->kind != SG_OPERAND_SINK) {
        struct sg_operand first = *p;
        first.pair = NULL;
        sg_guard(decoder, sg_emit_op(decoder, "mov_pred",
                                     sg_row_target(decoder, &first, SG_TYPE_PRED), joined, 0, 0));
    }
}

/* The value of true: 1.0, or all ones. */
static uint32_t yes_of(struct sg_decoder *decoder, enum sg_type to)
{
    switch (to) {
    case SG_TYPE_F32:
        return 0x3f800000;
    case SG_TYPE_F16:
    case SG_TYPE_F16X2:
        return 0x3c00;
    case SG_TYPE_BF16:
    case SG_TYPE_BF16X2:
        return 0x3f80;
    case SG_TYPE_U16:
    case SG_TYPE_S16:
        return 0xffff;
    case SG_TYPE_U32:
    case SG_TYPE_S32:
        return 0xffffffff;
    default:
        sg_decode_unsupported(decoder);
    }
}

static uint32_t chosen(struct sg_decoder *decoder, enum sg_type from, bool high, uint32_t yes)
{
    uint32_t predicate = decode_compare_join(decoder, decode_compare_rows(decoder, from, high), 3);
    uint32_t out = sg_row_new(decoder, SG_ROW_32);
    sg_emit_op(decoder, "selp_b32", out, sg_row_literal(decoder, yes, false),
               sg_row_literal(decoder, 0, false), predicate);
    return out;
}

/* set.cmp.dtype.stype; of pairs: one half for each, in any 32-bit type. */
void sg_decode_set(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, COMPARE_WORDS, true);
    sg_operands_check(decoder, 3, 4);
    enum sg_type to = checked_type(decoder, 0), from = checked_type(decoder, 1);
    uint32_t yes = yes_of(decoder, to);
    if (decode_compare_is_pair(from) ? sg_type_bytes(to) != 4 || to == SG_TYPE_F32
                                     : decode_compare_is_pair(to)) {
        sg_decode_wrong(decoder, "types that do not fit");
    }
    uint32_t row = chosen(decoder, from, false, decode_compare_is_pair(from) ? yes & 0xffff : yes);
    const char *last = "x_mov32";
    uint32_t high = 0;
    if (decode_compare_is_pair(from)) {
        high = chosen(decoder, from, true, yes & 0xffff);
        last = "x_pack_16_32";
    }
    uint32_t target = sg_row_target(decoder, &insn->operands[0], to);
    sg_guard(decoder, sg_emit_op(decoder, last, target, row, high, 0));
}
