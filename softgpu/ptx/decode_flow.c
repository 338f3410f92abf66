/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, barriers, and operations of a whole warp. */
#include "softgpu/ptx/decode_flow.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_call.h"
#include "softgpu/ptx/decode_cluster.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/decode_stack.h"

static struct sg_draft *emit_kind(struct sg_decoder *decoder, enum sg_insn_kind kind,
                                  sg_handler *handler)
{
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, handler, handler));
    draft->in.kind = (uint8_t)kind;
    return draft;
}

void sg_decode_bra(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "uni", false);
    sg_operands_check(decoder, 1, 1);
    const struct sg_operand *target = &decoder->at->operands[0];
    if (target->kind != SG_OPERAND_LABEL) {
        sg_decode_wrong(decoder, "a label must stand here");
    }
    struct sg_draft *draft = emit_kind(decoder, SG_KIND_BRANCH, NULL);
    draft->in.imm = (int64_t)target->value;
    draft->label = 1;
}

/* ---- brx.idx: a search among the targets; every branch of it is an ordinary one ---- */

static struct sg_draft *emit_branch(struct sg_decoder *decoder, uint32_t guard, bool negated)
{
    struct sg_draft *draft = sg_emit(decoder, NULL, NULL);
    draft->in.kind = SG_KIND_BRANCH;
    draft->in.guard = guard;
    draft->in.guard_negated = negated;
    return draft;
}

/* Its number, for jump_comes_here. */
static uint32_t emit_jump(struct sg_decoder *decoder, uint32_t guard, bool negated)
{
    emit_branch(decoder, guard, negated);
    return decoder->drafts.count - 1;
}

static uint32_t emit_below(struct sg_decoder *decoder, uint32_t index, uint32_t limit)
{
    uint32_t row = sg_row_new(decoder, SG_ROW_PREDICATE);
    sg_emit_op(decoder, "x_lt_u32", row, index, sg_row_literal(decoder, limit, false), 0);
    return row;
}

static void jump_comes_here(struct sg_decoder *decoder, uint32_t jump)
{
    decoder->drafts.items[jump].in.imm = decoder->drafts.count;
}

/* The index is one of first .. last - 1. */
static void search_target(struct sg_decoder *decoder, uint32_t index,
                          const struct sg_ptx_table *table, uint32_t first, uint32_t last)
{
    if (last - first == 1) {
        struct sg_draft *draft = emit_branch(decoder, 0, false);
        draft->in.imm = (int64_t)table->labels[first];
        draft->label = 1;
        return;
    }
    uint32_t middle = first + (last - first) / 2;
    uint32_t upper = emit_jump(decoder, emit_below(decoder, index, middle), true);
    search_target(decoder, index, table, first, middle);
    jump_comes_here(decoder, upper);
    search_target(decoder, index, table, middle, last);
}

void sg_decode_brx(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    sg_modifiers_check(decoder, "idx uni", false);
    sg_operands_check(decoder, 2, 2);
    if (!sg_modifier(decoder, "idx")) {
        sg_decode_unsupported(decoder);
    }
    if (operands[1].kind != SG_OPERAND_TABLE || operands[1].table->labels == NULL) {
        sg_decode_wrong(decoder, "a list of branch targets must stand here");
    }
    const struct sg_ptx_table *table = operands[1].table;
    uint32_t index = sg_row_source(decoder, &operands[0], SG_TYPE_U32), over = 0;
    if (decoder->guard) {
        over = emit_jump(decoder, decoder->guard, !decoder->guard_negated);
    }
    uint32_t inside = emit_jump(decoder, emit_below(decoder, index, table->label_count), false);
    sg_emit(decoder, NULL, NULL)->in.kind = SG_KIND_LOST;
    jump_comes_here(decoder, inside);
    search_target(decoder, index, table, 0, table->label_count);
    if (decoder->guard) {
        jump_comes_here(decoder, over);
    }
}

