/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a kernel for undiverged warps (exec/fast.h), made of those for all warps:
 * operations with evenly spaced operands work on pairs. */
#include "softgpu/ptx/decode_fast.h"

#include "softgpu/exec/fast_pair.h"
#include "softgpu/ptx/decode_fuse.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/decode_shape.h"

#include <string.h>

#define PAIR_BYTES                                                                                 \
    64 /* a pair has its line: what a handler may assume of rows holds for it too                  \
        */

struct emitter {
    struct sg_decoder *decoder;
    const struct sg_fast_plan *plan;
    struct sg_insn *insns;
    uint32_t *pc, count, at; /* at: of the draft */
};

/* ---- which rows are wanted how ---- */

/* Whether the result is kept as a pair. */
static bool on_pairs(const struct sg_fast_plan *plan, const struct sg_draft *draft, uint32_t at)
{
    return plan->rules[at] != SG_RULE_NONE && sg_is_even(plan, draft->in.d);
}

static bool has_even_address(const struct sg_fast_plan *plan, const struct sg_draft *draft)
{
    return draft->mem.access && draft->in.kind == SG_KIND_PLAIN && !draft->in.guard &&
           draft->in.a &&
           (draft->mem.space == SG_MEM_GLOBAL || draft->mem.space == SG_MEM_GENERIC ||
            draft->mem.space == SG_MEM_SHARED) &&
           sg_is_even(plan, draft->in.a);
}

static sg_handler *comparison(const struct sg_fast_plan *plan, const struct sg_draft *draft)
{
    bool even = draft->op != NULL && draft->op->types[0] == SG_OP_p && draft->op->pair == NULL &&
                draft->in.kind == SG_KIND_PLAIN && !draft->in.guard &&
                draft->reads == (SG_FIELD_A | SG_FIELD_B) && sg_is_even(plan, draft->in.a) &&
                sg_is_even(plan, draft->in.b);
    return even ? sg_fast_compare(draft->op->name, plan->rows[draft->in.a].shape.stride,
                                  plan->rows[draft->in.b].shape.stride)
                : NULL;
}

static void want(struct sg_decoder *decoder, struct sg_fast_plan *plan, uint32_t at)
{
    const struct sg_draft *draft = &decoder->drafts.items[at];
    const uint32_t fields[SG_FIELDS] = {draft->in.d, draft->in.a, draft->in.b,
                                        draft->in.c, draft->in.e, draft->in.f};
    bool pairs = on_pairs(plan, draft, at) || comparison(plan, draft) != NULL;
    bool address = has_even_address(plan, draft);
    for (unsigned f = 0; f < SG_FIELDS; f++) {
        if (draft->reads >> f & 1) {
            bool pair = pairs || (address && 1u << f == SG_FIELD_A);
            plan->rows[fields[f]].wanted |= pair;
            plan->rows[fields[f]].full |= !pair;
        }
    }
    if (on_pairs(plan, draft, at)) {
        plan->rows[draft->in.d].wanted = true;
    }
    for (uint32_t i = 0; i < draft->list_count; i++) {
        plan->rows[decoder->lists.items[draft->list + i].row].full = true;
    }
}

struct sg_fast_plan *sg_fast_begin(struct sg_decoder *decoder)
{
    struct sg_load *load = decoder->load;
    if (decoder->funcs.count != 1) {
        return NULL;
    }
    struct sg_fast_plan *plan = sg_load_alloc(load, &load->scratch, sizeof *plan);
    plan->rows =
        sg_load_alloc(load, &load->scratch, (decoder->rows.count + 1) * sizeof *plan->rows);
    plan->rules = sg_load_alloc(load, &load->scratch, decoder->drafts.count + 1);
    sg_shapes_find(decoder, plan);
    for (uint32_t i = 0; i < decoder->drafts.count; i++) {
        want(decoder, plan, i);
    }
    return plan;
}

void sg_fast_place(struct sg_decoder *decoder, struct sg_fast_plan *plan, uint32_t *cursor)
{
    *cursor = (*cursor + PAIR_BYTES - 1) / PAIR_BYTES * PAIR_BYTES;
    for (uint32_t r = 1; r < decoder->rows.count; r++) {
        if (plan->rows[r].wanted) {
            plan->rows[r].pair = *cursor;
            *cursor += PAIR_BYTES;
        }
    }
    for (uint32_t i = 0; i < decoder->consts.count; i++) {
        struct sg_const *c = &decoder->consts.items[i];
        c->pair = plan->rows[c->offset].pair; /* the offset is still a row number */
        c->pair_only = !plan->rows[c->offset].full;
    }
}

