/* SPDX-License-Identifier: Apache-2.0 */
/* Linking of equal names in several modules (PTX ISA 9.0, 5.4 and 11.6), during parsing. The units
 * share one object for each name with linkage, so a use in one unit points to the definition in
 * another, before or after it. The definition with the highest binding stays; the first of two
 * .weak ones, the larger of two .common ones. Two .visible ones are an error. */
#include "softgpu/ptx/link.h"

#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/variable.h"

static struct sg_symbol *ptx_link_find(struct sg_parser *parser, struct sg_text name)
{
    struct sg_symbol *symbol = parser->links[sg_text_hash(name) % SG_SYMBOL_BUCKETS];
    while (symbol != NULL && !sg_text_equal(symbol->name, name)) {
        symbol = symbol->next_in_bucket;
    }
    return symbol;
}

static struct sg_symbol *ptx_link_add(struct sg_parser *parser, struct sg_text name,
                                      enum sg_symbol_kind kind)
{
    struct sg_symbol **bucket = &parser->links[sg_text_hash(name) % SG_SYMBOL_BUCKETS];
    struct sg_symbol *symbol = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *symbol);
    symbol->name = name;
    symbol->kind = kind;
    symbol->next_in_bucket = *bucket;
    *bucket = symbol;
    return symbol;
}

static _Noreturn void mismatch(struct sg_parser *parser, struct sg_text name, struct sg_place place,
                               struct sg_place other)
{
    char unit[128];
    sg_load_unit_name(parser->load, other.unit, unit, sizeof unit);
    sg_load_fail(parser->load, SG_LOAD_SYNTAX, place,
                 "'%.*s' is something else in %s, line %u, column %u", SG_TEXT_ARGS(name), unit,
                 other.line, other.column);
}

static _Noreturn void defined_twice(struct sg_parser *parser, struct sg_text name,
                                    struct sg_place place, struct sg_place other)
{
    char unit[128];
    if (place.unit == other.unit) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is defined twice",
                     SG_TEXT_ARGS(name));
    }
    sg_load_unit_name(parser->load, other.unit, unit, sizeof unit);
    sg_load_fail(parser->load, SG_LOAD_SYNTAX, place,
                 "'%.*s' is defined twice, first in %s, line %u, column %u", SG_TEXT_ARGS(name),
                 unit, other.line, other.column);
}

/* ---- functions ---- */

struct sg_ptx_func *sg_link_function(struct sg_parser *parser, struct sg_text name,
                                     struct sg_place place, bool entry)
{
    const struct sg_symbol *symbol = ptx_link_find(parser, name);
    if (symbol == NULL) {
        return NULL;
    }
    if (symbol->kind != SG_SYMBOL_FUNC) {
        mismatch(parser, name, place, symbol->var->place);
    }
    if (symbol->func->entry != entry) {
        mismatch(parser, name, place, symbol->func->place);
    }
    return symbol->func;
}

void sg_link_function_add(struct sg_parser *parser, struct sg_ptx_func *func)
{
    ptx_link_add(parser, func->name, SG_SYMBOL_FUNC)->func = func;
}

bool sg_link_function_defines(struct sg_parser *parser, const struct sg_ptx_func *func,
                              const struct sg_ptx_func *head, enum sg_binding binding)
{
    if (func->place.unit == head->place.unit ||
        (func->binding == SG_BINDING_STRONG && binding == SG_BINDING_STRONG)) {
        defined_twice(parser, head->name, head->place, func->place);
    }
    return binding > func->binding;
}

/* ---- variables ---- */

struct sg_ptx_var *sg_link_variable(struct sg_parser *parser, struct sg_ptx_var *var)
{
    const struct sg_symbol *symbol = ptx_link_find(parser, var->name);
    if (symbol == NULL) {
        ptx_link_add(parser, var->name, SG_SYMBOL_VAR)->var = var;
        return var;
    }
    if (symbol->kind != SG_SYMBOL_VAR) {
        mismatch(parser, var->name, var->place, symbol->func->place);
    }
    struct sg_ptx_var *known = symbol->var;
    if (known->space != var->space || known->reference != var->reference) {
        mismatch(parser, var->name, var->place, known->place);
    }
    if (var->external) {
        known->align = known->external && var->align > known->align ? var->align : known->align;
        return known;
    }
    if (!known->external && known->binding == SG_BINDING_STRONG &&
        var->binding == SG_BINDING_STRONG) {
        defined_twice(parser, var->name, var->place, known->place);
    }
    bool larger = var->binding == SG_BINDING_COMMON && var->bytes > known->bytes;
    if (known->external || var->binding > known->binding ||
        (var->binding == known->binding && larger)) {
        sg_variable_define(known, var);
    }
    return known;
}
