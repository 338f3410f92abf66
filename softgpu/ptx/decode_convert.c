/* SPDX-License-Identifier: Apache-2.0 */
/* cvt: one opcode, some hundred combinations; each is a chain of at most a few steps through
 * temporary rows. */
#include "softgpu/ptx/decode_convert.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_pack.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

#include <stdio.h>
#include <string.h>

static const char *rounding(struct sg_decoder *decoder)
{
    static const char *const names[] = {"rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (sg_modifier(decoder, names[i])) {
            return names[i];
        }
    }
    return "";
}

static uint32_t decode_convert_step(struct sg_decoder *decoder, const char *name, uint32_t row,
                                    unsigned kind)
{
    uint32_t out = sg_row_new(decoder, kind);
    sg_emit_op(decoder, name, out, row, 0, 0);
    return out;
}

static const char *int_name(enum sg_type type)
{
    static const char *const names[] = {
        [SG_TYPE_U8] = "u8", [SG_TYPE_U16] = "u16", [SG_TYPE_U32] = "u32", [SG_TYPE_U64] = "u64",
        [SG_TYPE_S8] = "s8", [SG_TYPE_S16] = "s16", [SG_TYPE_S32] = "s32", [SG_TYPE_S64] = "s64"};
    return names[type];
}

static bool is_int(enum sg_type type)
{
    return type >= SG_TYPE_U8 && type <= SG_TYPE_S64;
}

/* The source register, which may be wider than its type, as a row of the type's kind with the value
 * extended to the row. */
static uint32_t int_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                           enum sg_type type)
{
    uint32_t row;
    if (operand->kind == SG_OPERAND_REG && !operand->negated &&
        sg_row_kind(decoder, sg_row_reg(decoder, operand->reg)) == SG_ROW_64 &&
        sg_type_bytes(type) < 8) {
        row = decode_convert_step(decoder, "x_lo32", sg_row_reg(decoder, operand->reg), SG_ROW_32);
    } else {
        row = sg_row_source(decoder, operand, type);
    }
    switch (type) {
    case SG_TYPE_U8:
        return decode_convert_step(decoder, "x_zext8", row, SG_ROW_32);
    case SG_TYPE_S8:
        return decode_convert_step(decoder, "x_sext8", row, SG_ROW_32);
    case SG_TYPE_U16:
        return decode_convert_step(decoder, "x_zext16", row, SG_ROW_32);
    case SG_TYPE_S16:
        return decode_convert_step(decoder, "x_sext16", row, SG_ROW_32);
    default:
        return row;
    }
}

static uint32_t widen(struct sg_decoder *decoder, uint32_t row, bool is_signed)
{
    return sg_row_kind(decoder, row) == SG_ROW_64
               ? row
               : decode_convert_step(decoder, is_signed ? "x_sext32_64" : "x_zext32_64", row,
                                     SG_ROW_64);
}

static uint32_t saturate(struct sg_decoder *decoder, uint32_t row, enum sg_type to, bool is_signed)
{
    char name[32];
    snprintf(name, sizeof name, "x_sat_%s_%s", int_name(to), is_signed ? "s64" : "u64");
    row = widen(decoder, row, is_signed);
    return sg_op_find(name) != NULL ? decode_convert_step(decoder, name, row, SG_ROW_64) : row;
}

/* An integer value (extended to its row by its own sign) as type `to`, in a row of kind `kind` */
static uint32_t int_result(struct sg_decoder *decoder, uint32_t row, bool is_signed,
                           enum sg_type to, unsigned kind)
{
    if (sg_type_bytes(to) == 8) {
        return widen(decoder, row, is_signed);
    }
    if (sg_row_kind(decoder, row) == SG_ROW_64) {
        row = decode_convert_step(decoder, "x_lo32", row, SG_ROW_32);
    }
    if (sg_type_bytes(to) < 4) {
        row = decode_convert_step(decoder,
                                  sg_type_bytes(to) == 1
                                      ? (sg_type_is_signed(to) ? "x_sext8" : "x_zext8")
                                  : sg_type_is_signed(to) ? "x_sext16"
                                                          : "x_zext16",
                                  row, SG_ROW_32);
    }
    return kind == SG_ROW_64 ? widen(decoder, row, sg_type_is_signed(to)) : row;
}

static bool decode_convert_is_half(enum sg_type type)
{
    return type == SG_TYPE_F16 || type == SG_TYPE_BF16;
}

static const char *float_name(enum sg_type type)
{
    return type == SG_TYPE_F64   ? "f64"
           : type == SG_TYPE_F32 ? "f32"
           : type == SG_TYPE_F16 ? "f16"
                                 : "bf16";
}

