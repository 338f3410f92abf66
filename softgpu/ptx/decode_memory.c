/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. */
#include "softgpu/ptx/decode_memory.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_async.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

#include <string.h>

struct memory {
    enum sg_mem_space space;
    bool constant_space; /* .const: global memory that kernels do not write */
    bool param;          /* .param */
    bool of_function;    /* .param: by a register it is memory of the function's frame */
    bool cluster;        /* .shared::cluster: it may belong to another block */
    enum sg_type type;
    unsigned count; /* elements */
    bool wide;      /* .b128: a register of two rows */
};

static const char order_words[] =
    "weak relaxed acquire release acq_rel volatile mmio cta cluster gpu sys "
    "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
    "L1::no_allocate L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first "
    "L2::cache_hint v2 v4 global const shared shared::cta shared::cluster local param param::entry "
    "param::func";

static struct memory modifiers(struct sg_decoder *decoder)
{
    struct memory m = {.space = SG_MEM_GENERIC, .count = 1};
    sg_modifiers_check(decoder, order_words, true);
    m.type = sg_modifier_type(decoder, 0);
    m.count = sg_modifier(decoder, "v2") ? 2 : sg_modifier(decoder, "v4") ? 4 : 1;
    if (sg_modifier(decoder, "global")) {
        m.space = SG_MEM_GLOBAL;
    } else if (sg_modifier(decoder, "const")) {
        m.space = SG_MEM_GLOBAL;
        m.constant_space = true;
    } else if (sg_modifier(decoder, "shared") || sg_modifier(decoder, "shared::cta")) {
        m.space = SG_MEM_SHARED;
    } else if (sg_modifier(decoder, "shared::cluster")) {
        m.cluster = true;
    } else if (sg_modifier(decoder, "local")) {
        m.space = SG_MEM_LOCAL;
    } else if (sg_modifier(decoder, "param") || sg_modifier(decoder, "param::entry") ||
               sg_modifier(decoder, "param::func")) {
        m.space = SG_MEM_PARAM;
        m.param = true;
        m.of_function = sg_modifier(decoder, "param::func") ||
                        (!sg_modifier(decoder, "param::entry") &&
                         !decoder->funcs.items[decoder->slot].func->entry);
    }
    if (m.type == SG_TYPE_NONE || sg_modifier_type(decoder, 1) != SG_TYPE_NONE ||
        m.type == SG_TYPE_PRED || m.type == SG_TYPE_BF16 ||
        (m.type == SG_TYPE_B128 && m.count != 1)) {
        sg_decode_unsupported(decoder);
    }
    if (m.type == SG_TYPE_B128) { /* two halves, aligned together */
        m.count = 2;
        m.wide = true;
        m.type = SG_TYPE_B64;
    }
    return m;
}

enum sg_mem_type sg_mem_type(struct sg_decoder *decoder, enum sg_type type, unsigned kind)
{
    bool is_signed = sg_type_is_signed(type), wide = kind == SG_ROW_64;
    if (kind == SG_ROW_PREDICATE || (sg_type_bytes(type) == 8 && !wide)) {
        sg_decode_wrong(decoder, "a register of the wrong size");
    }
    switch (sg_type_bytes(type)) {
    case 1:
        return wide ? (is_signed ? SG_MEM_s8w : SG_MEM_u8w) : is_signed ? SG_MEM_s8 : SG_MEM_u8;
    case 2:
        return wide ? (is_signed ? SG_MEM_s16w : SG_MEM_u16w) : is_signed ? SG_MEM_s16 : SG_MEM_u16;
    case 4:
        return !wide ? SG_MEM_b32 : is_signed ? SG_MEM_s32w : SG_MEM_u32w;
    default:
        return SG_MEM_b64;
    }
}

static bool decode_memory_is_entry_param(const struct sg_decoder *decoder,
                                         const struct sg_ptx_var *var)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    for (uint32_t i = 0; func->entry && i < func->params.count; i++) {
        if (func->params.items[i] == var) {
            return true;
        }
    }
    return false;
}

/* A register with an address, as a row of the size that `space` needs. */
static uint32_t address_reg(struct sg_decoder *decoder, const struct sg_operand *base,
                            enum sg_mem_space space)
{
    uint32_t row = sg_row_reg(decoder, base->reg);
    unsigned kind = sg_row_kind(decoder, row);
    uint32_t other;
    if (kind == SG_ROW_PREDICATE) {
        sg_decode_wrong(decoder, "a predicate as address");
    }
    if (space == SG_MEM_SHARED && kind == SG_ROW_64) { /* a large address stays out of range */
        uint32_t clamped = sg_row_new(decoder, SG_ROW_64);
        other = sg_row_new(decoder, SG_ROW_32);
        sg_emit_op(decoder, "x_sat_u32_u64", clamped, row, 0, 0);
        sg_emit_op(decoder, "x_lo32", other, clamped, 0, 0);
        return other;
    }
    if (space != SG_MEM_SHARED && kind == SG_ROW_32) {
        other = sg_row_new(decoder, SG_ROW_64);
        sg_emit_op(decoder, "x_zext32_64", other, row, 0, 0);
        return other;
    }
    return row;
}

