/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and logic: the typed opcode is looked up by name in op.def. A form with .ftz, .sat or
 * .relu that the table lacks is composed of x_ftz_TYPE and similar operations: operands are flushed
 * before, the result is flushed and clamped after. */
#include "softgpu/ptx/decode_alu.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

#include <stdio.h>
#include <string.h>

enum { ALU_FTZ = 1, ALU_SAT = 2, ALU_RELU = 4, ALU_ALL = 7 };

struct wanted {
    char name[96];
    unsigned left; /* those of ALU_FTZ, ALU_SAT, ALU_RELU that `name` lacks */
};

static bool drops_rn(struct sg_text opcode)
{
    return sg_text_is(opcode, "add") || sg_text_is(opcode, "sub") || sg_text_is(opcode, "mul") ||
           sg_text_is(opcode, "fma") || sg_text_is(opcode, "mad");
}

static void decode_alu_append(struct sg_decoder *decoder, struct wanted *wanted,
                              struct sg_text text)
{
    size_t used = strlen(wanted->name);
    if (used + text.len + 2 > sizeof wanted->name) {
        sg_decode_unsupported(decoder);
    }
    if (used) {
        wanted->name[used++] = '_';
    }
    memcpy(wanted->name + used, text.at, text.len);
    wanted->name[used + text.len] = '\0';
}

static unsigned clamp_of(struct sg_text text)
{
    return sg_text_is(text, "ftz")    ? ALU_FTZ
           : sg_text_is(text, "sat")  ? ALU_SAT
           : sg_text_is(text, "relu") ? ALU_RELU
                                      : 0;
}

/* The operation without those of .ftz, .sat and .relu in `drop`, which are left for
 * finish_float. */
static const struct sg_op *decode_alu_find(struct sg_decoder *decoder, struct wanted *wanted,
                                           unsigned drop)
{
    const struct sg_ptx_insn *insn = decoder->at;
    *wanted = (struct wanted){.name = ""};
    decode_alu_append(decoder, wanted, insn->opcode);
    for (uint32_t i = 0; i < insn->modifier_count; i++) {
        struct sg_text text = insn->modifiers[i];
        if (clamp_of(text) & drop) {
            wanted->left |= clamp_of(text);
        } else if (!(sg_text_is(text, "rn") && drops_rn(insn->opcode))) {
            decode_alu_append(decoder, wanted, text);
        }
    }
    return sg_op_find(wanted->name);
}

/* The operation that flushes or clamps values of a type; NULL: it has no effect on them. */
static const char *clamp_name(unsigned clamp, unsigned op_type)
{
    static const char *const types[] = {
        [SG_OP_f16] = "f16",       [SG_OP_bf16] = "bf16", [SG_OP_f16x2] = "f16x2",
        [SG_OP_bf16x2] = "bf16x2", [SG_OP_f32] = "f32",   [SG_OP_f64] = "f64"};
    char name[32];
    if (op_type >= sizeof types / sizeof types[0] || types[op_type] == NULL) {
        return NULL;
    }
    snprintf(name, sizeof name, "x_%s_%s",
             clamp == ALU_FTZ   ? "ftz"
             : clamp == ALU_SAT ? "sat"
                                : "relu",
             types[op_type]);
    const struct sg_op *op = sg_op_find(name);
    return op != NULL ? op->name : NULL;
}

/* Whether the rest can be composed. */
static bool can_finish(const struct sg_op *op, unsigned left)
{
    return !((left & ALU_FTZ) && clamp_name(ALU_FTZ, op->types[0]) == NULL &&
             clamp_name(ALU_FTZ, op->types[1]) == NULL) &&
           !((left & ALU_SAT) && clamp_name(ALU_SAT, op->types[0]) == NULL) &&
           !((left & ALU_RELU) &&
             !(clamp_name(ALU_RELU, op->types[0]) != NULL && strncmp(op->name, "fma", 3) == 0));
}

static const struct sg_op *find_best(struct sg_decoder *decoder, struct wanted *wanted)
{
    for (unsigned drop = 0; drop <= ALU_ALL; drop++) {
        const struct sg_op *op = decode_alu_find(decoder, wanted, drop);
        if (op != NULL && can_finish(op, wanted->left) && strncmp(op->name, "x_", 2) != 0) {
            return op;
        }
    }
    sg_decode_unsupported(decoder);
}

static enum sg_type operand_type(unsigned op_type)
{
    switch (op_type) {
    case SG_OP_p:
        return SG_TYPE_PRED;
    case SG_OP_u16:
    case SG_OP_s16:
    case SG_OP_f16:
    case SG_OP_bf16:
        return SG_TYPE_B16;
    case SG_OP_f32:
        return SG_TYPE_F32;
    case SG_OP_f64:
        return SG_TYPE_F64;
    case SG_OP_u64:
    case SG_OP_s64:
        return SG_TYPE_B64;
    default:
        return SG_TYPE_B32;
    }
}