/* f16 and bf16 as f32, which represents them exactly. */
static uint32_t float_source(struct sg_decoder *decoder, enum sg_type from)
{
    uint32_t row = sg_row_source(decoder, &decoder->at->operands[1], from);
    if (decode_convert_is_half(from)) {
        return decode_convert_step(decoder, from == SG_TYPE_F16 ? "cvt_f32_f16" : "cvt_f32_bf16",
                                   row, SG_ROW_32);
    }
    return sg_modifier(decoder, "ftz") && from == SG_TYPE_F32
               ? decode_convert_step(decoder, "x_ftz_f32", row, SG_ROW_32)
               : row;
}

static uint32_t float_to_int(struct sg_decoder *decoder, enum sg_type to, enum sg_type from,
                             const char *round, unsigned kind)
{
    char name[48];
    bool narrow = sg_type_bytes(to) < 4;
    enum sg_type through = narrow ? (sg_type_is_signed(to) ? SG_TYPE_S32 : SG_TYPE_U32) : to;
    if (round[0] == '\0' || round[2] != 'i') {
        sg_decode_wrong(decoder, "an integer rounding (.rni, .rzi, .rmi, .rpi) is needed");
    }
    snprintf(name, sizeof name, "cvt_%s_%s_%s", round, int_name(through),
             from == SG_TYPE_F64 ? "f64" : "f32");
    uint32_t row = decode_convert_step(decoder, name, float_source(decoder, from),
                                       sg_type_bytes(through) == 8 ? SG_ROW_64 : SG_ROW_32);
    bool is_signed = sg_type_is_signed(to);
    if (narrow) {
        row = saturate(decoder, row, to, is_signed);
    }
    return int_result(decoder, row, is_signed, to, kind);
}

static void check_rounding(struct sg_decoder *decoder, const char *round)
{
    if (round[0] == '\0' || round[2] != '\0') {
        sg_decode_wrong(decoder, "a rounding (.rn, .rz, .rm, .rp) is needed");
    }
}

/* The last step to f16 or bf16, from f32. */
static uint32_t decode_convert_to_half(struct sg_decoder *decoder, enum sg_type to,
                                       const char *round, uint32_t row)
{
    char name[48];
    snprintf(name, sizeof name, "cvt_%s_%s_f32", round, float_name(to));
    return decode_convert_step(decoder, name, row, SG_ROW_32);
}

static uint32_t int_to_float(struct sg_decoder *decoder, enum sg_type to, enum sg_type from,
                             const char *round)
{
    char name[48];
    enum sg_type through =
        sg_type_bytes(from) < 4 ? (sg_type_is_signed(from) ? SG_TYPE_S32 : SG_TYPE_U32) : from;
    check_rounding(decoder, round);
    uint32_t row = int_source(decoder, &decoder->at->operands[1], from);
    if (decode_convert_is_half(
            to)) { /* through f32, rounded to odd if it cannot represent the integer */
        row = widen(decoder, row, sg_type_is_signed(from));
        row = decode_convert_step(
            decoder, sg_type_is_signed(from) ? "x_odd_f32_s64" : "x_odd_f32_u64", row, SG_ROW_32);
        return decode_convert_to_half(decoder, to, round, row);
    }
    snprintf(name, sizeof name, "cvt_%s_%s_%s", round, float_name(to), int_name(through));
    return decode_convert_step(decoder, name, row, sg_row_kind_of(to));
}

static uint32_t round_to_int(struct sg_decoder *decoder, enum sg_type type, const char *round,
                             uint32_t row)
{
    char name[48];
    if (round[2] != 'i') {
        sg_decode_wrong(decoder, "an integer rounding is needed");
    }
    const char *through = type == SG_TYPE_F64 ? "f64" : "f32";
    snprintf(name, sizeof name, "cvt_%s_%s_%s", round, through, through);
    row = decode_convert_step(decoder, name, row, type == SG_TYPE_F64 ? SG_ROW_64 : SG_ROW_32);
    return decode_convert_is_half(type) ? decode_convert_to_half(decoder, type, "rn", row) : row;
}

