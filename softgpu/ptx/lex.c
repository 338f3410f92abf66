/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer. */
#include "softgpu/ptx/lex.h"

#include <stdlib.h>
#include <string.h>

void sg_lexer_init(struct sg_lexer *lexer, struct sg_load *load, const char *text, size_t bytes,
                   uint16_t unit)
{
    *lexer = (struct sg_lexer){load, text, text + bytes, text, 1, unit};
}

static struct sg_place here(const struct sg_lexer *lexer)
{
    ptrdiff_t column = lexer->at - lexer->line_start + 1;
    return (struct sg_place){lexer->line, column > UINT16_MAX ? UINT16_MAX : (uint16_t)column,
                             lexer->unit};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool lex_is_name(char c)
{
    return is_digit(c) || (is_name_start(c) && c != '%');
}

static int hex_digit(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void new_line(struct sg_lexer *lexer)
{
    lexer->at++;
    lexer->line++;
    lexer->line_start = lexer->at;
}

static void skip_block_comment(struct sg_lexer *lexer)
{
    struct sg_place start = here(lexer);
    lexer->at += 2;
    while (lexer->end - lexer->at >= 2 && !(lexer->at[0] == '*' && lexer->at[1] == '/')) {
        if (*lexer->at == '\n') {
            new_line(lexer);
        } else {
            lexer->at++;
        }
    }
    if (lexer->end - lexer->at < 2) {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, start, "comment without end");
    }
    lexer->at += 2;
}

void sg_lexer_skip_line(struct sg_lexer *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n') {
        lexer->at++;
    }
}

static void skip_space(struct sg_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool two = lexer->end - lexer->at >= 2;
        if (c == '\n') {
            new_line(lexer);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer->at++;
        } else if (two && c == '/' && lexer->at[1] == '/') {
            sg_lexer_skip_line(lexer);
        } else if (two && c == '/' && lexer->at[1] == '*') {
            skip_block_comment(lexer);
        } else {
            return;
        }
    }
}

/* Exactly `digits` hexadecimal digits after 0f / 0d. */
static uint64_t float_bits(struct sg_lexer *lexer, struct sg_place place, int digits)
{
    uint64_t value = 0;
    lexer->at += 2;
    for (int i = 0; i < digits; i++) {
        int digit = lexer->at < lexer->end ? hex_digit(*lexer->at) : -1;
        if (digit < 0) {
            sg_load_fail(lexer->load, SG_LOAD_SYNTAX, place,
                         "a floating-point constant needs %d hexadecimal digits", digits);
        }
        value = value << 4 | (uint64_t)digit;
        lexer->at++;
    }
    return value;
}

static uint64_t int_value(struct sg_lexer *lexer, struct sg_place place, unsigned base)
{
    uint64_t value = 0;
    const char *start = lexer->at;
    for (; lexer->at < lexer->end; lexer->at++) {
        int digit = hex_digit(*lexer->at);
        if (digit < 0 || (unsigned)digit >= base) {
            break;
        }
        if (value > (UINT64_MAX - (unsigned)digit) / base) {
            sg_load_fail(lexer->load, SG_LOAD_SYNTAX, place, "integer constant exceeds 64 bits");
        }
        value = value * base + (unsigned)digit;
    }
    if (lexer->at == start) {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, place, "malformed integer constant");
    }
    if (lexer->at < lexer->end && *lexer->at == 'U') {
        lexer->at++;
    }
    return value;
}

/* The length of a decimal floating-point number (digits, then a point or an exponent) that begins
 * here; 0: there is none. */
static size_t decimal_float_length(const struct sg_lexer *lexer)
{
    const char *c = lexer->at;
    bool is_float = false;
    while (c < lexer->end && is_digit(*c)) {
        c++;
    }
    if (c + 1 < lexer->end && *c == '.' && is_digit(c[1])) {
        is_float = true;
        for (c++; c < lexer->end && is_digit(*c); c++) {
        }
    }
    if (c + 1 < lexer->end && (*c == 'e' || *c == 'E')) {
        const char *e = c + 1;
        if (e + 1 < lexer->end && (*e == '+' || *e == '-')) {
            e++;
        }
        if (is_digit(*e)) {
            is_float = true;
            for (c = e; c < lexer->end && is_digit(*c); c++) {
            }
        }
    }
    return is_float ? (size_t)(c - lexer->at) : 0;
}