static uint32_t clamped(struct sg_decoder *decoder, const char *name, uint32_t row)
{
    uint32_t out = sg_row_new(decoder, sg_row_kind(decoder, row));
    sg_emit_op(decoder, name, out, row, 0, 0);
    return out;
}

/* A 16-bit operand: handlers cast it, so -1 needs no extension to 32 bits. */
static uint32_t alu_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                           const struct wanted *wanted, unsigned op_type)
{
    uint32_t row = sg_row_source(decoder, operand, operand_type(op_type));
    const char *flush = wanted->left & ALU_FTZ ? clamp_name(ALU_FTZ, op_type) : NULL;
    return flush != NULL ? clamped(decoder, flush, row) : row;
}

static unsigned source_count(const struct sg_op *op)
{
    unsigned count = 0;
    while (count < 3 && op->types[count + 1] != SG_OP_none) {
        count++;
    }
    return count;
}

/* Emits the remaining steps in this order; the last one writes the target, under the guard. */
static void finish_float(struct sg_decoder *decoder, unsigned left, const struct sg_op *op,
                         uint32_t row, uint32_t target)
{
    const char *names[3];
    unsigned count = 0;
    for (unsigned clamp = ALU_FTZ; clamp <= ALU_RELU; clamp *= 2) {
        const char *name = left & clamp ? clamp_name(clamp, op->types[0]) : NULL;
        if (name != NULL) {
            names[count++] = name;
        }
    }
    if (count == 0) {
        sg_decode_unsupported(decoder); /* cannot happen: can_finish has checked */
    }
    for (unsigned i = 0; i + 1 < count; i++) {
        row = clamped(decoder, names[i], row);
    }
    sg_guard(decoder, sg_emit_op(decoder, names[count - 1], target, row, 0, 0));
}

/* lop3.and.b32 d|p, a, b, c, table, q: p is (d != 0) and q */
static void decode_lop3_joined(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    bool with_and = sg_modifier(decoder, "and");
    sg_modifiers_check(decoder, "and or b32", false);
    sg_operands_check(decoder, 6, 6);
    if (insn->modifier_count != 2 || with_and == sg_modifier(decoder, "or") ||
        insn->operands[0].pair == NULL) {
        sg_decode_unsupported(decoder);
    }
    if (insn->operands[4].kind != SG_OPERAND_INT || insn->operands[4].value > 255) {
        sg_decode_wrong(decoder, "the table must be a constant below 256");
    }
    uint32_t rows[3];
    for (unsigned i = 0; i < 3; i++) {
        rows[i] = sg_row_source(decoder, &insn->operands[i + 1], SG_TYPE_B32);
    }
    struct sg_operand q = insn->operands[5], d = insn->operands[0];
    const char *join = with_and ? (q.negated ? "x_andn_pred" : "and_pred")
                                : (q.negated ? "x_orn_pred" : "or_pred");
    q.negated = false;
    d.pair = NULL;
    uint32_t other = sg_row_source(decoder, &q, SG_TYPE_PRED);
    uint32_t value = sg_row_new(decoder, SG_ROW_32);
    uint32_t set = sg_row_new(decoder, SG_ROW_PREDICATE), p = sg_row_new(decoder, SG_ROW_PREDICATE);
    sg_emit_op(decoder, "lop3_b32", value, rows[0], rows[1], rows[2])->in.imm =
        (int64_t)insn->operands[4].value;
    sg_emit_op(decoder, "x_ne_b32", set, value, sg_row_literal(decoder, 0, false), 0);
    sg_emit_op(decoder, join, p, set, other, 0);
    sg_guard(decoder,
             sg_emit_op(decoder, "x_mov32", sg_row_target(decoder, &d, SG_TYPE_B32), value, 0, 0));
    sg_guard(decoder, sg_emit_op(decoder, "mov_pred",
                                 sg_row_target(decoder, insn->operands[0].pair, SG_TYPE_PRED), p, 0,
                                 0)); /* last: p may be the guard */
}

