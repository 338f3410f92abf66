/* SPDX-License-Identifier: Apache-2.0 */
/* cvt of pairs (f16x2, bf16x2, e4m3x2, e5m2x2) and to tf32; cvt.pack. The first of two source
 * operands becomes the upper half. */
#include "softgpu/ptx/decode_pack.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_alu.h"
#include "softgpu/ptx/decode_convert.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"

#include <stdio.h>

static uint32_t decode_pack_step(struct sg_decoder *decoder, const char *name, uint32_t a,
                                 uint32_t b)
{
    uint32_t out = sg_row_new(decoder, SG_ROW_32);
    sg_emit_op(decoder, name, out, a, b, 0);
    return out;
}

static bool type_is(const struct sg_decoder *decoder, uint32_t from_end, const char *name)
{
    const struct sg_ptx_insn *insn = decoder->at;
    return insn->modifier_count >= from_end &&
           sg_text_is(insn->modifiers[insn->modifier_count - from_end], name);
}

static uint32_t decode_pack_source(struct sg_decoder *decoder, unsigned index, enum sg_type type)
{
    return sg_row_source(decoder, &decoder->at->operands[index], type);
}

/* cvt.{rn,rz}{.relu}{.satfinite}.f16x2.f32 d, a, b */
static void to_halves(struct sg_decoder *decoder, const char *half)
{
    char round[24], finite[24], relu[24];
    sg_modifiers_check(decoder, "rn rz relu satfinite", true);
    sg_operands_check(decoder, 3, 3);
    if (!type_is(decoder, 1, "f32") || sg_modifier(decoder, "rn") == sg_modifier(decoder, "rz")) {
        sg_decode_unsupported(decoder);
    }
    snprintf(round, sizeof round, "cvt_%s_%s_f32", sg_modifier(decoder, "rn") ? "rn" : "rz", half);
    snprintf(finite, sizeof finite, "x_finite_%s", half);
    snprintf(relu, sizeof relu, "x_relu_%sx2", half);
    uint32_t parts[2];
    for (unsigned i = 0; i < 2; i++) {
        parts[i] =
            decode_pack_step(decoder, round, decode_pack_source(decoder, i + 1, SG_TYPE_F32), 0);
        if (sg_modifier(decoder, "satfinite")) {
            parts[i] = decode_pack_step(decoder, finite, parts[i], 0);
        }
    }
    uint32_t row = decode_pack_step(decoder, "x_pack_16_32", parts[1], parts[0]);
    sg_decode_cvt_finish(
        decoder, sg_modifier(decoder, "relu") ? decode_pack_step(decoder, relu, row, 0) : row);
}

/* cvt.rna{.satfinite}.tf32.f32, cvt.{rn,rz}{.relu}{.satfinite}.tf32.f32 */
static void to_tf32(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "rn rz rna relu satfinite tf32", true);
    sg_operands_check(decoder, 2, 2);
    const char *name = sg_modifier(decoder, "rna")  ? "cvt_rna_tf32_f32"
                       : sg_modifier(decoder, "rn") ? "cvt_rn_tf32_f32"
                       : sg_modifier(decoder, "rz") ? "cvt_rz_tf32_f32"
                                                    : NULL;
    if (name == NULL || !type_is(decoder, 1, "f32")) {
        sg_decode_unsupported(decoder);
    }
    uint32_t row = decode_pack_step(decoder, name, decode_pack_source(decoder, 1, SG_TYPE_F32), 0);
    if (sg_modifier(decoder, "satfinite")) {
        row = decode_pack_step(decoder, "x_finite_tf32", row, 0);
    }
    sg_decode_cvt_finish(decoder, sg_modifier(decoder, "relu")
                                      ? decode_pack_step(decoder, "x_relu_f32", row, 0)
                                      : row);
}

/* cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b, or .f16x2 d, a */
static void to_eight_bits(struct sg_decoder *decoder, const char *type)
{
    char name[24];
    bool floats = type_is(decoder, 1, "f32"), relu = sg_modifier(decoder, "relu");
    sg_modifiers_check(decoder, "rn satfinite relu e4m3x2 e5m2x2", true);
    if ((!floats && !type_is(decoder, 1, "f16x2")) || !sg_modifier(decoder, "rn") ||
        !sg_modifier(decoder, "satfinite")) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, floats ? 3 : 2, floats ? 3 : 2);
    snprintf(name, sizeof name, "x_%s_%s", type, floats ? "f32" : "f16x2");
    uint32_t parts[2] = {0, 0};
    for (unsigned i = 0; i < (floats ? 2 : 1); i++) {
        parts[i] = decode_pack_source(decoder, i + 1, SG_TYPE_B32);
        if (relu) {
            parts[i] =
                decode_pack_step(decoder, floats ? "x_relu_f32" : "x_relu_f16x2", parts[i], 0);
        }
    }
    sg_decode_cvt_finish(decoder, decode_pack_step(decoder, name, parts[0], parts[1]));
}

/* cvt.rn{.relu}.f16x2.e4m3x2 */
static void from_eight_bits(struct sg_decoder *decoder, const char *type)
{
    char name[24];
    sg_modifiers_check(decoder, "rn relu e4m3x2 e5m2x2", true);
    sg_operands_check(decoder, 2, 2);
    if (!type_is(decoder, 2, "f16x2") || !sg_modifier(decoder, "rn")) {
        sg_decode_unsupported(decoder);
    }
    snprintf(name, sizeof name, "x_f16x2_%s", type);
    uint32_t row = decode_pack_step(decoder, name, decode_pack_source(decoder, 1, SG_TYPE_B16), 0);
    sg_decode_cvt_finish(decoder, sg_modifier(decoder, "relu")
                                      ? decode_pack_step(decoder, "x_relu_f16x2", row, 0)
                                      : row);
}

bool sg_decode_cvt_packed(struct sg_decoder *decoder)
{
    static const char *const eight[] = {"e4m3x2", "e5m2x2"};
    if (sg_modifier(decoder, "pack")) {
        sg_decode_alu(decoder);
        return true;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (type_is(decoder, 1, eight[i])) {
            from_eight_bits(decoder, eight[i]);
            return true;
        }
        if (type_is(decoder, 2, eight[i])) {
            to_eight_bits(decoder, eight[i]);
            return true;
        }
    }
    if (type_is(decoder, 2, "f16x2") || type_is(decoder, 2, "bf16x2")) {
        to_halves(decoder, type_is(decoder, 2, "f16x2") ? "f16" : "bf16");
        return true;
    }
    if (type_is(decoder, 2, "tf32")) {
        to_tf32(decoder);
        return true;
    }
    return false;
}
