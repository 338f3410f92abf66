/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red. */
#include "softgpu/ptx/decode_atom.h"

#include "softgpu/exec/atomic.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_async.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_rows.h"

#include <stdio.h>
#include <string.h>

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

/* The last modifier: the bits of an element and the kind of its registers. */
static unsigned element_bits(struct sg_decoder *decoder, struct sg_text name, enum sg_type *type)
{
    static const struct {
        const char *name;
        unsigned bits;
        enum sg_type type;
    } types[] = {{"b16", 16, SG_TYPE_B16},   {"f16", 16, SG_TYPE_B16},    {"bf16", 16, SG_TYPE_B16},
                 {"f16x2", 32, SG_TYPE_B32}, {"bf16x2", 32, SG_TYPE_B32}, {"b32", 32, SG_TYPE_B32},
                 {"u32", 32, SG_TYPE_B32},   {"s32", 32, SG_TYPE_B32},    {"f32", 32, SG_TYPE_F32},
                 {"b64", 64, SG_TYPE_B64},   {"u64", 64, SG_TYPE_B64},    {"s64", 64, SG_TYPE_B64},
                 {"f64", 64, SG_TYPE_F64},   {"b128", 128, SG_TYPE_B128}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (sg_text_is(name, types[i].name)) {
            *type = types[i].type;
            return types[i].bits;
        }
    }
    sg_decode_unsupported(decoder);
}

struct atom {
    const struct sg_operand *target, *value, *second; /* NULL: there is none */
    sg_handler *handler;
    enum sg_mem_space space;
    enum sg_type type;
    uint32_t at;
    int64_t offset;
};

static struct sg_draft *decode_atom_emit(struct sg_decoder *decoder, const struct atom *atom)
{
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, atom->handler, atom->handler));
    draft->in.a = atom->at;
    draft->in.mode = (uint8_t)atom->space;
    draft->in.imm = atom->offset;
    draft->reads = SG_FIELD_A;
    return draft;
}

static void emit_word(struct sg_decoder *decoder, const struct atom *atom)
{
    uint32_t value = sg_row_source(decoder, atom->value, atom->type);
    uint32_t second = atom->second != NULL ? sg_row_source(decoder, atom->second, atom->type) : 0;
    uint32_t target = atom->target != NULL ? sg_row_target(decoder, atom->target, atom->type) : 0;
    struct sg_draft *draft = decode_atom_emit(decoder, atom);
    draft->in.d = target;
    draft->in.b = value;
    draft->in.c = second;
    draft->reads |= (uint8_t)(SG_FIELD_B | (second ? SG_FIELD_C : 0));
    draft->writes = target ? SG_FIELD_D : 0;
}

/* .b128: row list f holds the old value, the value and the second one, two rows each. */
static void emit_pair(struct sg_decoder *decoder, const struct atom *atom)
{
    uint32_t value[2], second[2] = {0, 0}, target[2] = {0, 0};
    sg_row_pair(decoder, atom->value, value);
    if (atom->second != NULL) {
        sg_row_pair(decoder, atom->second, second);
    }
    if (atom->target != NULL) {
        sg_row_pair(decoder, atom->target, target);
    }
    struct sg_draft *draft = decode_atom_emit(decoder, atom);
    sg_emit_list(decoder, draft, target, 2, SG_LIST_WRITE);
    sg_emit_list(decoder, draft, value, 2, SG_LIST_READ);
    sg_emit_list(decoder, draft, second, 2, SG_LIST_READ);
}

/* .v2, .v4, .v8: each element is atomic by itself, but the vector is aligned as a whole. Targets
 * are written at the end, since other elements may read them. */