/* ---- instructions ---- */

static struct sg_insn *decode_fast_emit(struct emitter *to, const struct sg_insn *in)
{
    to->pc[to->count] = to->at;
    struct sg_insn *out = &to->insns[to->count++];
    *out = *in;
    return out;
}

static uint32_t pair_of(const struct emitter *to, uint32_t row)
{
    return row ? to->plan->rows[row].pair : 0;
}

/* Emits the check before an operation that widens. */
static void emit_check(struct emitter *to, const struct sg_draft *draft,
                       const struct sg_insn *final, enum sg_shape_rule rule)
{
    uint32_t checked = sg_shape_checked(to->plan, draft, rule);
    if (checked) {
        bool is_signed;
        sg_shape_rule_of(draft->op, &is_signed);
        struct sg_insn *out = decode_fast_emit(to, final);
        out->full = is_signed ? sg_fast_check_s32 : sg_fast_check_u32;
        out->a = pair_of(to, checked);
        out->b = (uint32_t)to->plan->rows[checked].shape.stride;
    }
}

static void emit_operation(struct emitter *to, const struct sg_draft *draft,
                           const struct sg_insn *final)
{
    const struct sg_fast_plan *plan = to->plan;
    const struct sg_fast_row_plan *target = &plan->rows[draft->in.d];
    emit_check(to, draft, final, (enum sg_shape_rule)plan->rules[to->at]);
    struct sg_insn *out = decode_fast_emit(to, final);
    out->full = draft->op->pair;
    out->d = target->pair;
    out->a = draft->reads & SG_FIELD_A ? pair_of(to, draft->in.a) : 0;
    out->b = draft->reads & SG_FIELD_B ? pair_of(to, draft->in.b) : 0;
    out->c = draft->reads & SG_FIELD_C ? pair_of(to, draft->in.c) : 0;
    out->e = draft->reads & SG_FIELD_E ? pair_of(to, draft->in.e) : 0;
    if (target->full) {
        bool wide = sg_row_kind(to->decoder, draft->in.d) == SG_ROW_64;
        out = decode_fast_emit(to, final);
        out->full = wide ? sg_fast_expand64 : sg_fast_expand32;
        out->a = target->pair;
        out->imm = target->shape.stride;
    }
}

static void emit_access(struct emitter *to, const struct sg_draft *draft,
                        const struct sg_insn *final)
{
    static const uint8_t bytes[SG_MEM_TYPES] = {1, 1, 2, 2, 4, 1, 1, 2, 2, 4, 4, 8};
    const struct sg_fast_mem_ops *ops = to->decoder->isa->fast_mem;
    int32_t stride = to->plan->rows[draft->in.a].shape.stride;
    enum sg_fast_space space = draft->mem.space == SG_MEM_SHARED ? SG_FAST_SHARED : SG_FAST_GLOBAL;
    enum sg_fast_shape shape = draft->in.mode != 1 || !draft->in.d ? SG_FAST_ANY
                               : stride == 0                       ? SG_FAST_SAME
                               : stride == bytes[draft->mem.type]  ? SG_FAST_NEXT
                                                                   : SG_FAST_ANY;
    struct sg_insn *out = decode_fast_emit(to, final);
    out->masked = final->full;
    out->full = (draft->mem.store ? ops->store : ops->load)[space][draft->mem.type][shape];
    out->a = pair_of(to, draft->in.a);
    out->f = (uint32_t)stride;
}

/* Emits an entry that runs the decoded instruction, which follows it. */
static struct sg_insn *emit_step(struct emitter *to, const struct sg_insn *final)
{
    decode_fast_emit(to, final)->full = final->guard ? sg_fast_guarded : sg_fast_step;
    return decode_fast_emit(to, final);
}