uint32_t sg_row_place(struct sg_decoder *decoder, const struct sg_operand *operand,
                      enum sg_mem_space *space, int64_t *offset)
{
    if (operand->kind != SG_OPERAND_ADDRESS || operand->item_count > 1) {
        sg_decode_wrong(decoder, "an address in brackets must stand here");
    }
    *offset = (int64_t)operand->value;
    bool wide = *space != SG_MEM_SHARED;
    if (operand->item_count == 0) {
        *offset = 0;
        return sg_row_literal(decoder, operand->value, wide);
    }
    const struct sg_operand *base = &operand->items[0];
    if (base->kind == SG_OPERAND_REG) {
        return address_reg(decoder, base, *space);
    }
    if (base->kind != SG_OPERAND_VAR) {
        sg_decode_wrong(decoder, "an address must be a register or a variable");
    }
    struct sg_ptx_var *var = base->var;
    *offset += (int64_t)base->value;
    static const enum sg_mem_space spaces[] = {[SG_PTX_GLOBAL] = SG_MEM_GLOBAL,
                                               [SG_PTX_CONST] = SG_MEM_GLOBAL,
                                               [SG_PTX_SHARED] = SG_MEM_SHARED,
                                               [SG_PTX_LOCAL] = SG_MEM_LOCAL,
                                               [SG_PTX_PARAM] = SG_MEM_PARAM};
    if (*space != SG_MEM_GENERIC && spaces[var->space] != *space) {
        sg_decode_wrong(decoder, "a variable of another space");
    }
    *space = spaces[var->space];
    if (var->space == SG_PTX_LOCAL ||
        (var->space == SG_PTX_PARAM && !decode_memory_is_entry_param(decoder, var))) {
        *space = SG_MEM_FRAME;
        *offset += (int64_t)var->offset;
        return 0;
    }
    return sg_row_address(decoder, var, 0, *space != SG_MEM_SHARED);
}

/* The address plus `offset`, in the window of its space. */
static uint32_t in_window(struct sg_decoder *decoder, uint32_t row, uint64_t offset)
{
    if (offset == 0) {
        return row;
    }
    uint32_t sum = sg_row_new(decoder, SG_ROW_64);
    sg_emit_op(decoder, "add_u64", sum, row, sg_row_literal(decoder, offset, true), 0);
    return sum;
}

uint32_t sg_row_generic(struct sg_decoder *decoder, const struct sg_operand *operand,
                        enum sg_mem_space space)
{
    int64_t offset;
    uint32_t row = sg_row_place(decoder, operand, &space, &offset);
    if (space == SG_MEM_PARAM || space == SG_MEM_LOCAL || space == SG_MEM_FRAME) {
        sg_decode_unsupported(decoder);
    }
    if (space == SG_MEM_SHARED) {
        uint32_t wide = sg_row_new(decoder, SG_ROW_64);
        sg_emit_op(decoder, "x_zext32_64", wide, row, 0, 0);
        return in_window(decoder, wide, SG_WINDOW_SHARED + (uint64_t)offset);
    }
    return in_window(decoder, row, (uint64_t)offset);
}

static uint32_t access_address(struct sg_decoder *decoder, const struct sg_operand *operand,
                               struct memory *m, int64_t *offset)
{
    if (m->cluster) {
        *offset = 0;
        return sg_row_generic(decoder, operand, SG_MEM_SHARED);
    }
    if (m->of_function && operand->kind == SG_OPERAND_ADDRESS && operand->item_count == 1 &&
        operand->items[0].kind == SG_OPERAND_REG) {
        m->space = SG_MEM_LOCAL;
    }
    return sg_row_place(decoder, operand, &m->space, offset);
}

/* The elements of {a, b, c, d}, or the single operand. */
static const struct sg_operand *
decode_memory_elements(struct sg_decoder *decoder, const struct sg_operand *operand, unsigned count)
{
    if (count == 1 && operand->kind != SG_OPERAND_LIST) {
        return operand;
    }
    if (operand->kind != SG_OPERAND_LIST || operand->item_count != count) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    return operand->items;
}

static void set_elements(struct sg_insn *in, const uint32_t rows[4])
{
    in->d = rows[0];
    in->b = rows[1];
    in->c = rows[2];
    in->e = rows[3];
}

static uint8_t element_fields(const uint32_t rows[4])
{
    return (uint8_t)((rows[0] ? SG_FIELD_D : 0) | (rows[1] ? SG_FIELD_B : 0) |
                     (rows[2] ? SG_FIELD_C : 0) | (rows[3] ? SG_FIELD_E : 0));
}

static bool is_f16(enum sg_type type)
{
    return type == SG_TYPE_F16 || type == SG_TYPE_F16X2;
}

static uint32_t any_register(struct sg_decoder *decoder, const struct sg_operand *operand)
{
    if (operand->kind != SG_OPERAND_REG) {
        sg_decode_wrong(decoder, "a register must stand here");
    }
    return sg_row_reg(decoder, operand->reg);
}

