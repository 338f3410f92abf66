/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of .func, by name and through pointers. Arguments and results lie in .param variables of
 * the caller's frame; registers and constants get places after it.
 *
 * A function whose address is used is part of every kernel that calls through pointers. */
#include "softgpu/ptx/decode_call.h"

#include "softgpu/ptx/call_graph.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_builtin.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

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

uint32_t sg_row_function(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    if (!operand->func->defined) {
        sg_load_fail(decoder->load, SG_LOAD_UNRESOLVED, operand->place,
                     "the address of function '%.*s' is used, but it is not defined",
                     SG_TEXT_ARGS(operand->func->name));
    }
    return sg_row_literal(decoder, sg_ptx_func_address(decoder->module, operand->func), true);
}

/* ---- arguments and results ---- */

/* A place after the caller's frame; `used`: bytes taken for this call. */
static uint32_t spill_place(struct sg_decoder *decoder, uint32_t *used)
{
    struct sg_func_info *info = &decoder->funcs.items[decoder->slot];
    uint32_t base = (uint32_t)(info->func->frame_bytes + 7) & ~7u;
    uint32_t at = base + *used;
    *used += 8;
    uint32_t extra = base + *used - (uint32_t)info->func->frame_bytes;
    info->extra_bytes = extra > info->extra_bytes ? extra : info->extra_bytes;
    return at;
}

static enum sg_mem_type wide_type(unsigned kind)
{
    return kind == SG_ROW_64 ? SG_MEM_b64 : SG_MEM_b32;
}

/* A predicate travels as a word. */
static uint32_t word_of(struct sg_decoder *decoder, uint32_t row)
{
    uint32_t word = sg_row_new(decoder, SG_ROW_32);
    sg_emit_op(decoder, "selp_b32", word, sg_row_literal(decoder, 1, false),
               sg_row_literal(decoder, 0, false), row);
    return word;
}

static void frame_store(struct sg_decoder *decoder, uint32_t row, enum sg_mem_type type,
                        uint32_t at, bool guarded)
{
    sg_handler *handler = decoder->isa->mem->store[SG_MEM_FRAME][type];
    struct sg_draft *draft = sg_emit(decoder, handler, handler);
    draft->in.d = row;
    draft->in.mode = 1;
    draft->in.imm = at;
    draft->reads = SG_FIELD_D;
    if (guarded) {
        sg_guard(decoder, draft);
    }
}

static void frame_load(struct sg_decoder *decoder, uint32_t row, enum sg_mem_type type, uint32_t at)
{
    sg_handler *handler = decoder->isa->mem->load[SG_MEM_FRAME][type];
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, handler, handler));
    draft->in.d = row;
    draft->in.mode = 1;
    draft->in.imm = at;
    draft->writes = SG_FIELD_D;
}

/* The parameter or result at `at` of the frame, into its register. */
static void frame_take(struct sg_decoder *decoder, enum sg_type type, uint32_t row, uint32_t at)
{
    if (sg_row_kind(decoder, row) != SG_ROW_PREDICATE) {
        frame_load(decoder, row, sg_mem_type(decoder, type, sg_row_kind(decoder, row)), at);
        return;
    }
    uint32_t word = sg_row_new(decoder, SG_ROW_32);
    frame_load(decoder, word, SG_MEM_b32, at);
    sg_guard(decoder,
             sg_emit_op(decoder, "x_ne_b32", row, word, sg_row_literal(decoder, 0, false), 0));
}

/* The place of the argument or result in the caller's frame. */
static uint32_t decode_call_place(struct sg_decoder *decoder, const struct sg_operand *actual,
                                  const struct sg_ptx_var *formal, uint32_t *spilled, bool argument)
{
    if (actual->kind == SG_OPERAND_VAR && actual->var->space == SG_PTX_PARAM) {
        if (actual->var->bytes != formal->bytes) {
            sg_load_fail(decoder->load, SG_LOAD_SYNTAX, actual->place,
                         "a parameter of another size than declared");
        }
        return (uint32_t)actual->var->offset;
    }
    if (formal->bytes != sg_type_in_memory(formal->type)) {
        sg_load_fail(decoder->load, SG_LOAD_SYNTAX, actual->place,
                     "an array is passed in a .param variable");
    }
    uint32_t at = spill_place(decoder, spilled);
    if (argument) {
        uint32_t row = sg_row_source(decoder, actual, formal->type);
        row = formal->type == SG_TYPE_PRED ? word_of(decoder, row) : row;
        frame_store(decoder, row, wide_type(sg_row_kind(decoder, row)), at, false);
    }
    return at;
}

