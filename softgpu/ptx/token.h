/* SPDX-License-Identifier: Apache-2.0 */
/* One token of look-ahead. */
#ifndef SOFTGPU_PTX_TOKEN_H
#define SOFTGPU_PTX_TOKEN_H

#include "softgpu/ptx/parse.h"

void sg_parse_advance(struct sg_parser *parser);
bool sg_parse_at(const struct sg_parser *parser, char punct);
bool sg_parse_at_dot(const struct sg_parser *parser, const char *name);
bool sg_parse_take(struct sg_parser *parser, char punct);
bool sg_parse_take_dot(struct sg_parser *parser, const char *name);
void sg_parse_expect(struct sg_parser *parser, char punct);
struct sg_text sg_parse_name(struct sg_parser *parser, const char *what);

/* An integer of at most `max`. */
uint64_t sg_parse_int(struct sg_parser *parser, const char *what, uint64_t max);
_Noreturn void sg_parse_unexpected(struct sg_parser *parser, const char *wanted);

#endif
