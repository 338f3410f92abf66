/* SPDX-License-Identifier: Apache-2.0 */
/* mov (and packing), cvta, isspacep. */
#include "softgpu/ptx/decode_move.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/decode_special.h"
#include "softgpu/ptx/type.h"

static void mov_row(struct sg_decoder *decoder, uint32_t target, uint32_t source)
{
    unsigned kind = sg_row_kind(decoder, target);
    const char *name = kind == SG_ROW_64          ? "x_mov64"
                       : kind == SG_ROW_PREDICATE ? "mov_pred"
                                                  : "x_mov32";
    sg_guard(decoder, sg_emit_op(decoder, name, target, source, 0, 0));
}

/* One row made of `count` elements, lowest first. */
static uint32_t decode_move_pack(struct sg_decoder *decoder, const struct sg_operand *list,
                                 unsigned bytes)
{
    uint32_t parts[8];
    if (list->item_count != 2 && list->item_count != 4 && list->item_count != 8) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    unsigned each = bytes / list->item_count;
    enum sg_type type = each == 4 ? SG_TYPE_B32 : each == 2 ? SG_TYPE_B16 : SG_TYPE_B8;
    if (each == 0) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    for (uint32_t i = 0; i < list->item_count; i++) {
        parts[i] = sg_row_source(decoder, &list->items[i], type);
    }
    for (uint32_t count = list->item_count; count > 1; count /= 2, each *= 2) {
        const char *name = each == 4 ? "x_pack_32_64" : each == 2 ? "x_pack_16_32" : "x_pack_8_16";
        for (uint32_t i = 0; i < count / 2; i++) {
            uint32_t row = sg_row_new(decoder, each == 4 ? SG_ROW_64 : SG_ROW_32);
            sg_emit_op(decoder, name, row, parts[2 * i], parts[2 * i + 1], 0);
            parts[i] = row;
        }
    }
    return parts[0];
}

static void decode_move_unpack(struct sg_decoder *decoder, const struct sg_operand *list,
                               uint32_t source, unsigned bytes)
{
    uint32_t parts[8] = {source};
    if (list->item_count != 2 && list->item_count != 4 && list->item_count != 8) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    unsigned each = bytes;
    for (uint32_t count = 1; count < list->item_count; count *= 2, each /= 2) {
        for (uint32_t i = count; i-- > 0;) {
            uint32_t whole = parts[i];
            parts[2 * i] = sg_row_new(decoder, SG_ROW_32);
            parts[2 * i + 1] = sg_row_new(decoder, SG_ROW_32);
            sg_emit_op(decoder,
                       each == 8   ? "x_lo32"
                       : each == 4 ? "x_zext16"
                                   : "x_zext8",
                       parts[2 * i], whole, 0, 0);
            sg_emit_op(decoder,
                       each == 8   ? "x_hi32"
                       : each == 4 ? "x_hi16"
                                   : "x_hi8",
                       parts[2 * i + 1], whole, 0, 0);
        }
    }
    enum sg_type type = each == 4 ? SG_TYPE_B32 : each == 2 ? SG_TYPE_B16 : SG_TYPE_B8;
    if (each == 0) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    for (uint32_t i = 0; i < list->item_count; i++) {
        if (list->items[i].kind != SG_OPERAND_SINK) {
            mov_row(decoder, sg_row_target(decoder, &list->items[i], type), parts[i]);
        }
    }
}

/* A .b128 register, or {low, high} */
static void pair_rows(struct sg_decoder *decoder, const struct sg_operand *operand, bool target,
                      uint32_t rows[2])
{
    if (operand->kind != SG_OPERAND_LIST) {
        sg_row_pair(decoder, operand, rows);
        return;
    }
    if (operand->item_count != 2) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    for (int i = 0; i < 2; i++) {
        rows[i] = target ? sg_row_target(decoder, &operand->items[i], SG_TYPE_B64)
                         : sg_row_source(decoder, &operand->items[i], SG_TYPE_B64);
    }
}

static void mov_pair(struct sg_decoder *decoder)
{
    uint32_t from[2], to[2], low = sg_row_new(decoder, SG_ROW_64);
    pair_rows(decoder, &decoder->at->operands[1], false, from);
    pair_rows(decoder, &decoder->at->operands[0], true, to);
    sg_emit_op(decoder, "x_mov64", low, from[0], 0, 0); /* the high target may be the low source */
    mov_row(decoder, to[1], from[1]);
    mov_row(decoder, to[0], low);
}

