/* SPDX-License-Identifier: Apache-2.0 */
/* Parses instructions and their operands. */
#ifndef SOFTGPU_PTX_STATEMENT_H
#define SOFTGPU_PTX_STATEMENT_H

#include "softgpu/ptx/parse.h"

void sg_parse_insn(struct sg_parser *parser);

/* Gives the function an address, since it is used. */
void sg_parse_pointer(struct sg_parser *parser, struct sg_ptx_func *func);
struct sg_operand sg_parse_operand(struct sg_parser *parser);

#endif