/* A load or store of the elements in `rows`, whose registers are of `kind`; the caller fills in the
 * address. */
static struct sg_draft *access_emit(struct sg_decoder *decoder, const struct memory *m, bool store,
                                    const uint32_t rows[4], unsigned kind)
{
    if (is_f16(m->type)) {
        sg_decode_unsupported(decoder);
    }
    enum sg_mem_type type = sg_mem_type(decoder, m->type, kind);
    const struct sg_mem_ops *ops = decoder->isa->mem;
    sg_handler *handler = store ? ops->store[m->space][type] : ops->load[m->space][type];
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, handler, handler));
    draft->mem.access = true;
    draft->mem.store = store;
    draft->mem.space = (uint8_t)m->space;
    draft->mem.type = (uint8_t)type;
    set_elements(&draft->in, rows);
    draft->in.mode = (uint8_t)m->count;
    return draft;
}

/* Executed for all lanes, even with a guard, since no other instruction uses the row. */
uint32_t sg_row_reference(struct sg_decoder *decoder, struct sg_ptx_var *var)
{
    const struct memory m = {.space = SG_MEM_GLOBAL, .type = SG_TYPE_B64, .count = 1};
    const uint32_t rows[4] = {sg_row_new(decoder, SG_ROW_64)};
    const uint32_t at = sg_row_address(decoder, var, 0, true);
    struct sg_draft *draft = access_emit(decoder, &m, false, rows, SG_ROW_64);
    draft->in.guard = 0;
    draft->in.guard_negated = false;
    draft->in.a = at;
    draft->reads = SG_FIELD_A;
    draft->writes = element_fields(rows);
    return rows[0];
}

void sg_decode_load(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    struct memory m = modifiers(decoder);
    uint32_t rows[4] = {0};
    unsigned kind = SG_ROW_32;
    int64_t offset;
    unsigned hint =
        sg_modifier(decoder, "L2::cache_hint"); /* the policy is ignored: nothing is cached */
    sg_operands_check(decoder, 2 + hint, 2 + hint);
    uint32_t at = access_address(decoder, &insn->operands[1], &m, &offset);
    bool any = m.wide && insn->operands[0].kind != SG_OPERAND_SINK;
    if (any) {
        sg_row_pair(decoder, &insn->operands[0], rows);
        kind = SG_ROW_64;
    }
    const struct sg_operand *to =
        m.wide ? NULL : decode_memory_elements(decoder, &insn->operands[0], m.count);
    for (unsigned i = 0; to != NULL && i < m.count; i++) {
        if (to[i].kind == SG_OPERAND_SINK) {
            continue;
        }
        rows[i] = any_register(decoder, &to[i]);
        if (any && sg_row_kind(decoder, rows[i]) != kind) {
            sg_decode_unsupported(decoder);
        }
        kind = sg_row_kind(decoder, rows[i]);
        any = true;
    }
    if (!any) {
        kind = sg_row_kind_of(m.type);
    }
    struct sg_draft *draft = access_emit(decoder, &m, false, rows, kind);
    draft->in.a = at;
    draft->in.imm = offset;
    draft->reads = at ? SG_FIELD_A : 0;
    draft->writes = element_fields(rows);
}

void sg_decode_store(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_modifier(decoder, "async")) {
        sg_decode_store_async(decoder);
        return;
    }
    struct memory m = modifiers(decoder);
    uint32_t rows[4] = {0};
    unsigned kind = SG_ROW_32;
    int64_t offset;
    unsigned hint = sg_modifier(decoder, "L2::cache_hint");
    sg_operands_check(decoder, 2 + hint, 2 + hint);
    if (m.constant_space) {
        sg_decode_wrong(decoder, "constant memory cannot be written");
    }
    uint32_t at = access_address(decoder, &insn->operands[0], &m, &offset);
    if (m.space == SG_MEM_PARAM) {
        sg_decode_wrong(decoder, "a kernel's parameters cannot be written");
    }
    if (m.wide) {
        sg_row_pair(decoder, &insn->operands[1], rows);
        kind = SG_ROW_64;
    }
    const struct sg_operand *from =
        m.wide ? NULL : decode_memory_elements(decoder, &insn->operands[1], m.count);
    for (unsigned i = 0; from != NULL && i < m.count; i++) {
        rows[i] = from[i].kind == SG_OPERAND_REG ? any_register(decoder, &from[i])
                                                 : sg_row_source(decoder, &from[i], m.type);
        if (i && sg_row_kind(decoder, rows[i]) != kind) {
            sg_decode_unsupported(decoder);
        }
        kind = sg_row_kind(decoder, rows[i]);
    }
    struct sg_draft *draft = access_emit(decoder, &m, true, rows, kind);
    draft->in.a = at;
    draft->in.imm = offset;
    draft->reads = (uint8_t)(element_fields(rows) | (at ? SG_FIELD_A : 0));
}
