/* SPDX-License-Identifier: Apache-2.0 */
/* Video instructions: their modifiers and parts of registers, encoded as the number that video.h
 * reads. */
#include "softgpu/ptx/decode_video.h"

#include "softgpu/ptx/decode.h"

#include <stdio.h>
#include <string.h>

#include "softgpu/exec/video.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"

#define VIDEO_WORDS "sat add min max eq ne lt le gt ge clamp wrap po shr7 shr15 u32 s32"

static uint32_t relations(struct sg_decoder *decoder)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = {{"eq", SG_EQUAL},   {"ne", SG_LESS | SG_GREATER}, {"lt", SG_LESS},
                 {"gt", SG_GREATER}, {"le", SG_LESS | SG_EQUAL},   {"ge", SG_GREATER | SG_EQUAL}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (sg_modifier(decoder, names[i].name)) {
            return names[i].bits;
        }
    }
    sg_decode_unsupported(decoder);
}

/* Signs of a, b, d. vset has no type for d: its results are not negative. */
static int64_t signs(struct sg_decoder *decoder, bool set)
{
    enum sg_type types[3] = {SG_TYPE_U32, SG_TYPE_NONE, SG_TYPE_NONE}; /* d, a, b */
    for (unsigned i = 0; i < (set ? 2 : 3); i++) {
        types[i + set] = sg_modifier_type(decoder, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        if (types[i] != SG_TYPE_U32 && types[i] != SG_TYPE_S32) {
            sg_decode_unsupported(decoder);
        }
    }
    return (types[1] == SG_TYPE_S32 ? SG_VIDEO_A_SIGNED : 0) |
           (types[2] == SG_TYPE_S32 ? SG_VIDEO_B_SIGNED : 0) |
           (types[0] == SG_TYPE_S32 ? SG_VIDEO_D_SIGNED : 0) |
           (sg_modifier(decoder, "sat") ? SG_VIDEO_SAT : 0) |
           (sg_modifier(decoder, "wrap") ? SG_VIDEO_WRAP : 0);
}

/* add, min, max between the types and the operands; not part of the opcode's name. */
static enum sg_video_second second(struct sg_decoder *decoder)
{
    return sg_modifier(decoder, "add")   ? SG_VIDEO_ADD
           : sg_modifier(decoder, "min") ? SG_VIDEO_MIN
           : sg_modifier(decoder, "max") ? SG_VIDEO_MAX
                                         : SG_VIDEO_ALONE;
}

static uint32_t decode_video_source(struct sg_decoder *decoder, unsigned index)
{
    struct sg_operand operand = decoder->at->operands[index];
    operand.part = (struct sg_text){NULL, 0};
    operand.negated = false;
    return sg_row_source(decoder, &operand, SG_TYPE_B32);
}

static uint32_t target(struct sg_decoder *decoder)
{
    struct sg_operand operand = decoder->at->operands[0];
    operand.part = (struct sg_text){NULL, 0};
    return sg_row_target(decoder, &operand, SG_TYPE_B32);
}

static void decode_video_emit(struct sg_decoder *decoder, const char *name, uint32_t c, int64_t how)
{
    uint32_t a = decode_video_source(decoder, 1), b = decode_video_source(decoder, 2);
    struct sg_draft *draft = sg_guard(decoder, sg_emit_op(decoder, name, target(decoder), a, b, c));
    draft->in.imm = how;
}

/* ".b2", ".h1" of a scalar instruction's operand */
static int64_t scalar_part(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    struct sg_text part = operand->part;
    if (part.len == 0) {
        return SG_VIDEO_PART(0, 0);
    }
    unsigned index = part.len == 2 ? (unsigned)(part.at[1] - '0') : 9;
    if (part.at[0] == 'b' && index < 4) {
        return SG_VIDEO_PART(index, 1);
    }
    if (part.at[0] == 'h' && index < 2) {
        return SG_VIDEO_PART(2 * index, 2);
    }
    sg_decode_wrong(decoder, "no such part of a register");
}

static int64_t scalar_parts(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    return scalar_part(decoder, &operands[1]) << SG_VIDEO_A |
           scalar_part(decoder, &operands[2]) << SG_VIDEO_B |
           scalar_part(decoder, &operands[0]) << SG_VIDEO_D;
}

static void decode_scalar(struct sg_decoder *decoder, bool set)
{
    char name[24];
    bool shift = sg_text_starts(decoder->at->opcode, "vsh");
    bool merge = decoder->at->operands[0].part.len != 0;
    enum sg_video_second then = second(decoder);
    if (shift && sg_modifier(decoder, "clamp") == sg_modifier(decoder, "wrap")) {
        sg_decode_wrong(decoder, ".clamp or .wrap is needed");
    }
    if (merge && then != SG_VIDEO_ALONE) {
        sg_decode_unsupported(decoder);
    }
    uint32_t operands = merge || then != SG_VIDEO_ALONE ? 4 : 3;
    sg_operands_check(decoder, operands, operands);
    int64_t how = signs(decoder, set) | scalar_parts(decoder) |
                  (int64_t)(merge ? SG_VIDEO_MERGE : then) << SG_VIDEO_SECOND;
    how |= set ? (int64_t)relations(decoder) << SG_VIDEO_RELATIONS : 0;
    snprintf(name, sizeof name, "x_%.*s", SG_TEXT_ARGS(decoder->at->opcode));
    decode_video_emit(decoder, name, operands == 4 ? decode_video_source(decoder, 3) : 0, how);
}

static void decode_vmad(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    bool plus = sg_modifier(decoder, "po");
    int64_t product = operands[1].negated != operands[2].negated, third = operands[3].negated;
    int64_t scale = sg_modifier(decoder, "shr7") ? 7 : sg_modifier(decoder, "shr15") ? 15 : 0;
    sg_operands_check(decoder, 4, 4);
    if (operands[0].part.len || operands[3].part.len || (product && third) ||
        (plus && (product || third))) {
        sg_decode_unsupported(decoder);
    }
    decode_video_emit(decoder, "x_vmad", decode_video_source(decoder, 3),
                      signs(decoder, false) | scalar_parts(decoder) | (plus ? SG_VIDEO_PO : 0) |
                          product << SG_VIDEO_RELATIONS | third << (SG_VIDEO_RELATIONS + 1) |
                          scale << SG_VIDEO_SECOND);
}

/* ".h10", ".b7654": one digit per lane, the highest lane first. */
static int64_t simd_parts(struct sg_decoder *decoder, const struct sg_operand *operand,
                          unsigned lanes, unsigned first)
{
    struct sg_text part = operand->part;
    int64_t parts = 0;
    if (part.len && (part.len != lanes + 1 || part.at[0] != (lanes == 2 ? 'h' : 'b'))) {
        sg_decode_wrong(decoder, "no such parts of a register");
    }
    for (unsigned i = 0; i < lanes; i++) {
        unsigned index = part.len ? (unsigned)(part.at[lanes - i] - '0') : first + i;
        if (index >= 2 * lanes) {
            sg_decode_wrong(decoder, "no such parts of a register");
        }
        parts |= (int64_t)index << (4 * i);
    }
    return parts;
}

/* ".h1", ".b310": the lanes that are written, in falling order. */
static int64_t simd_mask(struct sg_decoder *decoder, unsigned lanes)
{
    struct sg_text part = decoder->at->operands[0].part;
    int64_t mask = 0;
    unsigned above = lanes;
    if (part.len == 0) {
        return (1 << lanes) - 1;
    }
    for (uint32_t i = 1; i < part.len; i++) {
        unsigned index = (unsigned)(part.at[i] - '0');
        if (index >= above) {
            sg_decode_wrong(decoder, "no such parts of a register");
        }
        above = index;
        mask |= 1 << index;
    }
    if (part.len < 2 || part.at[0] != (lanes == 2 ? 'h' : 'b')) {
        sg_decode_wrong(decoder, "no such parts of a register");
    }
    return mask;
}

static void decode_simd(struct sg_decoder *decoder, bool set, unsigned lanes)
{
    char name[24];
    const struct sg_operand *operands = decoder->at->operands;
    enum sg_video_second then = second(decoder);
    sg_operands_check(decoder, 4, 4);
    if ((then != SG_VIDEO_ALONE && then != SG_VIDEO_ADD) ||
        (then == SG_VIDEO_ADD && sg_modifier(decoder, "sat"))) {
        sg_decode_unsupported(decoder);
    }
    int64_t how = signs(decoder, set) | (int64_t)then << SG_VIDEO_SECOND |
                  simd_parts(decoder, &operands[1], lanes, 0) << SG_VIDEO_A |
                  simd_parts(decoder, &operands[2], lanes, lanes) << SG_VIDEO_B |
                  simd_mask(decoder, lanes) << SG_VIDEO_D;
    how |= set ? (int64_t)relations(decoder) << SG_VIDEO_RELATIONS : 0;
    snprintf(name, sizeof name, "x_%.*s", SG_TEXT_ARGS(decoder->at->opcode));
    decode_video_emit(decoder, name, decode_video_source(decoder, 3), how);
}

void sg_decode_video(struct sg_decoder *decoder)
{
    struct sg_text opcode = decoder->at->opcode;
    char last = opcode.at[opcode.len - 1];
    bool set = sg_text_starts(opcode, "vset");
    sg_modifiers_check(decoder, VIDEO_WORDS, false);
    if (last == '2' || last == '4') {
        decode_simd(decoder, set, last == '2' ? 2 : 4);
    } else if (sg_text_is(opcode, "vmad")) {
        decode_vmad(decoder);
    } else {
        decode_scalar(decoder, set);
    }
}
