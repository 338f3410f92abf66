/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the register file: registers, temporaries and constants, and finally their places. */
#include "softgpu/ptx/decode_rows.h"

#include "softgpu/ptx/decode.h"

#include <string.h>

#include "softgpu/exec/warp.h"
#include "softgpu/ptx/decode_call.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_fast.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_slots.h"
#include "softgpu/ptx/decode_special.h"
#include "softgpu/ptx/type.h"

uint32_t sg_row_new(struct sg_decoder *decoder, unsigned kind)
{
    if (decoder->rows.count == 0) {
        SG_LOAD_PUSH(decoder->load, decoder->rows); /* row 0: none */
    }
    struct sg_draft_row *row = SG_LOAD_PUSH(decoder->load, decoder->rows);
    *row = (struct sg_draft_row){.kind = (uint8_t)kind, .func = decoder->slot};
    return decoder->rows.count - 1;
}

unsigned sg_row_kind(const struct sg_decoder *decoder, uint32_t row)
{
    return decoder->rows.items[row].kind;
}

uint32_t sg_row_const(struct sg_decoder *decoder, struct sg_const c)
{
    uint32_t hash = (uint32_t)(c.value ^ c.value >> 32) * 2654435761u ^ c.index * 40503u ^
                    (uint32_t)c.kind * 977u ^ c.wide;
    uint32_t *bucket = &decoder->const_buckets[(hash >> 8 ^ hash) & 255];
    for (uint32_t i = *bucket; i; i = decoder->const_chain.items[i - 1]) {
        const struct sg_const *old = &decoder->consts.items[i - 1];
        if (old->kind == c.kind && old->index == c.index && old->value == c.value &&
            old->bytes == c.bytes && old->wide == c.wide) {
            return old->offset;
        }
    }
    c.offset = sg_row_new(decoder, c.wide ? SG_ROW_64 : SG_ROW_32);
    decoder->rows.items[c.offset].constant = true;
    decoder->rows.items[c.offset].by_lane = sg_const_by_lane(&c);
    *SG_LOAD_PUSH(decoder->load, decoder->consts) = c;
    *SG_LOAD_PUSH(decoder->load, decoder->const_chain) = *bucket;
    *bucket = decoder->consts.count;
    return c.offset;
}

uint32_t sg_row_literal(struct sg_decoder *decoder, uint64_t value, bool wide)
{
    return sg_row_const(decoder, (struct sg_const){.kind = SG_CONST_LITERAL,
                                                   .value = wide ? value : (uint32_t)value,
                                                   .wide = wide});
}

unsigned sg_row_kind_of(enum sg_type type)
{
    return type == SG_TYPE_PRED       ? SG_ROW_PREDICATE
           : sg_type_bytes(type) >= 8 ? SG_ROW_64
                                      : SG_ROW_32;
}

/* A .b128 register is two rows, one after the other. */
uint32_t sg_row_reg(struct sg_decoder *decoder, uint32_t reg)
{
    struct sg_func_info *info = &decoder->funcs.items[decoder->slot];
    if (!info->rows[reg]) {
        enum sg_type type = info->func->regs.items[reg].type;
        uint32_t row = sg_row_new(decoder, sg_row_kind_of(type));
        if (type == SG_TYPE_B128) {
            sg_row_new(decoder, SG_ROW_64);
        }
        info->rows[reg] = row;
    }
    return info->rows[reg];
}

static bool decode_rows_is_pair(const struct sg_decoder *decoder, const struct sg_operand *operand)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    return operand->kind == SG_OPERAND_REG && func->regs.items[operand->reg].type == SG_TYPE_B128;
}

void sg_row_pair(struct sg_decoder *decoder, const struct sg_operand *operand, uint32_t rows[2])
{
    if (!decode_rows_is_pair(decoder, operand)) {
        sg_decode_wrong(decoder, "a .b128 register must stand here");
    }
    rows[0] = sg_row_reg(decoder, operand->reg);
    rows[1] = rows[0] + 1;
}

static uint64_t literal_bits(struct sg_decoder *decoder, const struct sg_operand *operand,
                             enum sg_type type)
{
    uint64_t bits = operand->value;
    float narrow;
    double wide;
    if (operand->kind == SG_OPERAND_F64 && sg_type_bytes(type) == 4) {
        memcpy(&wide, &bits, sizeof wide);
        narrow = (float)wide;
        bits = 0;
        memcpy(&bits, &narrow, sizeof narrow);
    } else if (operand->kind == SG_OPERAND_F32 && sg_type_bytes(type) == 8) {
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        wide = (double)narrow;
        memcpy(&bits, &wide, sizeof wide);
    } else if (operand->kind == SG_OPERAND_INT && sg_type_is_float(type)) {
        sg_decode_wrong(decoder, "an integer constant where a floating-point one must stand");
    }
    return bits;
}