static void emit_special(struct emitter *to, const struct sg_insn *final)
{
    if (final->kind == SG_KIND_COLLECTIVE && !final->guard && (final->flags & SG_FLAG_UNIFORM)) {
        if (final->full != NULL) { /* all lanes are here: no group has to be waited for */
            emit_step(to, final)->full = final->masked;
        }
        return;
    }
    struct sg_insn *out = decode_fast_emit(to, final);
    out->full = sg_fast_special;
    if (final->kind == SG_KIND_BRANCH) {
        out->full = final->guard ? sg_fast_branch : sg_fast_jump;
        out->c = final->guard_negated ? UINT32_MAX : 0;
    } else if (final->kind == SG_KIND_EXIT && !final->guard) {
        out->full = sg_fast_exit;
    }
}

/* `draft` has row numbers, `final` is the instruction with places. */
static void emit_draft(struct emitter *to, const struct sg_draft *draft,
                       const struct sg_insn *final)
{
    sg_handler *compare = comparison(to->plan, draft);
    if (on_pairs(to->plan, draft, to->at)) {
        emit_operation(to, draft, final);
    } else if (has_even_address(to->plan, draft)) {
        emit_access(to, draft, final);
    } else if (compare != NULL) {
        struct sg_insn *out = decode_fast_emit(to, final);
        out->full = compare;
        out->a = pair_of(to, draft->in.a);
        out->b = pair_of(to, draft->in.b);
        out->e = (uint32_t)to->plan->rows[draft->in.a].shape.stride;
        out->f = (uint32_t)to->plan->rows[draft->in.b].shape.stride;
    } else if (final->kind != SG_KIND_PLAIN) {
        emit_special(to, final);
    } else if (!final->guard && draft->op != NULL && final->full == draft->op->full) {
        decode_fast_emit(to, final)->full = draft->op->chain;
    } else {
        emit_step(to, final);
    }
}

/* Sets the targets of branches, when all instructions have their places. */
static void set_targets(struct sg_insn *insns, uint32_t count, const uint32_t *at)
{
    for (uint32_t i = 0; i < count; i++) {
        if (insns[i].kind == SG_KIND_BRANCH) {
            insns[i].d = at[insns[i].imm] - i;
        }
    }
}

static void make_rows(struct sg_decoder *decoder, const struct sg_fast_plan *plan,
                      struct sg_fast *fast)
{
    struct sg_fast_row *rows =
        sg_load_alloc(decoder->load, decoder->load->keep, (decoder->rows.count + 1) * sizeof *rows);
    for (uint32_t r = 1; r < decoder->rows.count; r++) {
        const struct sg_draft_row *row = &decoder->rows.items[r];
        if (!row->constant && plan->rows[r].wanted && !plan->rows[r].full) {
            rows[fast->row_count++] =
                (struct sg_fast_row){plan->rows[r].pair, row->offset, plan->rows[r].shape.stride,
                                     row->start,         row->end,    row->kind == SG_ROW_64};
        }
    }
    fast->rows = rows;
}

static const void *decode_fast_keep(struct sg_load *load, const void *items, size_t bytes)
{
    return memcpy(sg_load_alloc(load, load->keep, bytes), items, bytes);
}

/* Entries for one draft at most: a check, an operation on pairs, and its result as a row. */
#define ENTRIES_MAX 3

void sg_fast_finish(struct sg_decoder *decoder, const struct sg_fast_plan *plan)
{
    struct sg_load *load = decoder->load;
    const size_t count = decoder->drafts.count;
    struct sg_fast *fast = sg_load_alloc(load, load->keep, sizeof *fast);
    uint32_t *at = sg_load_alloc(load, load->keep, (count + 1) * sizeof *at);
    struct emitter to = {.decoder = decoder, .plan = plan};
    to.insns = sg_load_alloc(load, &load->scratch, (count * ENTRIES_MAX + 1) * sizeof *to.insns);
    to.pc = sg_load_alloc(load, &load->scratch, (count * ENTRIES_MAX + 1) * sizeof *to.pc);
    for (to.at = 0; to.at < count; to.at++) {
        at[to.at] = to.count;
        const struct sg_draft *draft = &decoder->drafts.items[to.at];
        const struct sg_insn final = sg_row_patched(decoder, draft);
        emit_draft(&to, draft, &final);
    }
    set_targets(to.insns, to.count, at);
    sg_fast_fuse(decoder, to.insns, to.pc, to.count);
    fast->insns = decode_fast_keep(load, to.insns, to.count * sizeof *to.insns);
    fast->pc = decode_fast_keep(load, to.pc, to.count * sizeof *to.pc);
    fast->at = at;
    make_rows(decoder, plan, fast);
    decoder->code->fast = fast;
}