/* mov.v4: the target may hold some of the sources. */
static void move_vector(struct sg_decoder *decoder, enum sg_type type, uint32_t count)
{
    const struct sg_operand *to = &decoder->at->operands[0], *from = &decoder->at->operands[1];
    struct sg_operand components[4], whole;
    uint32_t copies[4];
    if (from->kind == SG_OPERAND_SPECIAL && count == 4) { /* "%tid" */
        whole = (struct sg_operand){.kind = SG_OPERAND_LIST, .items = components, .item_count = 4};
        for (uint32_t i = 0; i < 4; i++) {
            components[i] = *from;
            whole.item_count -= sg_special_component(&components[i], i) ? 0 : 1;
        }
        from = &whole;
    }
    if (to->kind != SG_OPERAND_LIST || from->kind != SG_OPERAND_LIST || to->item_count != count ||
        from->item_count != count || type == SG_TYPE_PRED) {
        sg_decode_wrong(decoder, "a vector or a list of its length must stand here");
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = sg_row_source(decoder, &from->items[i], type);
        unsigned kind = sg_row_kind_of(type);
        copies[i] = sg_row_new(decoder, kind);
        sg_emit_op(decoder, kind == SG_ROW_64 ? "x_mov64" : "x_mov32", copies[i], source, 0, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (to->items[i].kind != SG_OPERAND_SINK) {
            mov_row(decoder, sg_row_target(decoder, &to->items[i], type), copies[i]);
        }
    }
}

void sg_decode_mov(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    const struct sg_operand *to = &insn->operands[0], *from = &insn->operands[1];
    enum sg_type type = sg_modifier_type(decoder, 0);
    uint32_t vector = sg_modifier(decoder, "v2") ? 2 : sg_modifier(decoder, "v4") ? 4 : 0;
    bool wide;
    sg_modifiers_check(decoder, "v2 v4", true);
    sg_operands_check(decoder, 2, 2);
    if (vector != 0 && type != SG_TYPE_NONE && insn->modifier_count == 2) {
        move_vector(decoder, type, vector);
        return;
    }
    if (type == SG_TYPE_NONE || insn->modifier_count != 1) {
        sg_decode_unsupported(decoder);
    }
    if (type == SG_TYPE_B128) {
        mov_pair(decoder);
        return;
    }
    sg_handler *clock = sg_special_clock(from, &wide);
    if (clock != NULL) {
        if (wide != (sg_type_bytes(type) == 8)) {
            sg_decode_wrong(decoder, "a special register of another size");
        }
        struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, clock, clock));
        draft->in.d = sg_row_target(decoder, to, type);
        draft->writes = SG_FIELD_D;
    } else if (from->kind == SG_OPERAND_LIST) {
        mov_row(decoder, sg_row_target(decoder, to, type),
                decode_move_pack(decoder, from, sg_type_bytes(type)));
    } else if (to->kind == SG_OPERAND_LIST) {
        decode_move_unpack(decoder, to, sg_row_source(decoder, from, type), sg_type_bytes(type));
    } else {
        uint32_t source = sg_row_source(decoder, from, type);
        mov_row(decoder, sg_row_target(decoder, to, type), source);
    }
}

/* The window of .shared, .shared::cta, .local, .param, .global, .const. */
static bool window_of(struct sg_decoder *decoder, enum sg_window *window, uint64_t *base)
{
    static const struct {
        const char *name;
        enum sg_window window;
        uint64_t base;
    } windows[] = {{"global", SG_IN_GLOBAL, 0},
                   {"const", SG_IN_CONST, 0},
                   {"shared", SG_IN_SHARED, SG_WINDOW_SHARED},
                   {"shared::cta", SG_IN_SHARED, SG_WINDOW_SHARED},
                   {"shared::cluster", SG_IN_SHARED, SG_WINDOW_SHARED},
                   {"local", SG_IN_LOCAL, SG_WINDOW_LOCAL},
                   {"param", SG_IN_PARAM, SG_WINDOW_PARAM},
                   {"param::entry", SG_IN_PARAM, SG_WINDOW_PARAM}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if (sg_modifier(decoder, windows[i].name)) {
            *window = windows[i].window;
            *base = windows[i].base;
            return true;
        }
    }
    return false;
}

void sg_decode_cvta(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    enum sg_window window;
    uint64_t base;
    sg_modifiers_check(
        decoder, "to global const shared shared::cta shared::cluster local param param::entry u64",
        false);
    sg_operands_check(decoder, 2, 2);
    if (!window_of(decoder, &window, &base) || !sg_modifier(decoder, "u64")) {
        sg_decode_unsupported(decoder);
    }
    uint32_t source = sg_row_source(decoder, &insn->operands[1], SG_TYPE_B64);
    uint32_t target = sg_row_target(decoder, &insn->operands[0], SG_TYPE_B64);
    if (base == 0) {
        mov_row(decoder, target, source);
        return;
    }
    uint32_t base_row = sg_row_literal(decoder, base, true);
    sg_guard(decoder, sg_emit_op(decoder, sg_modifier(decoder, "to") ? "sub_u64" : "add_u64",
                                 target, source, base_row, 0));
}

void sg_decode_isspacep(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    enum sg_window window;
    uint64_t base;
    sg_modifiers_check(
        decoder, "global const shared shared::cta shared::cluster local param param::entry", false);
    sg_operands_check(decoder, 2, 2);
    if (!window_of(decoder, &window, &base)) {
        sg_decode_unsupported(decoder);
    }
    uint32_t source = sg_row_source(decoder, &insn->operands[1], SG_TYPE_B64);
    uint32_t target = sg_row_target(decoder, &insn->operands[0], SG_TYPE_PRED);
    struct sg_draft *draft =
        sg_guard(decoder, sg_emit(decoder, sg_misc_isspacep, sg_misc_isspacep));
    draft->in.d = target;
    draft->in.a = source;
    draft->in.imm = window;
    draft->reads = SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}