void sg_decode_ret(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "uni", false);
    sg_operands_check(decoder, 0, 0);
    bool entry = decoder->funcs.items[decoder->slot].func->entry;
    sg_decode_leave_stack(decoder);
    sg_decode_give_results(decoder);
    emit_kind(decoder, entry ? SG_KIND_EXIT : SG_KIND_RETURN, NULL);
}

/* ---- barriers ---- */

/* Whether the value is the same in all lanes of a warp. */
static bool is_uniform(const struct sg_decoder *decoder, uint32_t row)
{
    const struct sg_draft_row *known = &decoder->rows.items[row];
    return row == 0 || (known->constant && !known->by_lane);
}

static void decode_warp_barrier(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "warp sync", false);
    sg_operands_check(decoder, 1, 1);
    uint32_t mask = sg_row_source(decoder, &decoder->at->operands[0], SG_TYPE_B32);
    struct sg_draft *draft = emit_kind(decoder, SG_KIND_COLLECTIVE, NULL);
    draft->in.e = mask;
    draft->in.flags = is_uniform(decoder, mask) ? SG_FLAG_UNIFORM : 0;
    draft->reads = SG_FIELD_E;
}

void sg_decode_barrier(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_modifier(decoder, "warp")) {
        decode_warp_barrier(decoder);
        return;
    }
    if (sg_modifier(decoder, "cluster")) {
        sg_decode_barrier_cluster(decoder);
        return;
    }
    sg_modifiers_check(decoder, "cta sync arrive red popc and or aligned u32 pred", false);
    bool red = sg_modifier(decoder, "red"), arrive = sg_modifier(decoder, "arrive");
    enum sg_barrier_kind mode = arrive                         ? SG_BARRIER_ARRIVE
                                : !red                         ? SG_BARRIER_SYNC
                                : sg_modifier(decoder, "popc") ? SG_BARRIER_POPC
                                : sg_modifier(decoder, "and")  ? SG_BARRIER_AND
                                                               : SG_BARRIER_OR;
    if (!red && !arrive && !sg_modifier(decoder, "sync")) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, red ? 3 : arrive ? 2 : 1, red ? 4 : 2);
    uint32_t first = red ? 1 : 0;
    bool counted = insn->operand_count == (red ? 4u : 2u);
    uint32_t number = sg_row_source(decoder, &insn->operands[first], SG_TYPE_B32);
    uint32_t count = counted ? sg_row_source(decoder, &insn->operands[first + 1], SG_TYPE_B32) : 0;
    uint32_t predicate = 0, target = 0;
    bool negated = false;
    if (red) {
        struct sg_operand p = insn->operands[insn->operand_count - 1];
        negated = p.negated;
        p.negated = false;
        predicate = sg_row_source(decoder, &p, SG_TYPE_PRED);
        target = sg_row_target(decoder, &insn->operands[0],
                               mode == SG_BARRIER_POPC ? SG_TYPE_B32 : SG_TYPE_PRED);
    }
    struct sg_draft *draft = emit_kind(decoder, SG_KIND_BARRIER, NULL);
    draft->in.a = number;
    draft->in.b = count;
    draft->in.c = predicate;
    draft->in.d = target;
    draft->in.mode = (uint8_t)mode;
    draft->in.imm = negated;
    bool aligned = sg_text_is(insn->opcode, "bar") || sg_modifier(decoder, "aligned");
    bool uniform = is_uniform(decoder, number) && is_uniform(decoder, count);
    draft->in.flags = (uint8_t)((aligned ? SG_FLAG_ALIGNED : 0) | (uniform ? SG_FLAG_UNIFORM : 0));
    draft->reads = (uint8_t)(SG_FIELD_A | (count ? SG_FIELD_B : 0) | (red ? SG_FIELD_C : 0));
    draft->writes = red ? SG_FIELD_D : 0;
}

/* All fences are the strongest one. fence.proxy.tensormap belongs to copies that are not
 * supported. */
