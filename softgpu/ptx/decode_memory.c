/* Loads, stores and atomics. */
#include "softgpu/ptx/decode.h"

#include <stdio.h>
#include <string.h>

struct memory {
    enum sg_mem_space space;
    bool constant_space; /* .const: global memory that is not written */
    bool param;          /* .param */
    enum sg_type type;
    unsigned count; /* elements */
};

static const char order_words[] =
    "weak relaxed acquire release acq_rel volatile mmio cta cluster gpu sys "
    "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
    "L1::no_allocate L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first "
    "v2 v4 global const shared shared::cta local param param::entry param::func";

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
    } else if (sg_modifier(decoder, "local")) {
        m.space = SG_MEM_LOCAL;
    } else if (sg_modifier(decoder, "param") || sg_modifier(decoder, "param::entry") ||
               sg_modifier(decoder, "param::func")) {
        m.space = SG_MEM_PARAM;
        m.param = true;
    }
    if (m.type == SG_TYPE_NONE || sg_modifier_type(decoder, 1) != SG_TYPE_NONE ||
        m.type == SG_TYPE_B128 || m.type == SG_TYPE_PRED || m.type == SG_TYPE_BF16) {
        sg_decode_unsupported(decoder);
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

static bool is_entry_param(const struct sg_decoder *decoder, const struct sg_ptx_var *var)
{
    const struct sg_ptx_func *func = decoder->funcs.items[decoder->slot].func;
    for (uint32_t i = 0; func->entry && i < func->params.count; i++) {
        if (func->params.items[i] == var) {
            return true;
        }
    }
    return false;
}

/* A register that holds an address, as a row of the size that `space` wants */
static uint32_t address_reg(struct sg_decoder *decoder, const struct sg_operand *base,
                            enum sg_mem_space space)
{
    uint32_t row = sg_row_reg(decoder, base->reg);
    unsigned kind = sg_row_kind(decoder, row);
    uint32_t other;
    if (kind == SG_ROW_PREDICATE) {
        sg_decode_wrong(decoder, "a predicate as address");
    }
    if (space == SG_MEM_SHARED && kind == SG_ROW_64) { /* far away stays out of range */
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

/* Row and constant offset of the address; the space becomes FRAME where there is no row. */
static uint32_t address(struct sg_decoder *decoder, const struct sg_operand *operand,
                        struct memory *m, int64_t *offset)
{
    if (operand->kind != SG_OPERAND_ADDRESS || operand->item_count > 1) {
        sg_decode_wrong(decoder, "an address in brackets must stand here");
    }
    *offset = (int64_t)operand->value;
    bool wide = m->space != SG_MEM_SHARED;
    if (operand->item_count == 0) {
        *offset = 0;
        return sg_row_literal(decoder, operand->value, wide);
    }
    const struct sg_operand *base = &operand->items[0];
    if (base->kind == SG_OPERAND_REG) {
        return address_reg(decoder, base, m->space);
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
    if (m->space != SG_MEM_GENERIC && spaces[var->space] != m->space) {
        sg_decode_wrong(decoder, "a variable of another space");
    }
    m->space = spaces[var->space];
    if (var->space == SG_PTX_LOCAL ||
        (var->space == SG_PTX_PARAM && !is_entry_param(decoder, var))) {
        m->space = SG_MEM_FRAME;
        *offset += (int64_t)var->offset;
        return 0;
    }
    return sg_row_address(decoder, var, 0, m->space != SG_MEM_SHARED);
}

/* The address plus `offset` in the window of its space */
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
    struct memory m = {.space = space};
    int64_t offset;
    uint32_t row = address(decoder, operand, &m, &offset);
    if (m.space == SG_MEM_PARAM || m.space == SG_MEM_LOCAL || m.space == SG_MEM_FRAME) {
        sg_decode_unsupported(decoder);
    }
    if (m.space == SG_MEM_SHARED) {
        uint32_t wide = sg_row_new(decoder, SG_ROW_64);
        sg_emit_op(decoder, "x_zext32_64", wide, row, 0, 0);
        return in_window(decoder, wide, SG_WINDOW_SHARED + (uint64_t)offset);
    }
    return in_window(decoder, row, (uint64_t)offset);
}

/* The elements of {a, b, c, d}, or the single operand */
static const struct sg_operand *elements(struct sg_decoder *decoder,
                                         const struct sg_operand *operand, unsigned count)
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

/* A load or store of the elements in `rows`, whose registers are of `kind`; where, is the caller's
 * to fill in. */
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

void sg_decode_load(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    struct memory m = modifiers(decoder);
    uint32_t rows[4] = {0};
    unsigned kind = SG_ROW_32;
    int64_t offset;
    sg_operands_check(decoder, 2, 2);
    uint32_t at = address(decoder, &insn->operands[1], &m, &offset);
    const struct sg_operand *to = elements(decoder, &insn->operands[0], m.count);
    bool any = false;
    for (unsigned i = 0; i < m.count; i++) {
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
    struct memory m = modifiers(decoder);
    uint32_t rows[4] = {0};
    unsigned kind = SG_ROW_32;
    int64_t offset;
    sg_operands_check(decoder, 2, 2);
    if (m.constant_space) {
        sg_decode_wrong(decoder, "constant memory cannot be written");
    }
    uint32_t at = address(decoder, &insn->operands[0], &m, &offset);
    if (m.space == SG_MEM_PARAM) {
        sg_decode_wrong(decoder, "a kernel's parameters cannot be written");
    }
    const struct sg_operand *from = elements(decoder, &insn->operands[1], m.count);
    for (unsigned i = 0; i < m.count; i++) {
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

static const char *atomic_op(struct sg_decoder *decoder)
{
    static const char *const ops[] = {"add", "min", "max", "inc",  "dec",
                                      "and", "or",  "xor", "exch", "cas"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (sg_modifier(decoder, ops[i])) {
            return ops[i];
        }
    }
    sg_decode_unsupported(decoder);
}

void sg_decode_atom(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    bool red = sg_text_is(insn->opcode, "red");
    uint32_t first = red ? 0 : 1; /* operand: the address */
    sg_modifiers_check(decoder,
                       "relaxed acquire release acq_rel cta cluster gpu sys global shared "
                       "shared::cta add min max inc dec and or xor exch cas",
                       true);
    const char *op = atomic_op(decoder);
    bool cas = strcmp(op, "cas") == 0;
    struct memory m = {.space = SG_MEM_GENERIC, .type = sg_modifier_type(decoder, 0), .count = 1};
    if (sg_modifier(decoder, "global")) {
        m.space = SG_MEM_GLOBAL;
    } else if (sg_modifier(decoder, "shared") || sg_modifier(decoder, "shared::cta")) {
        m.space = SG_MEM_SHARED;
    }
    char name[32];
    struct sg_text type = insn->modifiers[insn->modifier_count ? insn->modifier_count - 1 : 0];
    if (m.type == SG_TYPE_NONE || (cas && red)) {
        sg_decode_unsupported(decoder);
    }
    snprintf(name, sizeof name, "%s_%.*s", op, SG_TEXT_ARGS(type));
    sg_handler *handler = sg_atomic_find(name);
    if (!handler) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, first + 2 + cas, first + 2 + cas);
    int64_t offset;
    uint32_t at = address(decoder, &insn->operands[first], &m, &offset);
    if (m.space == SG_MEM_FRAME || m.space == SG_MEM_PARAM || m.space == SG_MEM_LOCAL) {
        sg_decode_unsupported(decoder);
    }
    uint32_t value = sg_row_source(decoder, &insn->operands[first + 1], m.type);
    uint32_t second = cas ? sg_row_source(decoder, &insn->operands[first + 2], m.type) : 0;
    bool wanted = !red && insn->operands[0].kind != SG_OPERAND_SINK;
    uint32_t target = wanted ? sg_row_target(decoder, &insn->operands[0], m.type) : 0;
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, handler, handler));
    draft->in.d = target;
    draft->in.a = at;
    draft->in.b = value;
    draft->in.c = second;
    draft->in.mode = (uint8_t)m.space;
    draft->in.imm = offset;
    draft->reads = (uint8_t)(SG_FIELD_A | SG_FIELD_B | (cas ? SG_FIELD_C : 0));
    draft->writes = wanted ? SG_FIELD_D : 0;
}
