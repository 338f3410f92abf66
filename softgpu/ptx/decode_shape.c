/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rows that are evenly spaced within each half-warp as long as the warp has not diverged:
 * starting from the constants, each operation determines the shape of its result. Definitions are
 * considered in any order: a row is even if all of them give it the same stride.
 *
 * Blocks must have a width that is a multiple of 16, so that %tid.x counts up within a half-warp
 * and %tid.y and %tid.z stay the same. Only such blocks run the fast instructions
 * (sg_grid_prepare). */
#include "softgpu/ptx/decode_shape.h"

#include <string.h>

#include "softgpu/ptx/decode_fast.h"

#define STRIDE_MAX (INT64_C(1) << 26) /* 16 of them fit into 31 bits */

static const struct sg_shape unseen = {SG_SHAPE_UNSEEN, 0}, uneven = {SG_SHAPE_UNEVEN, 0};

static struct sg_shape even(int64_t stride)
{
    return stride > -STRIDE_MAX && stride < STRIDE_MAX
               ? (struct sg_shape){SG_SHAPE_EVEN, (int32_t)stride}
               : uneven;
}

enum sg_shape_rule sg_shape_rule_of(const struct sg_op *op, bool *is_signed)
{
    static const struct {
        const char *name;
        enum sg_shape_rule rule;
        bool is_signed;
    } rules[] = {
        {"add_u32", SG_RULE_ADD, false},          {"add_u64", SG_RULE_ADD, false},
        {"sub_u32", SG_RULE_SUB, false},          {"sub_u64", SG_RULE_SUB, false},
        {"mul_lo_u32", SG_RULE_MUL, false},       {"mul_lo_u64", SG_RULE_MUL, false},
        {"mad_lo_u32", SG_RULE_MAD, false},       {"mad_lo_u64", SG_RULE_MAD, false},
        {"shl_b32", SG_RULE_SHL, false},          {"shl_b64", SG_RULE_SHL, false},
        {"x_mov32", SG_RULE_MOV, false},          {"x_mov64", SG_RULE_MOV, false},
        {"x_sext32_64", SG_RULE_EXTEND, true},    {"x_zext32_64", SG_RULE_EXTEND, false},
        {"mul_wide_s32", SG_RULE_MUL_WIDE, true}, {"mul_wide_u32", SG_RULE_MUL_WIDE, false},
        {"mad_wide_s32", SG_RULE_MAD_WIDE, true}, {"mad_wide_u32", SG_RULE_MAD_WIDE, false},
    };
    *is_signed = false;
    if (op == NULL || op->pair == NULL) {
        return SG_RULE_NONE;
    }
    for (int i = 1; i < 4; i++) {
        if (op->types[i] == SG_OP_p) {
            return SG_RULE_NONE;
        }
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(op->name, rules[i].name) == 0) {
            *is_signed = rules[i].is_signed;
            return rules[i].rule;
        }
    }
    return SG_RULE_SAME;
}

/* ---- what an operation makes of its operands ---- */

/* The value of a literal row as a signed factor. */
static bool literal(const struct sg_decoder *decoder, const struct sg_fast_plan *plan, uint32_t row,
                    bool is_signed, int64_t *value)
{
    uint32_t known = plan->rows[row].known;
    const struct sg_const *c = known ? &decoder->consts.items[known - 1] : NULL;
    if (c == NULL || c->kind != SG_CONST_LITERAL) {
        return false;
    }
    *value = c->wide     ? (int64_t)c->value
             : is_signed ? (int64_t)(int32_t)c->value
                         : (int64_t)(uint32_t)c->value;
    return *value > -STRIDE_MAX && *value < STRIDE_MAX;
}

/* `is_signed`: how literals are read. Modulo 2^32 and 2^64 it does not matter; signed gives small
 * factors for negative ones. */
static struct sg_shape product(const struct sg_decoder *decoder, const struct sg_fast_plan *plan,
                               uint32_t a, uint32_t b, bool is_signed)
{
    int64_t factor;
    struct sg_shape x = plan->rows[a].shape, y = plan->rows[b].shape;
    if (x.stride == 0 && y.stride == 0) {
        return even(0);
    }
    if (literal(decoder, plan, b, is_signed, &factor)) {
        return even(x.stride * factor);
    }
    return literal(decoder, plan, a, is_signed, &factor) ? even(y.stride * factor) : uneven;
}

static struct sg_shape shifted(const struct sg_decoder *decoder, const struct sg_fast_plan *plan,
                               const struct sg_insn *in)
{
    int64_t by;
    struct sg_shape x = plan->rows[in->a].shape;
    if (x.stride == 0 && plan->rows[in->b].shape.stride == 0) {
        return even(0);
    }
    bool known = literal(decoder, plan, in->b, false, &by) && by >= 0 && by < 26;
    return known ? even((int64_t)x.stride * (INT64_C(1) << by)) : uneven;
}

static struct sg_shape sum(struct sg_shape x, struct sg_shape y)
{
    return x.kind == SG_SHAPE_EVEN && y.kind == SG_SHAPE_EVEN ? even((int64_t)x.stride + y.stride)
                                                              : uneven;
}

static struct sg_shape all_the_same(const struct sg_fast_plan *plan, const uint32_t *operands)
{
    for (int i = 0; i < 4; i++) {
        if (operands[i] && plan->rows[operands[i]].shape.stride != 0) {
            return uneven;
        }
    }
    return even(0);
}

