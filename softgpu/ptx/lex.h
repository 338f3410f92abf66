/* SPDX-License-Identifier: Apache-2.0 */
/* PTX text to tokens (PTX ISA 9.0, chapter 4). A modifier or directive (".f32", ".reg",
 * ".shared::cta") is one SG_TOKEN_DOT whose text lacks the dot. "%tid.x" is two tokens: the parser
 * joins them. */
#ifndef SOFTGPU_PTX_LEX_H
#define SOFTGPU_PTX_LEX_H

#include "softgpu/ptx/load.h"

enum sg_token_kind {
    SG_TOKEN_END,
    SG_TOKEN_NAME,
    SG_TOKEN_DOT,
    SG_TOKEN_INT,    /* value */
    SG_TOKEN_F32,    /* value: its bits (0fXXXXXXXX) */
    SG_TOKEN_F64,    /* value: its bits (0dX...X or decimal) */
    SG_TOKEN_STRING, /* text without the quotes */
    SG_TOKEN_PUNCT,  /* text: one character */
};

struct sg_token {
    enum sg_token_kind kind;
    struct sg_text text;
    struct sg_place place;
    uint64_t value;
};

struct sg_lexer {
    struct sg_load *load;
    const char *at, *end, *line_start;
    uint32_t line;
    uint16_t unit;
};

void sg_lexer_init(struct sg_lexer *lexer, struct sg_load *load, const char *text, size_t bytes,
                   uint16_t unit);
struct sg_token sg_lexer_next(struct sg_lexer *lexer);
/* Drops the rest of the line (".loc", "@@DWARF" end there). */
void sg_lexer_skip_line(struct sg_lexer *lexer);

#endif