void sg_decode_fence(struct sg_decoder *decoder)
{
    sg_modifiers_check(
        decoder,
        "cta cluster gl sys gpu sc acq_rel acquire release mbarrier_init proxy alias "
        "async async.global async::generic global shared::cta shared::cluster "
        "sync_restrict::shared::cta sync_restrict::shared::cluster",
        false);
    sg_operands_check(decoder, 0, 0);
    emit_kind(decoder, SG_KIND_PLAIN, sg_misc_fence);
}

/* ---- what lanes do together ---- */

static uint32_t member_mask(struct sg_decoder *decoder, uint32_t operand)
{
    return sg_modifier(decoder, "sync")
               ? sg_row_source(decoder, &decoder->at->operands[operand], SG_TYPE_B32)
               : 0;
}

struct sg_draft *sg_emit_collective(struct sg_decoder *decoder, sg_handler *handler,
                                    uint32_t members)
{
    struct sg_draft *draft = emit_kind(decoder, SG_KIND_COLLECTIVE, handler);
    draft->in.e = members;
    draft->in.flags = is_uniform(decoder, members) ? SG_FLAG_UNIFORM : 0;
    draft->reads = members ? SG_FIELD_E : 0;
    return draft;
}

/* "d|p": the row of the predicate; 0: not used. */
static uint32_t pair_target(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    return operand->pair != NULL && operand->pair->kind == SG_OPERAND_REG
               ? sg_row_target(decoder, operand->pair, SG_TYPE_PRED)
               : 0;
}

void sg_decode_shfl(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    uint32_t sync = sg_modifier(decoder, "sync") ? 1 : 0;
    sg_modifiers_check(decoder, "sync up down bfly idx b32", false);
    sg_operands_check(decoder, 4 + sync, 4 + sync);
    sg_handler *handler = sg_modifier(decoder, "up")     ? sg_shfl_up
                          : sg_modifier(decoder, "down") ? sg_shfl_down
                          : sg_modifier(decoder, "bfly") ? sg_shfl_bfly
                                                         : sg_shfl_idx;
    struct sg_operand target = insn->operands[0];
    uint32_t predicate = pair_target(decoder, &target);
    uint32_t a = sg_row_source(decoder, &insn->operands[1], SG_TYPE_B32);
    uint32_t b = sg_row_source(decoder, &insn->operands[2], SG_TYPE_B32);
    uint32_t c = sg_row_source(decoder, &insn->operands[3], SG_TYPE_B32);
    uint32_t members = member_mask(decoder, 4), d = sg_row_target(decoder, &target, SG_TYPE_B32);
    struct sg_draft *draft = sg_emit_collective(decoder, handler, members);
    draft->in.d = d;
    draft->in.a = a;
    draft->in.b = b;
    draft->in.c = c;
    draft->in.f = predicate;
    draft->reads |= SG_FIELD_A | SG_FIELD_B | SG_FIELD_C;
    draft->writes = (uint8_t)(SG_FIELD_D | (predicate ? SG_FIELD_F : 0));
}

void sg_decode_vote(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    uint32_t sync = sg_modifier(decoder, "sync") ? 1 : 0;
    sg_modifiers_check(decoder, "sync all any uni ballot pred b32", false);
    sg_operands_check(decoder, 2 + sync, 2 + sync);
    bool ballot = sg_modifier(decoder, "ballot");
    sg_handler *handler = ballot                        ? sg_vote_ballot
                          : sg_modifier(decoder, "all") ? sg_vote_all
                          : sg_modifier(decoder, "any") ? sg_vote_any
                                                        : sg_vote_uni;
    struct sg_operand source = insn->operands[1];
    bool negated = source.negated;
    source.negated = false;
    uint32_t a = sg_row_source(decoder, &source, SG_TYPE_PRED);
    uint32_t members = member_mask(decoder, 2);
    uint32_t d = sg_row_target(decoder, &insn->operands[0], ballot ? SG_TYPE_B32 : SG_TYPE_PRED);
    struct sg_draft *draft = sg_emit_collective(decoder, handler, members);
    draft->in.d = d;
    draft->in.a = a;
    draft->in.imm = negated;
    draft->reads |= SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}