/* ---- registers that are constants ---- */

static void count_definition(uint8_t *counts, const struct sg_operand *operand)
{
    if (operand->kind == SG_OPERAND_REG && counts[operand->reg] < 2) {
        counts[operand->reg]++;
    }
    for (uint32_t i = 0; i < operand->item_count; i++) {
        count_definition(counts, &operand->items[i]);
    }
    if (operand->pair != NULL) {
        count_definition(counts, operand->pair);
    }
}

static bool is_param_load(const struct sg_ptx_func *func, const struct sg_ptx_insn *insn)
{
    const struct sg_operand *from = &insn->operands[1];
    return sg_text_is(insn->opcode, "ld") && insn->modifier_count == 2 &&
           (sg_text_is(insn->modifiers[0], "param") ||
            sg_text_is(insn->modifiers[0], "param::entry")) &&
           func->entry && from->kind == SG_OPERAND_ADDRESS && from->item_count == 1 &&
           from->items[0].kind == SG_OPERAND_VAR;
}

static bool decode_move_is_entry_param(const struct sg_ptx_func *func, const struct sg_ptx_var *var)
{
    for (uint32_t i = 0; i < func->params.count; i++) {
        if (func->params.items[i] == var) {
            return true;
        }
    }
    return false;
}

/* The constant row of a parameter's bytes, as a register of `kind` reads them; 0: there is none. */
static uint32_t param_row(struct sg_decoder *decoder, const struct sg_ptx_insn *insn, unsigned kind)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    const struct sg_operand *from = &insn->operands[1];
    enum sg_type type = sg_type_of(insn->modifiers[1]);
    const struct sg_ptx_var *var = from->items[0].var;
    uint64_t at = var->offset + from->items[0].value + from->value;
    unsigned bytes = sg_type_bytes(type);
    if (bytes == 0 || bytes > 8 || !decode_move_is_entry_param(func, var) ||
        kind == SG_ROW_PREDICATE || at > func->param_bytes || bytes > func->param_bytes - at ||
        at % bytes || (bytes == 8 && kind != SG_ROW_64)) {
        return 0;
    }
    return sg_row_const(decoder, (struct sg_const){.kind = SG_CONST_PARAM,
                                                   .value = at,
                                                   .bytes = bytes,
                                                   .index = sg_type_is_signed(type),
                                                   .wide = kind == SG_ROW_64});
}

static uint32_t known_row(struct sg_decoder *decoder, const struct sg_ptx_insn *insn)
{
    const struct sg_func_info *info = &decoder->funcs.items[decoder->slot];
    enum sg_type reg_type = info->func->regs.items[insn->operands[0].reg].type;
    unsigned kind = sg_row_kind_of(reg_type);
    if (is_param_load(info->func, insn)) {
        return param_row(decoder, insn, kind);
    }
    bool mov = sg_text_is(insn->opcode, "mov") && insn->modifier_count == 1;
    bool global = sg_text_is(insn->opcode, "cvta") && insn->modifier_count >= 2 &&
                  sg_text_is(insn->modifiers[insn->modifier_count - 2], "global") &&
                  sg_text_is(insn->modifiers[insn->modifier_count - 1], "u64");
    if ((!mov && !global) || insn->operand_count != 2 ||
        !sg_operand_is_constant(decoder, &insn->operands[1])) {
        return 0;
    }
    enum sg_type type = mov ? sg_type_of(insn->modifiers[0]) : SG_TYPE_B64;
    if (type == SG_TYPE_NONE || sg_row_kind_of(type) != kind || kind == SG_ROW_PREDICATE) {
        return 0;
    }
    return sg_row_source(decoder, &insn->operands[1], type);
}

void sg_decode_constants(struct sg_decoder *decoder, uint8_t *skip)
{
    struct sg_func_info *info = &decoder->funcs.items[decoder->slot];
    const struct sg_ptx_func *func = info->func;
    uint8_t *counts = sg_load_alloc(decoder->load, &decoder->load->scratch, func->regs.count + 1);
    for (uint32_t i = 0; i < func->insns.count; i++) {
        count_definition(counts, &func->insns.items[i].operands[0]);
    }
    for (uint32_t i = 0; i < func->insns.count; i++) {
        const struct sg_ptx_insn *insn = &func->insns.items[i];
        const struct sg_operand *to = &insn->operands[0];
        if (insn->guarded || insn->operand_count != 2 || to->kind != SG_OPERAND_REG ||
            to->pair != NULL || counts[to->reg] != 1) {
            continue;
        }
        decoder->at = insn;
        uint32_t row = known_row(decoder, insn);
        if (row) {
            decoder->funcs.items[decoder->slot].rows[to->reg] = row;
            skip[i] = 1;
        }
    }
}