/* Shared memory begins with the system's; places are counted behind it. */
uint64_t sg_shared_reserved(const struct sg_decoder *decoder)
{
    return decoder->module->target.sm >= SG_RESERVED_SM ? SG_RESERVED_BYTES : 0;
}

uint64_t sg_shared_align(const struct sg_decoder *decoder, uint64_t bytes, uint64_t align)
{
    uint64_t reserved = sg_shared_reserved(decoder);
    return ((reserved + bytes + align - 1) & ~(align - 1)) - reserved;
}

/* Assigns places to static shared variables when a kernel first mentions them. */
static uint64_t shared_offset(struct sg_decoder *decoder, struct sg_ptx_var *var)
{
    if (var->kernel_mark != decoder->pass) {
        var->kernel_mark = decoder->pass;
        var->offset = sg_shared_align(decoder, decoder->shared_bytes, var->align);
        decoder->shared_bytes = var->offset + var->bytes;
        if (decoder->shared_bytes > (1u << 24)) {
            sg_load_fail(decoder->load, SG_LOAD_SYNTAX, var->place, "too much shared memory");
        }
    }
    return sg_shared_reserved(decoder) + var->offset;
}

uint32_t sg_row_address(struct sg_decoder *decoder, struct sg_ptx_var *var, uint64_t addend,
                        bool wide)
{
    struct sg_const c = {.kind = SG_CONST_LITERAL, .wide = wide};
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    switch (var->space) {
    case SG_PTX_GLOBAL:
    case SG_PTX_CONST:
        if (var->external) {
            sg_load_fail(decoder->load, SG_LOAD_UNRESOLVED, decoder->at->place,
                         "variable '%.*s' is used but not defined", SG_TEXT_ARGS(var->name));
        }
        c.kind = SG_CONST_VARIABLE;
        c.index = var->index;
        c.value = addend;
        return sg_row_const(decoder, c);
    case SG_PTX_SHARED:
        if (var->external) {
            decoder->dynamic_align =
                var->align > decoder->dynamic_align ? var->align : decoder->dynamic_align;
            c.kind = SG_CONST_DYNAMIC_SHARED;
            c.value = sg_shared_reserved(decoder) + addend;
            return sg_row_const(decoder, c);
        }
        return sg_row_literal(decoder, shared_offset(decoder, var) + addend, wide);
    case SG_PTX_PARAM:
        if (func->entry && var->offset + var->bytes <= func->param_bytes) {
            for (uint32_t i = 0; i < func->params.count; i++) {
                if (func->params.items[i] == var) {
                    return sg_row_literal(decoder, var->offset + addend, wide);
                }
            }
        }
        break;
    case SG_PTX_LOCAL:
        break;
    default:
        sg_decode_unsupported(decoder);
    }
    if (func->entry) { /* a kernel's frame begins at 0 */
        return sg_row_literal(decoder, var->offset + addend, wide);
    }
    uint32_t row = sg_row_new(decoder, wide ? SG_ROW_64 : SG_ROW_32);
    struct sg_draft *draft = sg_emit(decoder, wide ? sg_misc_frame64 : sg_misc_frame32,
                                     wide ? sg_misc_frame64 : sg_misc_frame32);
    draft->in.d = row;
    draft->in.imm = (int64_t)(var->offset + addend);
    draft->writes = SG_FIELD_D;
    return row;
}

bool sg_operand_is_constant(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    const struct sg_func_info *info = &decoder->funcs.items[decoder->slot];
    bool wide;
    switch (operand->kind) {
    case SG_OPERAND_INT:
    case SG_OPERAND_F32:
    case SG_OPERAND_F64:
    case SG_OPERAND_FUNC:
        return true;
    case SG_OPERAND_SPECIAL:
        return sg_special_clock(operand, &wide) == NULL;
    case SG_OPERAND_VAR:
        if (operand->var->reference != SG_REFERENCE_NONE) {
            return false;
        }
        return info->func->entry ||
               (operand->var->space != SG_PTX_LOCAL && operand->var->space != SG_PTX_PARAM);
    case SG_OPERAND_REG:
        return info->rows[operand->reg] && decoder->rows.items[info->rows[operand->reg]].constant;
    default:
        return false;
    }
}

