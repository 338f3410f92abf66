/* SPDX-License-Identifier: Apache-2.0 */
/* Parses declarations of variables, parameters and registers. */
#ifndef SOFTGPU_PTX_VARIABLE_H
#define SOFTGPU_PTX_VARIABLE_H

#include "softgpu/ptx/parse.h"

/* Parses variables, from the space directive, which has been read, to the ';'. */
void sg_parse_variables(struct sg_parser *parser, enum sg_ptx_space space,
                        struct sg_linkage linkage);

/* Gives `declared` the contents of `definition`; it keeps its index. */
void sg_variable_define(struct sg_ptx_var *declared, const struct sg_ptx_var *definition);
void sg_parse_registers(struct sg_parser *parser);

/* One parameter of a list, ".param ..." */
struct sg_ptx_var *sg_parse_parameter(struct sg_parser *parser);
bool sg_parse_space(struct sg_parser *parser, enum sg_ptx_space *space);

#endif