static void lex_number(struct sg_lexer *lexer, struct sg_token *token)
{
    char second = lexer->end - lexer->at >= 2 ? lexer->at[1] : '\0';
    bool zero = *lexer->at == '0';
    token->kind = SG_TOKEN_INT;
    if (zero && (second == 'f' || second == 'F')) {
        token->kind = SG_TOKEN_F32;
        token->value = float_bits(lexer, token->place, 8);
    } else if (zero && (second == 'd' || second == 'D')) {
        token->kind = SG_TOKEN_F64;
        token->value = float_bits(lexer, token->place, 16);
    } else if (zero && (second == 'x' || second == 'X')) {
        lexer->at += 2;
        token->value = int_value(lexer, token->place, 16);
    } else if (zero && (second == 'b' || second == 'B')) {
        lexer->at += 2;
        token->value = int_value(lexer, token->place, 2);
    } else {
        size_t length = decimal_float_length(lexer);
        if (length) {
            char digits[64];
            if (length >= sizeof digits) {
                sg_load_fail(lexer->load, SG_LOAD_SYNTAX, token->place, "constant too long");
            }
            memcpy(digits, lexer->at, length);
            digits[length] = '\0';
            double value = strtod(digits, NULL);
            memcpy(&token->value, &value, sizeof value);
            token->kind = SG_TOKEN_F64;
            lexer->at += length;
        } else {
            token->value = int_value(lexer, token->place, zero && is_digit(second) ? 8 : 10);
        }
    }
    if (lexer->at < lexer->end && lex_is_name(*lexer->at)) {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, token->place, "malformed number");
    }
}

static void lex_string(struct sg_lexer *lexer, struct sg_token *token)
{
    const char *start = ++lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n') {
        lexer->at += *lexer->at == '\\' && lexer->end - lexer->at > 1 ? 2 : 1;
    }
    if (lexer->at >= lexer->end || *lexer->at != '"') {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, token->place, "string without end");
    }
    token->kind = SG_TOKEN_STRING;
    token->text = (struct sg_text){start, (uint32_t)(lexer->at - start)};
    lexer->at++;
}

static void lex_dot(struct sg_lexer *lexer, struct sg_token *token)
{
    const char *start = ++lexer->at;
    for (;;) {
        while (lexer->at < lexer->end && lex_is_name(*lexer->at)) {
            lexer->at++;
        }
        if (lexer->end - lexer->at >= 3 && lexer->at[0] == ':' && lexer->at[1] == ':' &&
            lex_is_name(lexer->at[2])) {
            lexer->at += 2;
            continue;
        }
        break;
    }
    if (lexer->at == start) {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, token->place, "a name must follow '.'");
    }
    token->kind = SG_TOKEN_DOT;
    token->text = (struct sg_text){start, (uint32_t)(lexer->at - start)};
}

struct sg_token sg_lexer_next(struct sg_lexer *lexer)
{
    skip_space(lexer);
    struct sg_token token = {.kind = SG_TOKEN_END, .place = here(lexer), .text = {"", 0}};
    if (lexer->at >= lexer->end) {
        return token;
    }
    const char *start = lexer->at;
    char c = *start;
    if (is_name_start(c)) {
        for (lexer->at++; lexer->at < lexer->end && lex_is_name(*lexer->at); lexer->at++) {
        }
        token.kind = SG_TOKEN_NAME;
        token.text = (struct sg_text){start, (uint32_t)(lexer->at - start)};
    } else if (is_digit(c)) {
        lex_number(lexer, &token);
        token.text = (struct sg_text){start, (uint32_t)(lexer->at - start)};
    } else if (c == '"') {
        lex_string(lexer, &token);
    } else if (c == '.') {
        lex_dot(lexer, &token);
    } else if (strchr("{}()[],;:|@!+-<>=*/~&^?", c) != NULL && c != '\0') {
        token.kind = SG_TOKEN_PUNCT;
        token.text = (struct sg_text){start, 1};
        lexer->at++;
    } else {
        sg_load_fail(lexer->load, SG_LOAD_SYNTAX, token.place, "stray byte 0x%02x",
                     (unsigned)(unsigned char)c);
    }
    return token;
}
