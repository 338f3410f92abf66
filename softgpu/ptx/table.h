/* SPDX-License-Identifier: Apache-2.0 */
/* Parses tables that a label names. */
#ifndef SOFTGPU_PTX_TABLE_H
#define SOFTGPU_PTX_TABLE_H

#include "softgpu/ptx/parse.h"

/* Whether the text after "label:" is a table, whose name is the label. */
bool sg_parse_at_table(const struct sg_parser *parser);
void sg_parse_table(struct sg_parser *parser, struct sg_symbol *label);

#endif