void sg_decode_alu(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_text_is(insn->opcode, "lop3") &&
        (sg_modifier(decoder, "and") || sg_modifier(decoder, "or"))) {
        decode_lop3_joined(decoder);
        return;
    }
    if (sg_modifier(decoder, "cc") || sg_text_is(insn->opcode, "addc") ||
        sg_text_is(insn->opcode, "subc") || sg_text_is(insn->opcode, "madc")) {
        sg_decode_carry(decoder);
        return;
    }
    struct wanted wanted;
    const struct sg_op *op = find_best(decoder, &wanted);
    unsigned sources = source_count(op);
    bool lop3 = sg_text_is(insn->opcode, "lop3"), bfi = sg_text_is(insn->opcode, "bfi");
    sg_operands_check(decoder, sources + 1 + lop3 + bfi, sources + 1 + lop3 + bfi);
    if (insn->operands[0].pair != NULL) {
        sg_decode_unsupported(decoder);
    }
    uint32_t rows[3] = {0, 0, 0}, length = 0;
    for (unsigned i = 0; i < sources; i++) {
        rows[i] = alu_source(decoder, &insn->operands[i + 1], &wanted, op->types[i + 1]);
    }
    if (bfi) {
        length = sg_row_source(decoder, &insn->operands[4], SG_TYPE_B32);
    }
    uint32_t target = sg_row_target(decoder, &insn->operands[0], operand_type(op->types[0]));
    bool composed = (wanted.left & (ALU_SAT | ALU_RELU)) ||
                    ((wanted.left & ALU_FTZ) && clamp_name(ALU_FTZ, op->types[0]) != NULL);
    uint32_t result = composed ? sg_row_new(decoder, sg_row_kind(decoder, target)) : target;
    struct sg_draft *draft = sg_emit_op(decoder, op->name, result, rows[0], rows[1], rows[2]);
    if (bfi) {
        draft->in.e = length;
        draft->reads |= SG_FIELD_E;
    }
    if (lop3) {
        if (insn->operands[4].kind != SG_OPERAND_INT || insn->operands[4].value > 255) {
            sg_decode_wrong(decoder, "the table must be a constant below 256");
        }
        draft->in.imm = (int64_t)insn->operands[4].value;
    }
    if (composed) {
        finish_float(decoder, wanted.left, op, result, target);
    } else {
        sg_guard(decoder, draft);
    }
}

/* The condition code is a predicate of the function that only these instructions use. */
static uint32_t carry_row(struct sg_decoder *decoder)
{
    if (!decoder->carry_row) {
        decoder->carry_row = sg_row_new(decoder, SG_ROW_PREDICATE);
    }
    return decoder->carry_row;
}

static const char *sized(const char *name32, const char *name64, bool wide)
{
    return wide ? name64 : name32;
}

void sg_decode_carry(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, "cc lo hi", true);
    enum sg_type type = sg_modifier_type(decoder, 0);
    bool wide = sg_type_bytes(type) == 8, writes = sg_modifier(decoder, "cc");
    bool mad = sg_text_starts(insn->opcode, "mad"), sub = sg_text_starts(insn->opcode, "sub");
    bool uses = insn->opcode.at[insn->opcode.len - 1] == 'c';
    if (sg_type_is_float(type) || sg_type_bytes(type) < 4) {
        sg_decode_wrong(decoder, "a type without carry");
    }
    sg_operands_check(decoder, mad ? 4 : 3, mad ? 4 : 3);
    unsigned kind = wide ? SG_ROW_64 : SG_ROW_32;
    uint32_t a = sg_row_source(decoder, &insn->operands[1], type);
    uint32_t b = sg_row_source(decoder, &insn->operands[2], type);
    if (mad) {
        uint32_t product = sg_row_new(decoder, kind);
        const char *name = !sg_modifier(decoder, "hi") ? sized("mul_lo_u32", "mul_lo_u64", wide)
                           : sg_type_is_signed(type)   ? sized("mul_hi_s32", "mul_hi_s64", wide)
                                                       : sized("mul_hi_u32", "mul_hi_u64", wide);
        sg_emit_op(decoder, name, product, a, b, 0);
        a = product;
        b = sg_row_source(decoder, &insn->operands[3], type);
    }
    uint32_t target = sg_row_target(decoder, &insn->operands[0], type);
    uint32_t result = sg_row_new(decoder, kind), cc = carry_row(decoder);
    if (uses) {
        sg_emit_op(decoder,
                   sub ? sized("x_subc_u32", "x_subc_u64", wide)
                       : sized("x_addc_u32", "x_addc_u64", wide),
                   result, a, b, cc);
    } else {
        sg_emit_op(decoder,
                   sub ? sized("sub_u32", "sub_u64", wide) : sized("add_u32", "add_u64", wide),
                   result, a, b, 0);
    }
    if (writes && uses) {
        sg_guard(decoder, sg_emit_op(decoder,
                                     sub ? sized("x_subc_borrow_u32", "x_subc_borrow_u64", wide)
                                         : sized("x_addc_carry_u32", "x_addc_carry_u64", wide),
                                     cc, a, b, cc));
    } else if (writes) {
        sg_guard(decoder, sg_emit_op(decoder,
                                     sub ? sized("x_borrow_u32", "x_borrow_u64", wide)
                                         : sized("x_carry_u32", "x_carry_u64", wide),
                                     cc, a, b, 0));
    }
    sg_guard(decoder, sg_emit_op(decoder, sized("x_mov32", "x_mov64", wide), target, result, 0, 0));
}