static uint32_t float_to_float(struct sg_decoder *decoder, enum sg_type to, enum sg_type from,
                               const char *round)
{
    char name[48];
    if (to == from && round[0] == '\0') {
        return decode_convert_is_half(to) ? sg_row_source(decoder, &decoder->at->operands[1], from)
                                          : float_source(decoder, from);
    }
    uint32_t row = float_source(decoder, from);
    if (to == from) {
        return round_to_int(decoder, to, round, row);
    }
    if (to == SG_TYPE_F64) {
        return decode_convert_step(decoder, "cvt_f64_f32", row, SG_ROW_64);
    }
    if (to == SG_TYPE_F32 && decode_convert_is_half(from)) {
        return sg_modifier(decoder, "ftz")
                   ? decode_convert_step(decoder, "x_ftz_f32", row, SG_ROW_32)
                   : row;
    }
    check_rounding(decoder, round);
    if (decode_convert_is_half(to)) {
        row = from == SG_TYPE_F64 ? decode_convert_step(decoder, "x_odd_f32_f64", row, SG_ROW_32)
                                  : row;
        return decode_convert_to_half(decoder, to, round, row);
    }
    snprintf(name, sizeof name, "cvt_%s_f32_f64", round);
    row = decode_convert_step(decoder, name, row, SG_ROW_32);
    return sg_modifier(decoder, "ftz") ? decode_convert_step(decoder, "x_ftz_f32", row, SG_ROW_32)
                                       : row;
}

static bool is_supported_float(enum sg_type type)
{
    return type == SG_TYPE_F32 || type == SG_TYPE_F64 || decode_convert_is_half(type);
}

/* .sat, .relu, .satfinite of a floating-point result */
static uint32_t clamp_float(struct sg_decoder *decoder, enum sg_type to, uint32_t row)
{
    static const char *const words[][2] = {
        {"satfinite", "finite"}, {"relu", "relu"}, {"sat", "sat"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "x_%s_%s", words[i][1], float_name(to));
        if (sg_modifier(decoder, words[i][0])) {
            if (sg_op_find(name) == NULL || (i < 2 && !decode_convert_is_half(to))) {
                sg_decode_unsupported(decoder);
            }
            row = decode_convert_step(decoder, name, row, sg_row_kind_of(to));
        }
    }
    return row;
}

void sg_decode_cvt(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_decode_cvt_packed(decoder)) {
        return;
    }
    sg_modifiers_check(decoder, "rni rzi rmi rpi rn rz rm rp ftz sat relu satfinite", true);
    sg_operands_check(decoder, 2, 2);
    enum sg_type to = sg_modifier_type(decoder, 0), from = sg_modifier_type(decoder, 1);
    bool sat = sg_modifier(decoder, "sat");
    const char *round = rounding(decoder);
    if ((!is_int(to) && !is_supported_float(to)) || (!is_int(from) && !is_supported_float(from)) ||
        insn->operands[0].kind == SG_OPERAND_LIST) {
        sg_decode_unsupported(decoder);
    }
    /* the destination register may be wider than its type */
    unsigned kind = sg_row_kind_of(to);
    if (is_int(to) && insn->operands[0].kind == SG_OPERAND_REG &&
        sg_row_kind(decoder, sg_row_reg(decoder, insn->operands[0].reg)) == SG_ROW_64) {
        kind = SG_ROW_64;
    }
    uint32_t row;
    if (is_int(to) && is_int(from)) {
        bool is_signed = sg_type_is_signed(from);
        row = int_source(decoder, &insn->operands[1], from);
        if (sat) {
            row = saturate(decoder, row, to, is_signed);
            is_signed = sg_type_is_signed(to);
        }
        row = int_result(decoder, row, is_signed, to, kind);
    } else if (is_int(to)) {
        row = float_to_int(decoder, to, from, round, kind);
    } else if (is_int(from)) {
        row = int_to_float(decoder, to, from, round);
    } else {
        row = float_to_float(decoder, to, from, round);
    }
    if (!is_int(to)) {
        row = clamp_float(decoder, to, row);
    } else if (sg_modifier(decoder, "relu") || sg_modifier(decoder, "satfinite")) {
        sg_decode_unsupported(decoder);
    }
    sg_decode_cvt_finish(decoder, row);
}

/* Moves `row`, a temporary or a register, to the destination. */
void sg_decode_cvt_finish(struct sg_decoder *decoder, uint32_t row)
{
    unsigned kind = sg_row_kind(decoder, row);
    uint32_t target = sg_row_target(decoder, &decoder->at->operands[0],
                                    kind == SG_ROW_64 ? SG_TYPE_B64 : SG_TYPE_B32);
    struct sg_draft *last =
        decoder->drafts.count ? &decoder->drafts.items[decoder->drafts.count - 1] : NULL;
    if (!decoder->guard && last != NULL && last->writes == SG_FIELD_D && last->in.d == row &&
        decoder->rows.count - 1 == row) {
        last->in.d = target; /* the last step writes the register itself */
        return;
    }
    sg_guard(decoder,
             sg_emit_op(decoder, kind == SG_ROW_64 ? "x_mov64" : "x_mov32", target, row, 0, 0));
}