static struct sg_shape result(const struct sg_decoder *decoder, const struct sg_fast_plan *plan,
                              const struct sg_draft *draft, enum sg_shape_rule rule)
{
    const struct sg_insn *in = &draft->in;
    const uint32_t operands[4] = {
        draft->reads & SG_FIELD_A ? in->a : 0, draft->reads & SG_FIELD_B ? in->b : 0,
        draft->reads & SG_FIELD_C ? in->c : 0, draft->reads & SG_FIELD_E ? in->e : 0};
    bool is_signed;
    for (int i = 0; i < 4; i++) {
        enum sg_shape_kind kind = operands[i] ? plan->rows[operands[i]].shape.kind : SG_SHAPE_EVEN;
        if (kind != SG_SHAPE_EVEN) {
            return kind == SG_SHAPE_UNSEEN ? unseen : uneven;
        }
    }
    const struct sg_shape a = plan->rows[in->a].shape;
    switch (rule) {
    case SG_RULE_ADD:
        return sum(a, plan->rows[in->b].shape);
    case SG_RULE_SUB:
        return even((int64_t)a.stride - plan->rows[in->b].shape.stride);
    case SG_RULE_MUL:
        return product(decoder, plan, in->a, in->b, true);
    case SG_RULE_MAD:
        return sum(product(decoder, plan, in->a, in->b, true), plan->rows[in->c].shape);
    case SG_RULE_SHL:
        return shifted(decoder, plan, in);
    case SG_RULE_MOV:
    case SG_RULE_EXTEND:
        return a;
    case SG_RULE_MUL_WIDE:
        sg_shape_rule_of(draft->op, &is_signed);
        return product(decoder, plan, in->a, in->b, is_signed);
    case SG_RULE_MAD_WIDE:
        sg_shape_rule_of(draft->op, &is_signed);
        return sum(product(decoder, plan, in->a, in->b, is_signed), plan->rows[in->c].shape);
    default:
        return all_the_same(plan, operands);
    }
}

uint32_t sg_shape_checked(const struct sg_fast_plan *plan, const struct sg_draft *draft,
                          enum sg_shape_rule rule)
{
    bool wide = rule == SG_RULE_MUL_WIDE || rule == SG_RULE_MAD_WIDE;
    if (rule != SG_RULE_EXTEND && !wide) {
        return 0;
    }
    if (plan->rows[draft->in.a].shape.stride != 0) {
        return draft->in.a;
    }
    return wide && plan->rows[draft->in.b].shape.stride != 0 ? draft->in.b : 0;
}

/* ---- all rows ---- */

static struct sg_shape constant_shape(const struct sg_const *c)
{
    if (c->kind != SG_CONST_SPECIAL) {
        return even(0);
    }
    if (c->index == SG_SPECIAL_TID_X || c->index == SG_SPECIAL_LANEID) {
        return even(1);
    }
    return c->index >= SG_SPECIAL_LANEMASK_EQ && c->index <= SG_SPECIAL_LANEMASK_GT ? uneven
                                                                                    : even(0);
}

static bool meet(struct sg_shape *shape, struct sg_shape more)
{
    if (more.kind == SG_SHAPE_UNSEEN || shape->kind == SG_SHAPE_UNEVEN) {
        return false;
    }
    struct sg_shape met = shape->kind == SG_SHAPE_UNSEEN ? more
                          : more.kind == SG_SHAPE_UNEVEN ? uneven
                          : more.stride != shape->stride ? uneven
                                                         : *shape;
    bool changed = met.kind != shape->kind;
    *shape = met;
    return changed;
}

static bool define(struct sg_decoder *decoder, struct sg_fast_plan *plan, uint32_t at)
{
    const struct sg_draft *draft = &decoder->drafts.items[at];
    enum sg_shape_rule rule = (enum sg_shape_rule)plan->rules[at];
    if (rule != SG_RULE_NONE) {
        return meet(&plan->rows[draft->in.d].shape, result(decoder, plan, draft, rule));
    }
    const uint32_t fields[SG_FIELDS] = {draft->in.d, draft->in.a, draft->in.b,
                                        draft->in.c, draft->in.e, draft->in.f};
    bool changed = false;
    for (unsigned f = 0; f < SG_FIELDS; f++) {
        if (draft->writes >> f & 1) {
            changed |= meet(&plan->rows[fields[f]].shape, uneven);
        }
    }
    for (uint32_t i = 0; i < draft->list_count; i++) {
        const struct sg_list_row *row = &decoder->lists.items[draft->list + i];
        if (row->use & SG_LIST_WRITE) {
            changed |= meet(&plan->rows[row->row].shape, uneven);
        }
    }
    return changed;
}

void sg_shapes_find(struct sg_decoder *decoder, struct sg_fast_plan *plan)
{
    for (uint32_t i = 0; i < decoder->consts.count; i++) {
        const struct sg_const *c = &decoder->consts.items[i];
        plan->rows[c->offset].known = i + 1; /* the offset is still a row number */
        plan->rows[c->offset].shape = constant_shape(c);
    }
    for (uint32_t i = 0; i < decoder->drafts.count; i++) {
        const struct sg_draft *draft = &decoder->drafts.items[i];
        bool is_signed, simple = draft->in.kind == SG_KIND_PLAIN && !draft->in.guard &&
                                 draft->writes == SG_FIELD_D && !draft->list_count;
        plan->rules[i] = (uint8_t)(simple ? sg_shape_rule_of(draft->op, &is_signed) : SG_RULE_NONE);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < decoder->drafts.count; i++) {
            changed |= define(decoder, plan, i);
        }
    }
}
