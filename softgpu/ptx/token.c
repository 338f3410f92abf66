/* SPDX-License-Identifier: Apache-2.0 */
/* One token of look-ahead, and errors that name the expected token. */
#include "softgpu/ptx/token.h"

#include "softgpu/ptx/parse.h"

void sg_parse_advance(struct sg_parser *parser)
{
    parser->token = sg_lexer_next(&parser->lexer);
}

bool sg_parse_at(const struct sg_parser *parser, char punct)
{
    return parser->token.kind == SG_TOKEN_PUNCT && parser->token.text.at[0] == punct;
}

bool sg_parse_at_dot(const struct sg_parser *parser, const char *name)
{
    return parser->token.kind == SG_TOKEN_DOT && sg_text_is(parser->token.text, name);
}

bool sg_parse_take(struct sg_parser *parser, char punct)
{
    if (!sg_parse_at(parser, punct)) {
        return false;
    }
    sg_parse_advance(parser);
    return true;
}

bool sg_parse_take_dot(struct sg_parser *parser, const char *name)
{
    if (!sg_parse_at_dot(parser, name)) {
        return false;
    }
    sg_parse_advance(parser);
    return true;
}

void sg_parse_unexpected(struct sg_parser *parser, const char *wanted)
{
    const struct sg_token *token = &parser->token;
    if (token->kind == SG_TOKEN_END) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, token->place, "%s expected, the text ends here",
                     wanted);
    }
    sg_load_fail(parser->load, SG_LOAD_SYNTAX, token->place, "%s expected, found '%s%.*s'", wanted,
                 token->kind == SG_TOKEN_DOT ? "." : "", SG_TEXT_ARGS(token->text));
}

void sg_parse_expect(struct sg_parser *parser, char punct)
{
    if (!sg_parse_take(parser, punct)) {
        char wanted[] = {'\'', punct, '\'', '\0'};
        sg_parse_unexpected(parser, wanted);
    }
}

struct sg_text sg_parse_name(struct sg_parser *parser, const char *what)
{
    if (parser->token.kind != SG_TOKEN_NAME) {
        sg_parse_unexpected(parser, what);
    }
    struct sg_text name = parser->token.text;
    sg_parse_advance(parser);
    return name;
}

uint64_t sg_parse_int(struct sg_parser *parser, const char *what, uint64_t max)
{
    if (parser->token.kind != SG_TOKEN_INT) {
        sg_parse_unexpected(parser, what);
    }
    uint64_t value = parser->token.value;
    if (value > max) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, parser->token.place, "%s must not exceed %llu",
                     what, (unsigned long long)max);
    }
    sg_parse_advance(parser);
    return value;
}
