/* Branches, calls, barriers, and what a warp does together. */
#include "softgpu/ptx/decode.h"

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

void sg_decode_ret(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "uni", false);
    sg_operands_check(decoder, 0, 0);
    bool entry = decoder->funcs.items[decoder->slot].func->entry;
    emit_kind(decoder, entry ? SG_KIND_EXIT : SG_KIND_RETURN, NULL);
}

/* ---- calls ---- */

uint32_t sg_func_slot(struct sg_decoder *decoder, struct sg_ptx_func *func)
{
    if (func->call_mark != decoder->pass) {
        struct sg_func_info *info = SG_LOAD_PUSH(decoder->load, decoder->funcs);
        *info = (struct sg_func_info){.func = func};
        info->rows = sg_load_alloc(decoder->load, &decoder->load->scratch,
                                   (func->regs.count + 1) * sizeof *info->rows);
        func->call_mark = decoder->pass;
        func->slot = decoder->funcs.count - 1;
    }
    return func->slot;
}

/* Pairs of what the call names and what the function declares; `to_callee`: arguments */
static const struct sg_copy *copies(struct sg_decoder *decoder, const struct sg_operand *list,
                                    struct sg_ptx_var *const *formals, uint32_t count,
                                    bool to_callee)
{
    if ((list ? list->item_count : 0) != count) {
        sg_decode_wrong(decoder, "another number of parameters than declared");
    }
    struct sg_copy *out =
        sg_load_alloc(decoder->load, decoder->load->keep, (count + 1) * sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        const struct sg_operand *actual = &list->items[i];
        if (actual->kind != SG_OPERAND_VAR || actual->var->space != SG_PTX_PARAM) {
            sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, actual->place,
                         "only .param variables can be passed to functions");
        }
        if (actual->var->bytes != formals[i]->bytes) {
            sg_load_fail(decoder->load, SG_LOAD_SYNTAX, actual->place,
                         "a parameter of another size than declared");
        }
        uint32_t here = (uint32_t)actual->var->offset, there = (uint32_t)formals[i]->offset;
        out[i] = (struct sg_copy){to_callee ? here : there, to_callee ? there : here,
                                  (uint32_t)formals[i]->bytes};
    }
    return out;
}

static void check_callee(struct sg_decoder *decoder, const struct sg_ptx_func *func)
{
    static const char *const builtin[] = {"vprintf", "malloc", "free"};
    for (size_t i = 0; i < sizeof builtin / sizeof builtin[0]; i++) {
        if (!func->defined && sg_text_is(func->name, builtin[i])) {
            sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, decoder->at->place,
                         "function '%s' of the device run time is not supported", builtin[i]);
        }
    }
    if (!func->defined) {
        sg_load_fail(decoder->load, SG_LOAD_UNRESOLVED, decoder->at->place,
                     "function '%.*s' is called but not defined", SG_TEXT_ARGS(func->name));
    }
    if (func->entry) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, decoder->at->place,
                     "kernel '%.*s' cannot be called", SG_TEXT_ARGS(func->name));
    }
}

void sg_decode_call(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, "uni", false);
    uint32_t at = 0;
    const struct sg_operand *results = NULL, *arguments = NULL;
    if (insn->operand_count && insn->operands[0].kind == SG_OPERAND_LIST) {
        results = &insn->operands[at++];
    }
    if (at >= insn->operand_count) {
        sg_decode_wrong(decoder, "the function is missing");
    }
    const struct sg_operand *callee = &insn->operands[at++];
    if (callee->kind != SG_OPERAND_FUNC) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, callee->place,
                     "calls through pointers are not supported");
    }
    if (at < insn->operand_count && insn->operands[at].kind == SG_OPERAND_LIST) {
        arguments = &insn->operands[at++];
    }
    sg_operands_check(decoder, at, at);
    struct sg_ptx_func *func = callee->func;
    bool assertion = !func->defined && sg_text_is(func->name, "__assertfail");
    if (!assertion) {
        check_callee(decoder, func);
    }
    struct sg_call call = {.target = assertion ? 0 : sg_func_slot(decoder, func)};
    call.in_count = func->params.count;
    call.out_count = func->returns.count;
    call.in = copies(decoder, arguments, func->params.items, func->params.count, true);
    call.out = copies(decoder, results, func->returns.items, func->returns.count, false);
    *SG_LOAD_PUSH(decoder->load, decoder->calls) = call;
    *SG_LOAD_PUSH(decoder->load, decoder->callers) = decoder->slot;
    struct sg_draft *draft = emit_kind(decoder, assertion ? SG_KIND_ASSERT : SG_KIND_CALL, NULL);
    draft->in.imm = decoder->calls.count - 1;
}

/* ---- barriers ---- */

static bool is_constant(const struct sg_decoder *decoder, uint32_t row)
{
    return row == 0 || decoder->rows.items[row].constant;
}

static void decode_warp_barrier(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "warp sync", false);
    sg_operands_check(decoder, 1, 1);
    uint32_t mask = sg_row_source(decoder, &decoder->at->operands[0], SG_TYPE_B32);
    struct sg_draft *draft = emit_kind(decoder, SG_KIND_COLLECTIVE, NULL);
    draft->in.e = mask;
    draft->in.flags = is_constant(decoder, mask) ? SG_FLAG_UNIFORM : 0;
    draft->reads = SG_FIELD_E;
}

void sg_decode_barrier(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_modifier(decoder, "warp")) {
        decode_warp_barrier(decoder);
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
    bool uniform = is_constant(decoder, number) && is_constant(decoder, count);
    draft->in.flags = (uint8_t)((aligned ? SG_FLAG_ALIGNED : 0) | (uniform ? SG_FLAG_UNIFORM : 0));
    draft->reads = (uint8_t)(SG_FIELD_A | (count ? SG_FIELD_B : 0) | (red ? SG_FIELD_C : 0));
    draft->writes = red ? SG_FIELD_D : 0;
}

void sg_decode_fence(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "cta cluster gl sys gpu sc acq_rel acquire release", false);
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
    draft->in.flags = is_constant(decoder, members) ? SG_FLAG_UNIFORM : 0;
    draft->reads = members ? SG_FIELD_E : 0;
    return draft;
}

/* "d|p": the predicate, 0 if nobody wants it */
static uint32_t pair_target(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    return operand->pair && operand->pair->kind == SG_OPERAND_REG
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
    } else { /* prefetch, prefetchu: advice that needs no following */
        sg_operands_check(decoder, 1, 1);
        emit_kind(decoder, SG_KIND_PLAIN, sg_misc_nothing);
    }
}
