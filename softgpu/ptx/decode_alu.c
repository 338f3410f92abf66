/* Arithmetic and logic: the typed opcode is looked up by name in op.def. What the table has not in
 * an .ftz or .sat form is put together: operands flushed before, result flushed and clamped after.
 */
#include "softgpu/ptx/decode.h"

#include <string.h>

struct wanted {
    char name[96];
    bool ftz, sat;
};

static bool drops_rn(struct sg_text opcode)
{
    return sg_text_is(opcode, "add") || sg_text_is(opcode, "sub") || sg_text_is(opcode, "mul") ||
           sg_text_is(opcode, "fma") || sg_text_is(opcode, "mad");
}

static void append(struct sg_decoder *decoder, struct wanted *wanted, struct sg_text text)
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

/* The name with or without .ftz and .sat; without, they are left to do. */
static const struct sg_op *find(struct sg_decoder *decoder, struct wanted *wanted, bool keep_ftz,
                                bool keep_sat)
{
    const struct sg_ptx_insn *insn = decoder->at;
    *wanted = (struct wanted){.name = ""};
    append(decoder, wanted, insn->opcode);
    for (uint32_t i = 0; i < insn->modifier_count; i++) {
        struct sg_text text = insn->modifiers[i];
        if (sg_text_is(text, "ftz") && !keep_ftz) {
            wanted->ftz = true;
        } else if (sg_text_is(text, "sat") && !keep_sat) {
            wanted->sat = true;
        } else if (!(sg_text_is(text, "rn") && drops_rn(insn->opcode))) {
            append(decoder, wanted, text);
        }
    }
    return sg_op_find(wanted->name);
}

static const struct sg_op *find_best(struct sg_decoder *decoder, struct wanted *wanted)
{
    static const bool tries[][2] = {{true, true}, {true, false}, {false, true}, {false, false}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        const struct sg_op *op = find(decoder, wanted, tries[i][0], tries[i][1]);
        /* .ftz concerns f32, .sat f32 and f64: not to be dropped from integer operations */
        if (op && (wanted->ftz || wanted->sat) && op->types[0] != SG_OP_f32 &&
            !(op->types[0] == SG_OP_f64 && !wanted->ftz) && op->types[1] != SG_OP_f32) {
            continue;
        }
        if (op && wanted->sat && op->types[0] != SG_OP_f32 && op->types[0] != SG_OP_f64) {
            continue;
        }
        if (op && strncmp(op->name, "x_", 2) != 0) {
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

/* -1 as a 16-bit operand must not look like a 32-bit one: handlers cast, so it does not. */
static uint32_t alu_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                           const struct wanted *wanted, unsigned op_type)
{
    uint32_t row = sg_row_source(decoder, operand, operand_type(op_type));
    if (wanted->ftz && op_type == SG_OP_f32) {
        uint32_t flushed = sg_row_new(decoder, SG_ROW_32);
        sg_emit_op(decoder, "x_ftz_f32", flushed, row, 0, 0);
        row = flushed;
    }
    return row;
}

static unsigned source_count(const struct sg_op *op)
{
    unsigned count = 0;
    while (count < 3 && op->types[count + 1] != SG_OP_none) {
        count++;
    }
    return count;
}

static void finish_float(struct sg_decoder *decoder, const struct wanted *wanted,
                         const struct sg_op *op, uint32_t raw, uint32_t target)
{
    bool narrow = op->types[0] == SG_OP_f32;
    if (wanted->ftz && wanted->sat && narrow) {
        uint32_t flushed = sg_row_new(decoder, SG_ROW_32);
        sg_emit_op(decoder, "x_ftz_f32", flushed, raw, 0, 0);
        raw = flushed;
    }
    const char *last = wanted->sat ? (narrow ? "x_sat_f32" : "x_sat_f64") : "x_ftz_f32";
    sg_guard(decoder, sg_emit_op(decoder, last, target, raw, 0, 0));
}

void sg_decode_alu(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
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
    if (insn->operands[0].pair) {
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
    bool composed = (wanted.ftz && op->types[0] == SG_OP_f32) || wanted.sat;
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
        finish_float(decoder, &wanted, op, result, target);
    } else {
        sg_guard(decoder, draft);
    }
}

/* The condition code is a predicate of the function that only these instructions know. */
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
