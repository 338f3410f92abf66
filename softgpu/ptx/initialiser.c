/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers of variables. */
#include "softgpu/ptx/initialiser.h"

#include <string.h>

#include "softgpu/ptx/scope.h"
#include "softgpu/ptx/statement.h"
#include "softgpu/ptx/token.h"
#include "softgpu/ptx/type.h"

static struct sg_ptx_init *push_init(struct sg_parser *parser, struct sg_ptx_var *var,
                                     struct sg_place place, uint64_t *at)
{
    uint32_t bytes = sg_type_bytes(var->type);
    if (!var->unsized && *at + bytes > var->bytes) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "more initialisers than elements");
    }
    struct sg_ptx_init *init = SG_LOAD_PUSH(parser->load, var->inits);
    *init = (struct sg_ptx_init){.place = place, .offset = *at, .bytes = bytes};
    *at += bytes;
    return init;
}

/* name, generic(name), name+4 */
static void parse_init_address(struct sg_parser *parser, struct sg_ptx_init *init)
{
    bool generic = parser->token.kind == SG_TOKEN_NAME && sg_text_is(parser->token.text, "generic");
    if (generic) {
        sg_parse_advance(parser);
        sg_parse_expect(parser, '(');
    }
    struct sg_place place = parser->token.place;
    struct sg_text name = sg_parse_name(parser, "the name of a variable");
    struct sg_symbol *symbol = sg_scope_find(parser, name, NULL);
    if (symbol != NULL && symbol->kind == SG_SYMBOL_FUNC) {
        sg_parse_pointer(parser, symbol->func);
        init->func = symbol->func;
    } else if (symbol == NULL || symbol->kind != SG_SYMBOL_VAR ||
               (symbol->var->space != SG_PTX_GLOBAL && symbol->var->space != SG_PTX_CONST)) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is no .global or .const variable",
                     SG_TEXT_ARGS(name));
    } else {
        init->variable = symbol->var;
    }
    if (generic) {
        sg_parse_expect(parser, ')');
    }
    while (sg_parse_at(parser, '+') || sg_parse_at(parser, '-')) {
        bool minus = sg_parse_at(parser, '-');
        sg_parse_advance(parser);
        uint64_t value = sg_parse_int(parser, "an offset", UINT64_MAX);
        init->value += minus ? -value : value;
    }
}

static uint64_t float_init(struct sg_parser *parser, enum sg_type type, bool minus)
{
    double wide;
    float narrow;
    uint64_t bits = 0;
    if (parser->token.kind == SG_TOKEN_F32) {
        uint32_t narrow_bits = (uint32_t)parser->token.value;
        memcpy(&narrow, &narrow_bits, sizeof narrow);
        wide = (double)narrow;
    } else {
        memcpy(&wide, &parser->token.value, sizeof wide);
        narrow = (float)wide;
    }
    if (minus) {
        wide = -wide;
        narrow = -narrow;
    }
    if (type == SG_TYPE_F64) {
        memcpy(&bits, &wide, sizeof wide);
    } else if (type == SG_TYPE_F32) {
        memcpy(&bits, &narrow, sizeof narrow);
    } else {
        sg_parse_unexpected(parser, "an integer");
    }
    sg_parse_advance(parser);
    return bits;
}

static void parse_init_element(struct sg_parser *parser, struct sg_ptx_var *var, uint64_t *at)
{
    struct sg_place place = parser->token.place;
    struct sg_ptx_init *init = push_init(parser, var, place, at);
    if (parser->token.kind == SG_TOKEN_NAME) {
        parse_init_address(parser, init);
        return;
    }
    bool minus = sg_parse_take(parser, '-');
    bool invert = !minus && sg_parse_take(parser, '~');
    if (parser->token.kind == SG_TOKEN_F32 || parser->token.kind == SG_TOKEN_F64) {
        init->value = float_init(parser, var->type, minus);
        return;
    }
    uint64_t value = sg_parse_int(parser, "an initialiser", UINT64_MAX);
    if (sg_parse_take(parser, '(')) {
        if (value == 0) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "a mask must not be 0");
        }
        init->mask = value;
        parse_init_address(parser, init);
        sg_parse_expect(parser, ')');
        return;
    }
    value = minus ? -value : invert ? ~value : value;
    if (sg_type_is_float(var->type)) { /* an integer initialises a float by its value */
        double wide = minus ? (double)(int64_t)value : (double)value;
        float narrow = (float)wide;
        value = 0;
        memcpy(&value, var->type == SG_TYPE_F64 ? (void *)&wide : (void *)&narrow,
               var->type == SG_TYPE_F64 ? sizeof wide : sizeof narrow);
    }
    init->value = value;
}

/* Braces may follow the array's dimensions, one element each; missing elements are zeros. */
static void parse_init(struct sg_parser *parser, struct sg_ptx_var *var, uint64_t *at, int depth)
{
    struct sg_place place = parser->token.place;
    uint64_t begin = *at;
    if (!sg_parse_take(parser, '{')) {
        parse_init_element(parser, var, at);
        return;
    }
    if (depth > 0 && (depth >= SG_PTX_DIMENSIONS || var->inner_bytes[depth] == 0)) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "more braces than dimensions");
    }
    while (!sg_parse_at(parser, '}')) {
        parse_init(parser, var, at, depth + 1);
        if (!sg_parse_take(parser, ',')) {
            break;
        }
    }
    sg_parse_expect(parser, '}');
    if (depth > 0) {
        if (*at > begin + var->inner_bytes[depth]) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "more initialisers than elements");
        }
        *at = begin + var->inner_bytes[depth];
    }
}

void sg_parse_initialiser(struct sg_parser *parser, struct sg_ptx_var *var, uint64_t *bytes)
{
    *bytes = 0;
    parse_init(parser, var, bytes, 0);
}
