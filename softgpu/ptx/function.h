/* SPDX-License-Identifier: Apache-2.0 */
/* Parses functions and signatures. */
#ifndef SOFTGPU_PTX_FUNCTION_H
#define SOFTGPU_PTX_FUNCTION_H

#include "softgpu/ptx/parse.h"

/* Parses a function, after ".entry" or ".func". */
void sg_parse_function(struct sg_parser *parser, bool entry, struct sg_linkage linkage);

/* The signature of a function or a prototype: perhaps a return list, then the name, then the
 * parameters. Variables go into parser->func. */
void sg_parse_signature(struct sg_parser *parser);

#endif
