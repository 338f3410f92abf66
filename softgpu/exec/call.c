/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of .func. Parameters travel through local memory: the caller's .param variables are copied
 * into the callee's frame, and results back. A function has registers of its own; only a function
 * that may be active twice has them saved. Lanes that call together share a frame and leave it one
 * group at a time. */
#include "softgpu/exec/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/engine/budget.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/group.h"
#include "softgpu/exec/warp.h"

#define CALL_DEPTH_MAX 100000
#define FRAME_GRAIN    ((size_t)256 << 10) /* of the budget, taken for many frames */

static uint8_t *frame_at(struct sg_warp *warp, unsigned lane, uint64_t at)
{
    return sg_local_at(warp, lane, at);
}

static void copy_lane(struct sg_warp *warp, unsigned lane, uint64_t from, uint64_t to,
                      uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        *frame_at(warp, lane, to + i) = *frame_at(warp, lane, from + i);
    }
}

static void copy_all(struct sg_warp *warp, uint32_t mask, uint64_t from, uint64_t to,
                     uint32_t bytes)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        copy_lane(warp, (unsigned)__builtin_ctz(left), from, to, bytes);
    }
}

/* The upper limit of a frame of these lanes. */
static uint64_t frame_limit(const struct sg_warp *warp, uint32_t mask)
{
    uint64_t limit = warp->local_bytes;
    if (sg_block_code(warp->block)->allocates) {
        for (uint32_t left = mask; left; left &= left - 1) {
            uint64_t top = warp->stack_top[__builtin_ctz(left)];
            limit = top < limit ? top : limit;
        }
    }
    return limit;
}

static size_t call_frame_bytes(const struct sg_callee *callee)
{
    return sizeof(struct sg_frame) + callee->save_bytes;
}

static struct sg_frame *frame_make(struct sg_block *block, const struct sg_callee *callee)
{
    size_t bytes = call_frame_bytes(callee);
    if (block->frame_room < bytes) {
        size_t grain = bytes > FRAME_GRAIN ? bytes : FRAME_GRAIN;
        if (!sg_budget_take(grain, "nested calls of a kernel")) {
            return NULL;
        }
        block->frame_room += grain;
        block->frame_grains += grain;
    }
    struct sg_frame *frame = malloc(bytes);
    block->frame_room -= frame != NULL ? bytes : 0;
    return frame;
}

static bool call_frame_enter(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                             const struct sg_call *call, const struct sg_callee *callee)
{
    uint64_t sp = warp->sp + call->caller_frame;
    uint32_t depth = group->frame != NULL ? group->frame->depth + 1 : 1;
    unsigned lane = (unsigned)__builtin_ctz(group->mask);
    if (sp + callee->frame_bytes > frame_limit(warp, group->mask) || depth > CALL_DEPTH_MAX) {
        sg_warp_fault(warp, in, lane, SG_FAULT_STACK, 0, "calls nested deeper than the stack");
        return false;
    }
    struct sg_frame *frame = frame_make(warp->block, callee);
    if (frame == NULL) {
        sg_warp_fault(warp, in, lane, SG_FAULT_NO_MEMORY, 0, "no memory for a call");
        return false;
    }
    *frame = (struct sg_frame){
        .parent = group->frame,
        .call = call,
        .callee = callee,
        .return_pc = group->pc + 1,
        .depth = depth,
        .lanes_left = (uint32_t)__builtin_popcount(group->mask),
        .sp = sp,
    };
    memcpy(frame->saved, (uint8_t *)warp + callee->save_begin, callee->save_bytes);
    for (uint32_t k = 0; k < call->in_count; k++) {
        copy_all(warp, group->mask, warp->sp + call->in[k].from, sp + callee->in[k].at,
                 call->in[k].bytes);
    }
    group->frame = frame;
    group->pc = callee->first;
    warp->sp = sp;
    return true;
}

bool sg_call_enter(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in)
{
    const struct sg_call *call = sg_block_call(warp->block, (uint32_t)in->imm);
    return call_frame_enter(warp, group, in, call,
                            &sg_block_code(warp->block)->functions[call->target]);
}

const struct sg_callee *sg_code_callee(const struct sg_kernel_code *code, uint64_t address)
{
    uint64_t number = (address - code->code_base) / SG_CODE_UNIT;
    if (address < code->code_base || address % SG_CODE_UNIT || number > code->pointer_count) {
        return NULL;
    }
    uint32_t place = code->pointers[number];
    return place ? &code->functions[place] : NULL;
}

/* Whether the parameters fit: a pointer of another type than the function's names other
 * parameters. */