uint32_t sg_row_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type)
{
    unsigned kind = sg_row_kind_of(type);
    switch (operand->kind) {
    case SG_OPERAND_REG: {
        if (operand->negated) {
            sg_decode_wrong(decoder, "'!' where no negation is allowed");
        }
        if (operand->part.len) {
            sg_decode_wrong(decoder, "a part of a register");
        }
        uint32_t row = sg_row_reg(decoder, operand->reg);
        if (sg_row_kind(decoder, row) != kind || decode_rows_is_pair(decoder, operand)) {
            sg_decode_wrong(decoder, "a register of the wrong size");
        }
        return row;
    }
    case SG_OPERAND_INT:
    case SG_OPERAND_F32:
    case SG_OPERAND_F64:
        if (kind == SG_ROW_PREDICATE) { /* 0 is false */
            uint32_t row = sg_row_new(decoder, SG_ROW_PREDICATE);
            uint32_t value = sg_row_literal(decoder, operand->value != 0, false);
            sg_emit_op(decoder, "x_ne_b32", row, value, sg_row_literal(decoder, 0, false), 0);
            return row;
        }
        return sg_row_literal(decoder, literal_bits(decoder, operand, type), kind == SG_ROW_64);
    case SG_OPERAND_SPECIAL:
        if (kind == SG_ROW_PREDICATE) { /* %is_explicit_cluster */
            uint32_t row = sg_row_new(decoder, SG_ROW_PREDICATE);
            sg_emit_op(decoder, "x_ne_b32", row, sg_row_special(decoder, operand, false),
                       sg_row_literal(decoder, 0, false), 0);
            return row;
        }
        return sg_row_special(decoder, operand, kind == SG_ROW_64);
    case SG_OPERAND_VAR:
        if (operand->var->reference != SG_REFERENCE_NONE) {
            if (kind != SG_ROW_64 || operand->value != 0) {
                sg_decode_wrong(decoder, "a texture or surface reference");
            }
            return sg_row_reference(decoder, operand->var);
        }
        return sg_row_address(decoder, operand->var, operand->value, kind == SG_ROW_64);
    case SG_OPERAND_FUNC:
        if (kind != SG_ROW_64) {
            sg_decode_wrong(decoder, "a function's address is 64 bits wide");
        }
        return sg_row_function(decoder, operand);
    default:
        sg_decode_wrong(decoder, "an operand of the wrong kind");
    }
}

uint32_t sg_row_target(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type)
{
    unsigned kind = sg_row_kind_of(type);
    if (operand->kind == SG_OPERAND_SINK) {
        return sg_row_new(decoder, kind);
    }
    if (operand->kind != SG_OPERAND_REG || operand->negated || operand->part.len) {
        sg_decode_wrong(decoder, "the destination must be a register");
    }
    uint32_t row = sg_row_reg(decoder, operand->reg);
    if (sg_row_kind(decoder, row) != kind || decode_rows_is_pair(decoder, operand)) {
        sg_decode_wrong(decoder, "a destination register of the wrong size");
    }
    return row;
}

/* ---- places ---- */

static uint32_t row_bytes(unsigned kind)
{
    return kind == SG_ROW_64 ? 256 : kind == SG_ROW_32 ? 128 : 4;
}

static void check_size(struct sg_decoder *decoder, uint32_t cursor)
{
    if (cursor > (1u << 28)) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, (struct sg_place){0},
                     "kernel '%s' has too many registers", decoder->code->kernel.name);
    }
}

static const unsigned place_order[] = {SG_ROW_64, SG_ROW_32, SG_ROW_PREDICATE};

static void place_constants(struct sg_decoder *decoder, uint32_t *cursor)
{
    for (unsigned k = 0; k < 3; k++) {
        for (uint32_t r = 1; r < decoder->rows.count; r++) {
            struct sg_draft_row *row = &decoder->rows.items[r];
            if (row->kind == place_order[k] && row->constant) {
                row->offset = *cursor;
                *cursor += row_bytes(row->kind);
                check_size(decoder, *cursor);
            }
        }
    }
}