static const struct sg_copy *copies(struct sg_decoder *decoder, const struct sg_operand *list,
                                    struct sg_ptx_var *const *formals, uint32_t count,
                                    uint32_t *spilled, bool arguments)
{
    if ((list != NULL ? list->item_count : 0) != count) {
        sg_decode_wrong(decoder, "another number of parameters than declared");
    }
    struct sg_copy *out =
        sg_load_alloc(decoder->load, decoder->load->keep, (count + 1) * sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t here = decode_call_place(decoder, &list->items[i], formals[i], spilled, arguments);
        uint32_t there = (uint32_t)formals[i]->offset;
        out[i] = (struct sg_copy){arguments ? here : there, arguments ? there : here,
                                  (uint32_t)formals[i]->bytes};
    }
    return out;
}

/* Moves results into registers. */
static void take_results(struct sg_decoder *decoder, const struct sg_operand *list,
                         const struct sg_ptx_func *callee, const struct sg_copy *out)
{
    for (uint32_t i = 0; list != NULL && i < callee->returns.count; i++) {
        const struct sg_operand *to = &list->items[i];
        enum sg_type type = callee->returns.items[i]->type;
        if (to->kind != SG_OPERAND_VAR && to->kind != SG_OPERAND_SINK) {
            frame_take(decoder, type, sg_row_target(decoder, to, type), out[i].to);
        }
    }
}

/* ---- the call ---- */

static void check_callee(struct sg_decoder *decoder, const struct sg_ptx_func *func)
{
    if (!func->defined &&
        (sg_text_starts(func->name, "__cudaCDP2") || sg_text_starts(func->name, "cuda"))) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, decoder->at->place,
                     "function '%.*s' of the device run time is not supported",
                     SG_TEXT_ARGS(func->name));
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

/* Adds all functions that a pointer may name to the kernel. */
static void reach_pointers(struct sg_decoder *decoder)
{
    if (decoder->calls_pointers) {
        return;
    }
    decoder->calls_pointers = true;
    for (struct sg_ptx_func *func = decoder->module->funcs; func != NULL; func = func->next) {
        if (func->pointer && func->defined && !func->entry) {
            sg_func_slot(decoder, func);
        }
    }
}

struct parts {
    const struct sg_operand *results, *callee, *arguments, *table;
};

static struct parts parts_of(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    struct parts parts = {NULL, NULL, NULL, NULL};
    uint32_t at = 0;
    if (insn->operand_count && insn->operands[0].kind == SG_OPERAND_LIST) {
        parts.results = &insn->operands[at++];
    }
    if (at >= insn->operand_count) {
        sg_decode_wrong(decoder, "the function is missing");
    }
    parts.callee = &insn->operands[at++];
    if (at < insn->operand_count && insn->operands[at].kind == SG_OPERAND_LIST) {
        parts.arguments = &insn->operands[at++];
    }
    if (at < insn->operand_count && insn->operands[at].kind == SG_OPERAND_TABLE) {
        parts.table = &insn->operands[at++];
    }
    sg_operands_check(decoder, at, at);
    return parts;
}

/* The function with the signature of the call: the callee itself, or the prototype. */
static struct sg_ptx_func *signature_of(struct sg_decoder *decoder, const struct parts *parts)
{
    if (parts->callee->kind == SG_OPERAND_FUNC) {
        return parts->callee->func;
    }
    if (parts->table == NULL || parts->table->table->prototype == NULL) {
        sg_decode_wrong(decoder, "a prototype or a list of targets must stand last");
    }
    return parts->table->table->prototype;
}

void sg_decode_call(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "uni", false);
    struct parts parts = parts_of(decoder);
    struct sg_ptx_func *func = signature_of(decoder, &parts);
    bool direct = parts.callee->kind == SG_OPERAND_FUNC;
    sg_handler *builtin = direct ? sg_decode_builtin(decoder, func) : NULL;
    struct sg_call call = {.target = SG_CALL_BY_POINTER};
    uint32_t pointer = 0, spilled = 0;
    if (!direct) {
        pointer = sg_row_source(decoder, parts.callee, SG_TYPE_B64);
        reach_pointers(decoder);
    } else if (builtin != NULL) {
        call.target = 0;
    } else {
        check_callee(decoder, func);
        call.target = sg_func_slot(decoder, func);
    }
    call.in_count = func->params.count;
    call.out_count = func->returns.count;
    call.in = copies(decoder, parts.arguments, func->params.items, call.in_count, &spilled, true);
    call.out = copies(decoder, parts.results, func->returns.items, call.out_count, &spilled, false);
    *SG_LOAD_PUSH(decoder->load, decoder->calls) = call;
    *SG_LOAD_PUSH(decoder->load, decoder->callers) = decoder->slot;
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, builtin, builtin));
    draft->in.kind = (uint8_t)(builtin != NULL ? SG_KIND_PLAIN
                               : direct        ? SG_KIND_CALL
                                               : SG_KIND_CALL_POINTER);
    draft->in.imm = decoder->calls.count - 1;
    draft->in.a = pointer;
    draft->reads = pointer ? SG_FIELD_A : 0;
    take_results(decoder, parts.results, func, call.out);
}

