/* SPDX-License-Identifier: Apache-2.0 */
/* Emitting instructions, and reading modifiers. */
#include "softgpu/ptx/decode_emit.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/type.h"

#include <stdlib.h>
#include <string.h>

static struct sg_text whole_opcode(const struct sg_ptx_insn *insn)
{
    struct sg_text last =
        insn->modifier_count ? insn->modifiers[insn->modifier_count - 1] : insn->opcode;
    return (struct sg_text){insn->opcode.at, (uint32_t)(last.at + last.len - insn->opcode.at)};
}

void sg_decode_unsupported(struct sg_decoder *decoder)
{
    struct sg_text name = whole_opcode(decoder->at);
    sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, decoder->at->place,
                 "instruction '%.*s' is not supported in this form", SG_TEXT_ARGS(name));
}

void sg_decode_wrong(struct sg_decoder *decoder, const char *what)
{
    struct sg_text name = whole_opcode(decoder->at);
    sg_load_fail(decoder->load, SG_LOAD_SYNTAX, decoder->at->place, "%s in '%.*s'", what,
                 SG_TEXT_ARGS(name));
}

struct sg_draft *sg_emit(struct sg_decoder *decoder, sg_handler *full, sg_handler *masked)
{
    struct sg_draft *draft = SG_LOAD_PUSH(decoder->load, decoder->drafts);
    memset(draft, 0, sizeof *draft);
    draft->in.full = full;
    draft->in.masked = masked;
    draft->in.place = decoder->drafts.count - 1;
    if (decoder->at != NULL) {
        draft->source = decoder->at->source;
        draft->source.ptx_line = decoder->at->place.line;
    }
    return draft;
}

struct sg_draft *sg_emit_op(struct sg_decoder *decoder, const char *name, uint32_t d, uint32_t a,
                            uint32_t b, uint32_t c)
{
    const struct sg_op *op = sg_op_find(name);
    if (op == NULL) {
        abort(); /* a name of our own, not of the module */
    }
    struct sg_draft *draft = sg_emit(decoder, op->full, op->masked);
    draft->op = op;
    draft->in.d = d;
    draft->in.a = a;
    draft->in.b = b;
    draft->in.c = c;
    draft->writes = SG_FIELD_D;
    draft->reads = (uint8_t)((a ? SG_FIELD_A : 0) | (b ? SG_FIELD_B : 0) | (c ? SG_FIELD_C : 0));
    return draft;
}

void sg_emit_list(struct sg_decoder *decoder, struct sg_draft *draft, const uint32_t *rows,
                  uint32_t count, unsigned use)
{
    if (draft->list_count == 0) {
        draft->list = decoder->lists.count;
    }
    for (uint32_t i = 0; i < count; i++) {
        *SG_LOAD_PUSH(decoder->load, decoder->lists) = (struct sg_list_row){rows[i], use};
    }
    draft->list_count += count;
    draft->in.f = draft->list;
}

struct sg_draft *sg_guard(struct sg_decoder *decoder, struct sg_draft *draft)
{
    draft->in.guard = decoder->guard;
    draft->in.guard_negated = decoder->guard_negated;
    return draft;
}

bool sg_modifier(const struct sg_decoder *decoder, const char *name)
{
    for (uint32_t i = 0; i < decoder->at->modifier_count; i++) {
        if (sg_text_is(decoder->at->modifiers[i], name)) {
            return true;
        }
    }
    return false;
}

enum sg_type sg_modifier_type(const struct sg_decoder *decoder, unsigned index)
{
    for (uint32_t i = 0; i < decoder->at->modifier_count; i++) {
        enum sg_type type = sg_type_of(decoder->at->modifiers[i]);
        if (type != SG_TYPE_NONE && index-- == 0) {
            return type;
        }
    }
    return SG_TYPE_NONE;
}

static bool in_words(struct sg_text text, const char *words)
{
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        if (length == text.len && memcmp(at, text.at, length) == 0) {
            return true;
        }
        at += length + (at[length] == ' ');
    }
    return false;
}

void sg_modifiers_check(struct sg_decoder *decoder, const char *allowed, bool types)
{
    for (uint32_t i = 0; i < decoder->at->modifier_count; i++) {
        struct sg_text text = decoder->at->modifiers[i];
        if (!(types && sg_type_of(text) != SG_TYPE_NONE) && !in_words(text, allowed)) {
            sg_decode_unsupported(decoder);
        }
    }
}

void sg_operands_check(struct sg_decoder *decoder, uint32_t least, uint32_t most)
{
    if (decoder->at->operand_count < least || decoder->at->operand_count > most) {
        sg_decode_wrong(decoder, "the wrong number of operands");
    }
}