static bool call_signature_fits(const struct sg_call *call, const struct sg_callee *callee)
{
    bool good = call->in_count == callee->in_count && call->out_count == callee->out_count;
    for (uint32_t k = 0; good && k < call->in_count; k++) {
        good = call->in[k].bytes == callee->in[k].bytes;
    }
    for (uint32_t k = 0; good && k < call->out_count; k++) {
        good = call->out[k].bytes == callee->out[k].bytes;
    }
    return good;
}

bool sg_call_enter_pointer(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in)
{
    const struct sg_call *call = sg_block_call(warp->block, (uint32_t)in->imm);
    const uint64_t *row = sg_row(warp, in->a);
    unsigned first = (unsigned)__builtin_ctz(group->mask);
    uint32_t same = 0;
    for (unsigned i = 0; i < SG_LANES; i++) {
        same |= row[i] == row[first] ? 1u << i : 0;
    }
    const struct sg_callee *callee = sg_code_callee(sg_block_code(warp->block), row[first]);
    if (callee == NULL || !call_signature_fits(call, callee)) {
        sg_warp_fault(warp, in, first, SG_FAULT_INVALID_PC, row[first],
                      callee != NULL ? "call of a function that has another signature"
                                     : "call of an address that is no function's");
        return false;
    }
    if (group->mask & ~same) {
        sg_group_split(warp, group, group->mask & ~same); /* executed again */
    }
    return call_frame_enter(warp, group, in, call, callee);
}

/* Rows have 256, 128 or 4 bytes. If no other lane is in the frame, rows are restored whole,
 * whatever their kind; otherwise lane by lane. */
static void restore(struct sg_warp *warp, const struct sg_frame *frame, uint32_t mask)
{
    const struct sg_kernel_code *code = sg_block_code(warp->block);
    const struct sg_callee *callee = frame->callee;
    for (uint32_t r = 0; r < callee->row_count; r++) {
        uint32_t row = code->rows[callee->first_row + r];
        uint32_t offset = SG_ROW_OFFSET(row);
        uint8_t *now = (uint8_t *)warp + offset;
        const uint8_t *then = frame->saved + (offset - callee->save_begin);
        if (SG_ROW_KIND(row) == SG_ROW_PREDICATE) {
            uint32_t old, bits;
            memcpy(&old, then, sizeof old);
            memcpy(&bits, now, sizeof bits);
            bits = (bits & ~mask) | (old & mask);
            memcpy(now, &bits, sizeof bits);
            continue;
        }
        size_t size = SG_ROW_KIND(row) == SG_ROW_64 ? 8 : 4;
        for (uint32_t left = mask; left; left &= left - 1) {
            size_t at = (size_t)__builtin_ctz(left) * size;
            memcpy(now + at, then + at, size);
        }
    }
}

static struct sg_frame *call_frame_drop(struct sg_block *block, struct sg_frame *frame,
                                        uint32_t lanes)
{
    struct sg_frame *parent = frame->parent;
    frame->lanes_left -= lanes;
    if (frame->lanes_left == 0) {
        block->frame_room += call_frame_bytes(frame->callee);
        free(frame);
    }
    return parent;
}

void sg_call_leave(struct sg_warp *warp, struct sg_group *group)
{
    struct sg_frame *frame = group->frame;
    uint64_t caller_sp = frame->parent != NULL ? frame->parent->sp : 0;
    const struct sg_call *call = frame->call;
    for (uint32_t k = 0; k < call->out_count; k++) {
        copy_all(warp, group->mask, frame->sp + frame->callee->out[k].at,
                 caller_sp + call->out[k].to, call->out[k].bytes);
    }
    restore(warp, frame, group->mask);
    group->pc = frame->return_pc;
    group->frame = call_frame_drop(warp->block, frame, (uint32_t)__builtin_popcount(group->mask));
    warp->sp = caller_sp;
}

/* Lanes that exit inside a call leave all their frames. */
void sg_call_drop_lanes(struct sg_warp *warp, struct sg_group *group, uint32_t mask)
{
    for (struct sg_frame *frame = group->frame; frame != NULL;) {
        frame = call_frame_drop(warp->block, frame, (uint32_t)__builtin_popcount(mask));
    }
}

/* Frees the frames of every group, when a block is given up. */
void sg_call_free_frames(struct sg_warp *warp)
{
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *group = &warp->groups[i];
        sg_call_drop_lanes(warp, group, group->mask);
    }
    warp->group_count = 0;
}

void sg_call_end(struct sg_block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        sg_call_free_frames(sg_block_warp(block, w));
    }
    sg_budget_give(block->frame_grains);
    block->frame_room = block->frame_grains = 0;
}
