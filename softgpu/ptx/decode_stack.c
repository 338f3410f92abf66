/* SPDX-License-Identifier: Apache-2.0 */
/* alloca, stacksave, stackrestore (PTX ISA 9.0, 9.7.18). A function with alloca saves the stack's
 * top at its begin and restores it when it returns. */
#include "softgpu/ptx/decode_stack.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"

/* A record whose caller_frame will be the end of the function's own frame. */
static int64_t frame_record(struct sg_decoder *decoder)
{
    *SG_LOAD_PUSH(decoder->load, decoder->calls) = (struct sg_call){.target = 0};
    *SG_LOAD_PUSH(decoder->load, decoder->callers) = decoder->slot;
    return decoder->calls.count - 1;
}

static void emit_save(struct sg_decoder *decoder, uint32_t row)
{
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, sg_stack_save, sg_stack_save));
    draft->in.d = row;
    draft->writes = SG_FIELD_D;
}

static void emit_restore(struct sg_decoder *decoder, uint32_t row)
{
    struct sg_draft *draft =
        sg_guard(decoder, sg_emit(decoder, sg_stack_restore, sg_stack_restore));
    draft->in.a = row;
    draft->in.imm = frame_record(decoder);
    draft->reads = SG_FIELD_A;
}

void sg_decode_enter_stack(struct sg_decoder *decoder)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    for (uint32_t i = 0; !func->entry && i < func->insns.count; i++) {
        if (sg_text_is(func->insns.items[i].opcode, "alloca")) {
            uint32_t row = sg_row_new(decoder, SG_ROW_64);
            decoder->funcs.items[decoder->slot].stack_row = row;
            emit_save(decoder, row);
            return;
        }
    }
}

void sg_decode_leave_stack(struct sg_decoder *decoder)
{
    uint32_t row = decoder->funcs.items[decoder->slot].stack_row;
    if (row) {
        emit_restore(decoder, row);
    }
}

/* The operand as a 64-bit row. */
static uint32_t wide_source(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide)
{
    uint32_t row = sg_row_source(decoder, operand, wide ? SG_TYPE_U64 : SG_TYPE_U32);
    if (wide) {
        return row;
    }
    uint32_t other = sg_row_new(decoder, SG_ROW_64);
    sg_emit_op(decoder, "x_zext32_64", other, row, 0, 0);
    return other;
}

static void narrow_target(struct sg_decoder *decoder, uint32_t target, uint32_t row)
{
    if (target != row) {
        sg_guard(decoder, sg_emit_op(decoder, "x_lo32", target, row, 0, 0));
    }
}

static uint8_t alignment(struct sg_decoder *decoder)
{
    const struct sg_operand *operand = &decoder->at->operands[2];
    uint64_t value = decoder->at->operand_count == 3 ? operand->value : 8;
    if (decoder->at->operand_count == 3 && operand->kind != SG_OPERAND_INT) {
        sg_decode_wrong(decoder, "the alignment must be a constant");
    }
    if (value == 0 || (value & (value - 1)) || value > (1u << 23)) {
        sg_decode_wrong(decoder, "the alignment must be a power of 2 up to 2^23");
    }
    return (uint8_t)__builtin_ctzll(value < 8 ? 8 : value);
}

static void decode_alloca(struct sg_decoder *decoder, bool wide)
{
    const struct sg_operand *operands = decoder->at->operands;
    sg_operands_check(decoder, 2, 3);
    uint32_t bytes = wide_source(decoder, &operands[1], wide);
    uint32_t target = sg_row_target(decoder, &operands[0], wide ? SG_TYPE_U64 : SG_TYPE_U32);
    uint32_t row = wide ? target : sg_row_new(decoder, SG_ROW_64);
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, sg_stack_alloca, sg_stack_alloca));
    draft->in.d = row;
    draft->in.a = bytes;
    draft->in.mode = alignment(decoder);
    draft->in.imm = frame_record(decoder);
    draft->reads = SG_FIELD_A;
    draft->writes = SG_FIELD_D;
    decoder->code->allocates = true;
    narrow_target(decoder, target, row);
}

void sg_decode_stack(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    bool wide = sg_modifier(decoder, "u64");
    sg_modifiers_check(decoder, "u32 u64", false);
    if (insn->modifier_count != 1) {
        sg_decode_unsupported(decoder);
    }
    if (sg_text_is(insn->opcode, "alloca")) {
        decode_alloca(decoder, wide);
        return;
    }
    sg_operands_check(decoder, 1, 1);
    if (sg_text_is(insn->opcode, "stackrestore")) {
        emit_restore(decoder, wide_source(decoder, &insn->operands[0], wide));
        return;
    }
    uint32_t target = sg_row_target(decoder, &insn->operands[0], wide ? SG_TYPE_U64 : SG_TYPE_U32);
    uint32_t row = wide ? target : sg_row_new(decoder, SG_ROW_64);
    emit_save(decoder, row);
    narrow_target(decoder, target, row);
}