static void emit_vector(struct sg_decoder *decoder, struct atom *atom, unsigned count,
                        unsigned bytes)
{
    const struct sg_operand *values = atom->value, *targets = atom->target;
    uint32_t old[8] = {0};
    bool list =
        values->kind == SG_OPERAND_LIST && values->item_count == count &&
        (targets == NULL || (targets->kind == SG_OPERAND_LIST && targets->item_count == count));
    if (!list) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    struct sg_draft *check = decode_atom_emit(decoder, atom);
    check->in.full = check->in.masked = sg_atomic_vector;
    check->in.mode = (uint8_t)(count * bytes);
    for (unsigned i = 0; i < count; i++) {
        uint32_t value = sg_row_source(decoder, &values->items[i], atom->type);
        struct sg_draft *draft = decode_atom_emit(decoder, atom);
        draft->in.b = value;
        draft->reads |= SG_FIELD_B;
        atom->offset += bytes;
        if (targets != NULL) {
            old[i] = sg_row_new(decoder, SG_ROW_32);
            draft = &decoder->drafts.items[decoder->drafts.count - 1];
            draft->in.d = old[i];
            draft->writes = SG_FIELD_D;
        }
    }
    for (unsigned i = 0; targets != NULL && i < count; i++) {
        if (targets->items[i].kind != SG_OPERAND_SINK) {
            uint32_t target = sg_row_target(decoder, &targets->items[i], atom->type);
            sg_guard(decoder, sg_emit_op(decoder, "x_mov32", target, old[i], 0, 0));
        }
    }
}

static enum sg_mem_space decode_atom_space(const struct sg_decoder *decoder)
{
    return sg_modifier(decoder, "global")                                          ? SG_MEM_GLOBAL
           : sg_modifier(decoder, "shared") || sg_modifier(decoder, "shared::cta") ? SG_MEM_SHARED
                                                                                   : SG_MEM_GENERIC;
}

static void find_handler(struct sg_decoder *decoder, struct atom *atom, const char *op,
                         struct sg_text type)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%.*s", op, SG_TEXT_ARGS(type));
    atom->handler = sg_atomic_find(name);
    if (atom->handler == NULL) {
        sg_decode_unsupported(decoder);
    }
}

void sg_decode_atom(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    if (sg_modifier(decoder, "async")) {
        sg_decode_store_async(decoder);
        return;
    }
    uint32_t first =
        sg_text_is(insn->opcode, "red") ? 0 : 1; /* index of the operand with the address */
    sg_modifiers_check(decoder,
                       "relaxed acquire release acq_rel cta cluster gpu sys global shared "
                       "shared::cta shared::cluster add min max inc dec and or xor exch cas noftz "
                       "L2::cache_hint v2 v4 v8 b16 f16 bf16 f16x2 bf16x2 b32 u32 s32 f32 b64 u64 "
                       "s64 f64 b128",
                       false);
    const char *op = atomic_op(decoder);
    bool cas = strcmp(op, "cas") == 0;
    unsigned hint =
        sg_modifier(decoder, "L2::cache_hint"); /* the policy is ignored: nothing is cached */
    unsigned count = sg_modifier(decoder, "v2")   ? 2
                     : sg_modifier(decoder, "v4") ? 4
                     : sg_modifier(decoder, "v8") ? 8
                                                  : 1;
    struct atom atom = {.space = decode_atom_space(decoder)};
    struct sg_text type = insn->modifiers[insn->modifier_count - 1];
    unsigned bits = element_bits(decoder, type, &atom.type);
    find_handler(decoder, &atom, op, type);
    if ((cas && !first) || (count > 1 && (count * bits > 128 || atom.space != SG_MEM_GLOBAL))) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, first + 2 + cas + hint, first + 2 + cas + hint);
    if (sg_modifier(decoder, "shared::cluster")) {
        atom.at = sg_row_generic(decoder, &insn->operands[first], SG_MEM_SHARED);
    } else {
        atom.at = sg_row_place(decoder, &insn->operands[first], &atom.space, &atom.offset);
    }
    if (atom.space == SG_MEM_FRAME || atom.space == SG_MEM_PARAM || atom.space == SG_MEM_LOCAL) {
        sg_decode_unsupported(decoder);
    }
    bool wanted = first && insn->operands[0].kind != SG_OPERAND_SINK;
    atom.target = wanted ? &insn->operands[0] : NULL;
    atom.value = &insn->operands[first + 1];
    atom.second = cas ? &insn->operands[first + 2] : NULL;
    if (count > 1) {
        emit_vector(decoder, &atom, count, bits / 8);
    } else if (bits == 128) {
        emit_pair(decoder, &atom);
    } else {
        emit_word(decoder, &atom);
    }
}