static void place_slots(struct sg_decoder *decoder, uint32_t slot, uint32_t *cursor)
{
    struct sg_func_info *info = &decoder->funcs.items[slot];
    info->save_begin = *cursor;
    for (unsigned k = 0; k < 3; k++) {
        info->slot_base[place_order[k]] = *cursor;
        *cursor += info->slots[place_order[k]] * row_bytes(place_order[k]);
        check_size(decoder, *cursor);
    }
    *cursor = (*cursor + 127) & ~127u;
    info->save_bytes = *cursor - info->save_begin;
    for (uint32_t r = 1; r < decoder->rows.count; r++) {
        struct sg_draft_row *row = &decoder->rows.items[r];
        if (!row->constant && row->func == slot) {
            row->offset = info->slot_base[row->kind] + row->slot * row_bytes(row->kind);
        }
    }
}

struct sg_insn sg_row_patched(const struct sg_decoder *decoder, const struct sg_draft *draft)
{
    struct sg_insn in = draft->in;
    uint32_t *fields[SG_FIELDS] = {&in.d, &in.a, &in.b, &in.c, &in.e, &in.f};
    for (unsigned f = 0; f < SG_FIELDS; f++) {
        if ((draft->reads | draft->writes) >> f & 1) {
            *fields[f] = decoder->rows.items[*fields[f]].offset;
        }
    }
    if (in.guard) {
        in.guard = decoder->rows.items[in.guard].offset;
    }
    return in;
}

static void patch(struct sg_decoder *decoder)
{
    for (uint32_t i = 0; i < decoder->drafts.count; i++) {
        struct sg_draft *draft = &decoder->drafts.items[i];
        if (draft->op != NULL && draft->in.kind == SG_KIND_PLAIN && !draft->in.guard &&
            decoder->rows.items[draft->in.d].momentary) {
            draft->in.masked = draft->in.full;
        }
        draft->in = sg_row_patched(decoder, draft);
    }
    uint32_t *lists = sg_load_alloc(decoder->load, decoder->load->keep,
                                    (decoder->lists.count + 1) * sizeof *lists);
    for (uint32_t i = 0; i < decoder->lists.count; i++) {
        uint32_t row = decoder->lists.items[i].row;
        lists[i] = row ? decoder->rows.items[row].offset : 0;
    }
    decoder->code->lists = lists;
    for (uint32_t i = 0; i < decoder->consts.count; i++) {
        struct sg_const *c = &decoder->consts.items[i];
        c->offset = decoder->rows.items[c->offset].offset;
    }
}

void sg_rows_finish(struct sg_decoder *decoder)
{
    uint32_t cursor = (uint32_t)sizeof(struct sg_warp);
    struct sg_fast_plan *plan = sg_fast_begin(decoder);
    place_constants(decoder, &cursor);
    cursor = (cursor + 127) & ~127u;
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        sg_slots_assign(decoder, s);
        place_slots(decoder, s, &cursor);
    }
    if (plan != NULL) {
        sg_fast_place(decoder, plan, &cursor);
        sg_fast_finish(decoder, plan);
    }
    check_size(decoder, cursor);
    patch(decoder);
    decoder->code->warp_bytes = cursor;
}

/* The rows that a call of a recursive function saves. */
static uint32_t slot_row(const struct sg_func_info *info, unsigned kind, uint32_t slot)
{
    return SG_ROW(info->slot_base[kind] + slot * row_bytes(kind), kind);
}

void sg_rows_table(struct sg_decoder *decoder)
{
    uint32_t total = 0, used = 0;
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        const uint32_t *slots = decoder->funcs.items[s].slots;
        total += slots[0] + slots[1] + slots[2];
    }
    uint32_t *table =
        sg_load_alloc(decoder->load, decoder->load->keep, (total + 1) * sizeof *table);
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        struct sg_func_info *info = &decoder->funcs.items[s];
        info->first_row = used;
        for (unsigned k = 0; info->recursive && k < 3; k++) {
            for (uint32_t i = 0; i < info->slots[k]; i++) {
                table[used++] = slot_row(info, k, i);
            }
        }
        info->row_count = used - info->first_row;
    }
    decoder->code->rows = table;
}

/* In 4-byte registers. The number is limited so that a block of the permitted size can run. */
uint32_t sg_rows_registers(const struct sg_decoder *decoder, uint32_t max_threads)
{
    uint32_t kernel = 0, callee = 0;
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        const uint32_t *slots = decoder->funcs.items[s].slots;
        uint32_t need = 2 * slots[SG_ROW_64] + slots[SG_ROW_32];
        if (s == 0) {
            kernel = need;
        } else {
            callee = need > callee ? need : callee;
        }
    }
    uint32_t most = 65536 / max_threads < 255 ? 65536 / max_threads : 255;
    uint32_t all = kernel + callee;
    return all == 0 ? 1 : all > most ? most : all;
}