void sg_decode_match(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, "sync any all b32 b64", false);
    sg_operands_check(decoder, 3, 3);
    bool all = sg_modifier(decoder, "all"), wide = sg_modifier(decoder, "b64");
    sg_handler *handler =
        all ? (wide ? sg_match_all64 : sg_match_all32) : (wide ? sg_match_any64 : sg_match_any32);
    struct sg_operand target = insn->operands[0];
    uint32_t predicate = pair_target(decoder, &target);
    uint32_t a = sg_row_source(decoder, &insn->operands[1], wide ? SG_TYPE_B64 : SG_TYPE_B32);
    uint32_t members = member_mask(decoder, 2), d = sg_row_target(decoder, &target, SG_TYPE_B32);
    struct sg_draft *draft = sg_emit_collective(decoder, handler, members);
    draft->in.d = d;
    draft->in.a = a;
    draft->in.f = predicate;
    draft->reads |= SG_FIELD_A;
    draft->writes = (uint8_t)(SG_FIELD_D | (predicate ? SG_FIELD_F : 0));
}

void sg_decode_redux(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, "sync add min max and or xor u32 s32 b32", false);
    sg_operands_check(decoder, 3, 3);
    bool is_signed = sg_modifier(decoder, "s32");
    sg_handler *handler = sg_modifier(decoder, "add")   ? sg_redux_add
                          : sg_modifier(decoder, "and") ? sg_redux_and
                          : sg_modifier(decoder, "or")  ? sg_redux_or
                          : sg_modifier(decoder, "xor") ? sg_redux_xor
                          : sg_modifier(decoder, "min")
                              ? (is_signed ? sg_redux_min_s32 : sg_redux_min_u32)
                              : (is_signed ? sg_redux_max_s32 : sg_redux_max_u32);
    uint32_t a = sg_row_source(decoder, &insn->operands[1], SG_TYPE_B32);
    uint32_t members = member_mask(decoder, 2);
    uint32_t d = sg_row_target(decoder, &insn->operands[0], SG_TYPE_B32);
    struct sg_draft *draft = sg_emit_collective(decoder, handler, members);
    draft->in.d = d;
    draft->in.a = a;
    draft->reads |= SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}

void sg_decode_simple(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_text_is(insn->opcode, "exit")) {
        sg_operands_check(decoder, 0, 0);
        emit_kind(decoder, SG_KIND_EXIT, NULL);
    } else if (sg_text_is(insn->opcode, "trap")) {
        sg_operands_check(decoder, 0, 0);
        emit_kind(decoder, SG_KIND_TRAP, NULL);
    } else if (sg_text_is(insn->opcode, "brkpt")) { /* without a debugger it cannot be continued */
        sg_operands_check(decoder, 0, 0);
        emit_kind(decoder, SG_KIND_TRAP, NULL);
    } else if (sg_text_is(insn->opcode, "nanosleep")) {
        sg_modifiers_check(decoder, "u32", false);
        sg_operands_check(decoder, 1, 1);
        sg_row_source(decoder, &insn->operands[0], SG_TYPE_U32);
        emit_kind(decoder, SG_KIND_YIELD, NULL);
    } else if (sg_text_is(insn->opcode, "activemask")) {
        sg_modifiers_check(decoder, "b32", false);
        sg_operands_check(decoder, 1, 1);
        uint32_t d = sg_row_target(decoder, &insn->operands[0], SG_TYPE_B32);
        struct sg_draft *draft = emit_kind(decoder, SG_KIND_PLAIN, sg_misc_activemask);
        draft->in.d = d;
        draft->writes = SG_FIELD_D;
    } else { /* prefetch, prefetchu: advice without effect */
        sg_operands_check(decoder, 1, 1);
        emit_kind(decoder, SG_KIND_PLAIN, sg_misc_nothing);
    }
}