/* ---- functions whose own parameters are registers ---- */

void sg_decode_take_parameters(struct sg_decoder *decoder)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    for (uint32_t i = 0; i < func->params.count; i++) {
        const struct sg_ptx_var *var = func->params.items[i];
        if (var->in_register) {
            frame_take(decoder, var->type, sg_row_reg(decoder, var->reg), (uint32_t)var->offset);
        }
    }
}

void sg_decode_give_results(struct sg_decoder *decoder)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    for (uint32_t i = 0; i < func->returns.count; i++) {
        const struct sg_ptx_var *var = func->returns.items[i];
        if (var->in_register) {
            uint32_t row = sg_row_reg(decoder, var->reg);
            bool predicate = var->type == SG_TYPE_PRED;
            row = predicate ? word_of(decoder, row) : row;
            frame_store(decoder, row,
                        predicate ? SG_MEM_b32
                                  : sg_mem_type(decoder, var->type, sg_row_kind(decoder, row)),
                        (uint32_t)var->offset, true);
        }
    }
}

/* ---- the result ---- */

static const struct sg_slice *slices(struct sg_decoder *decoder, struct sg_ptx_var *const *formals,
                                     uint32_t count)
{
    struct sg_slice *out =
        sg_load_alloc(decoder->load, decoder->load->keep, (count + 1) * sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (struct sg_slice){(uint32_t)formals[i]->offset, (uint32_t)formals[i]->bytes};
    }
    return out;
}

static void finish_functions(struct sg_decoder *decoder)
{
    struct sg_callee *functions =
        sg_load_alloc(decoder->load, decoder->load->keep, decoder->funcs.count * sizeof *functions);
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        const struct sg_func_info *info = &decoder->funcs.items[s];
        struct sg_callee *callee = &functions[s];
        *callee = (struct sg_callee){
            .name = sg_load_string(decoder->load, decoder->load->keep, info->func->name),
            .first = info->first,
            .frame_bytes = (uint32_t)sg_frame_bytes(info),
            .in_count = info->func->params.count,
            .out_count = info->func->returns.count};
        callee->in = slices(decoder, info->func->params.items, callee->in_count);
        callee->out = slices(decoder, info->func->returns.items, callee->out_count);
        if (info->recursive) {
            callee->save_begin = info->save_begin;
            callee->save_bytes = info->save_bytes;
            callee->first_row = info->first_row;
            callee->row_count = info->row_count;
        }
    }
    decoder->code->functions = functions;
    decoder->code->function_count = decoder->funcs.count;
}

static void finish_pointers(struct sg_decoder *decoder)
{
    uint32_t count = decoder->calls_pointers ? decoder->module->pointer_count : 0;
    uint32_t *pointers =
        sg_load_alloc(decoder->load, decoder->load->keep, (count + 1) * sizeof *pointers);
    for (uint32_t s = 1; count && s < decoder->funcs.count; s++) {
        pointers[decoder->funcs.items[s].func->pointer] = s;
    }
    pointers[0] = 0; /* functions whose address is not used have written here */
    decoder->code->pointers = pointers;
    decoder->code->pointer_count = count;
    decoder->code->code_base = decoder->module->code_base;
}

void sg_decode_calls_finish(struct sg_decoder *decoder)
{
    struct sg_call *calls = sg_load_alloc(decoder->load, decoder->load->keep,
                                          (decoder->calls.count + 1) * sizeof *calls);
    for (uint32_t i = 0; i < decoder->calls.count; i++) {
        calls[i] = decoder->calls.items[i];
        calls[i].caller_frame =
            (uint32_t)sg_frame_bytes(&decoder->funcs.items[decoder->callers.items[i]]);
    }
    decoder->code->calls = calls;
    decoder->code->call_count = decoder->calls.count;
    finish_functions(decoder);
    finish_pointers(decoder);
}
