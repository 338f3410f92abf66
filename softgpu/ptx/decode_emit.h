/* SPDX-License-Identifier: Apache-2.0 */
/* Emits instructions, and reads modifiers. */
#ifndef SOFTGPU_PTX_DECODE_EMIT_H
#define SOFTGPU_PTX_DECODE_EMIT_H

#include "softgpu/ptx/decode.h"

_Noreturn void sg_decode_unsupported(struct sg_decoder *decoder);
_Noreturn void sg_decode_wrong(struct sg_decoder *decoder, const char *what);

struct sg_draft *sg_emit(struct sg_decoder *decoder, sg_handler *full, sg_handler *masked);

/* Emits the operation of that name in op.def, which must exist. */
struct sg_draft *sg_emit_op(struct sg_decoder *decoder, const char *name, uint32_t d, uint32_t a,
                            uint32_t b, uint32_t c);

/* Adds rows to the row list of the draft, which must be the last draft with a list. A row that is
 * read and written is SG_LIST_READ | SG_LIST_WRITE. The draft's in.f must not be used otherwise. */
void sg_emit_list(struct sg_decoder *decoder, struct sg_draft *draft, const uint32_t *rows,
                  uint32_t count, unsigned use);

/* Marks the last instruction of the opcode: it carries the guard. */
struct sg_draft *sg_guard(struct sg_decoder *decoder, struct sg_draft *draft);
bool sg_modifier(const struct sg_decoder *decoder, const char *name);

/* The index-th type among the modifiers; NONE if there are fewer. */
enum sg_type sg_modifier_type(const struct sg_decoder *decoder, unsigned index);

/* Every modifier must be in `allowed` ("a b c") or, with `types`, a type. */
void sg_modifiers_check(struct sg_decoder *decoder, const char *allowed, bool types);
void sg_operands_check(struct sg_decoder *decoder, uint32_t least, uint32_t most);

#endif
