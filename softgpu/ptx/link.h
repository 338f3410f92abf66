/* SPDX-License-Identifier: Apache-2.0 */
/* Links equal names of several modules. */
#ifndef SOFTGPU_PTX_LINK_H
#define SOFTGPU_PTX_LINK_H

#include "softgpu/ptx/parse.h"

/* The object of that name in earlier units; NULL: none yet. `place` is the current one. */
struct sg_ptx_func *sg_link_function(struct sg_parser *parser, struct sg_text name,
                                     struct sg_place place, bool entry);
void sg_link_function_add(struct sg_parser *parser, struct sg_ptx_func *func);

/* `head` has a body: whether it defines `func`, or is a copy of an existing definition. */
bool sg_link_function_defines(struct sg_parser *parser, const struct sg_ptx_func *func,
                              const struct sg_ptx_func *head, enum sg_binding binding);

/* The variable for `var`, a declaration or definition with linkage: `var` itself if it is new. */
struct sg_ptx_var *sg_link_variable(struct sg_parser *parser, struct sg_ptx_var *var);

#endif
