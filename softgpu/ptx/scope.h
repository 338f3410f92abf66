/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their scopes. */
#ifndef SOFTGPU_PTX_SCOPE_H
#define SOFTGPU_PTX_SCOPE_H

#include "softgpu/ptx/parse.h"

void sg_scope_open(struct sg_parser *parser, struct sg_scope *scope);
void sg_scope_close(struct sg_parser *parser);

/* NULL if unknown. For a register *reg is its number, for a vector that of the first one. */
struct sg_symbol *sg_scope_find(struct sg_parser *parser, struct sg_text name, uint32_t *reg);

/* The name must be new in the innermost scope. */
struct sg_symbol *sg_scope_declare(struct sg_parser *parser, struct sg_text name,
                                   struct sg_place place, enum sg_symbol_kind kind);

#endif
