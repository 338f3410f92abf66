/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: head, performance directives, body. */
#include "softgpu/ptx/function.h"

#include "softgpu/ptx/link.h"
#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/scope.h"
#include "softgpu/ptx/source.h"
#include "softgpu/ptx/statement.h"
#include "softgpu/ptx/token.h"
#include "softgpu/ptx/variable.h"

static void parse_param_list(struct sg_parser *parser, bool returns)
{
    struct sg_ptx_func *func = parser->func;
    while (!sg_parse_at(parser, ')')) {
        struct sg_ptx_var *var = sg_parse_parameter(parser);
        if (returns) {
            *SG_LOAD_PUSH(parser->load, func->returns) = var;
        } else {
            *SG_LOAD_PUSH(parser->load, func->params) = var;
        }
        if (!sg_parse_take(parser, ',')) {
            break;
        }
    }
    sg_parse_expect(parser, ')');
}

static void function_parse_dimensions(struct sg_parser *parser, uint32_t sizes[3])
{
    sizes[0] = sizes[1] = sizes[2] = 1;
    for (int i = 0; i < 3; i++) {
        sizes[i] = (uint32_t)sg_parse_int(parser, "a block size", 1 << 20);
        if (!sg_parse_take(parser, ',')) {
            break;
        }
    }
}

static void parse_performance(struct sg_parser *parser)
{
    struct sg_ptx_func *func = parser->func;
    while (parser->token.kind == SG_TOKEN_DOT) {
        if (sg_parse_take_dot(parser, "maxntid")) {
            function_parse_dimensions(parser, func->maxntid);
        } else if (sg_parse_take_dot(parser, "reqntid")) {
            function_parse_dimensions(parser, func->reqntid);
        } else if (sg_parse_take_dot(parser, "minnctapersm")) {
            func->min_blocks = (uint32_t)sg_parse_int(parser, "a number of blocks", 1 << 20);
        } else if (sg_parse_take_dot(parser, "reqnctapercluster")) {
            function_parse_dimensions(parser, func->cluster);
        } else if (sg_parse_take_dot(parser, "maxclusterrank")) {
            func->max_cluster = (uint32_t)sg_parse_int(parser, "a number of blocks", 1 << 20);
        } else if (sg_parse_take_dot(parser, "explicitcluster")) {
            func->explicit_cluster = true;
        } else if (sg_parse_take_dot(parser, "maxnreg")) {
            sg_parse_int(parser, "a number of registers", 1 << 20);
        } else if (sg_parse_take_dot(parser, "pragma")) {
            if (parser->token.kind != SG_TOKEN_STRING) {
                sg_parse_unexpected(parser, "a string");
            }
            sg_parse_advance(parser);
            sg_parse_expect(parser, ';');
        } else if (!sg_parse_take_dot(parser, "noreturn")) {
            sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                         "directive '.%.*s' is not supported", SG_TEXT_ARGS(parser->token.text));
        }
    }
}

static void parse_statement(struct sg_parser *parser);

static void parse_block(struct sg_parser *parser)
{
    struct sg_scope scope;
    if (++parser->depth > SG_PARSE_DEPTH) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, parser->token.place, "blocks nested too deep");
    }
    sg_scope_open(parser, &scope);
    while (!sg_parse_take(parser, '}')) {
        parse_statement(parser);
    }
    sg_scope_close(parser);
    parser->depth--;
}

static void function_parse_pragma(struct sg_parser *parser)
{
    do {
        if (parser->token.kind != SG_TOKEN_STRING) {
            sg_parse_unexpected(parser, "a string");
        }
        sg_parse_advance(parser);
    } while (sg_parse_take(parser, ','));
    sg_parse_expect(parser, ';');
}

static void parse_statement(struct sg_parser *parser)
{
    enum sg_ptx_space space;
    if (sg_parse_take(parser, '{')) {
        parse_block(parser);
    } else if (sg_parse_at_dot(parser, "loc")) {
        sg_parse_loc(parser);
    } else if (sg_parse_take_dot(parser, "pragma")) {
        function_parse_pragma(parser);
    } else if (sg_parse_space(parser, &space)) {
        if (space == SG_PTX_REG) {
            sg_parse_registers(parser);
        } else {
            sg_parse_variables(parser, space, (struct sg_linkage){false, SG_BINDING_LOCAL});
        }
    } else if (parser->token.kind == SG_TOKEN_DOT) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                     "directive '.%.*s' is not supported", SG_TEXT_ARGS(parser->token.text));
    } else {
        sg_parse_insn(parser);
    }
}

/* The function of that name: a new one, or one that was declared and is not defined yet. */
static struct sg_ptx_func *find_or_declare(struct sg_parser *parser, struct sg_text name,
                                           struct sg_place place, bool entry,
                                           struct sg_linkage linkage)
{
    struct sg_symbol *symbol = sg_scope_find(parser, name, NULL);
    if (symbol != NULL) {
        if (symbol->kind != SG_SYMBOL_FUNC || symbol->func->entry != entry) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is declared twice",
                         SG_TEXT_ARGS(name));
        }
        return symbol->func;
    }
    bool global = sg_linkage_is_global(linkage);
    struct sg_ptx_func *func = global ? sg_link_function(parser, name, place, entry) : NULL;
    if (func == NULL) {
        func = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *func);
        *func = (struct sg_ptx_func){.name = name, .place = place, .entry = entry};
        *parser->module->funcs_end = func;
        parser->module->funcs_end = &func->next;
        if (global) {
            sg_link_function_add(parser, func);
        }
    }
    sg_scope_declare(parser, name, place, SG_SYMBOL_FUNC)->func = func;
    return func;
}

/* The function for the body that begins here: `func` itself, or a copy that is not used. */
static struct sg_ptx_func *function_begin(struct sg_parser *parser, struct sg_ptx_func *func,
                                          const struct sg_ptx_func *head, struct sg_linkage linkage)
{
    bool body = sg_parse_at(parser, '{');
    if (func->defined && !body) {
        return func;
    }
    if (func->defined && !sg_link_function_defines(parser, func, head, linkage.binding)) {
        func = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *func);
    }
    struct sg_ptx_func *next = func->next;
    uint32_t pointer = func->pointer;
    *func = *head;
    func->next = next;
    func->pointer = pointer;
    func->external = linkage.external;
    func->binding = linkage.binding;
    return func;
}

void sg_parse_signature(struct sg_parser *parser)
{
    struct sg_ptx_func *func = parser->func;
    if (!func->entry && sg_parse_take(parser, '(')) {
        parse_param_list(parser, true);
    }
    func->place = parser->token.place;
    func->name = sg_parse_name(parser, "the name of a function");
    if (sg_parse_take(parser, '(')) {
        parse_param_list(parser, false);
    }
}

void sg_parse_function(struct sg_parser *parser, bool entry, struct sg_linkage linkage)
{
    /* The name comes after the return parameters: they are parsed into a function of their own. */
    struct sg_ptx_func head = {.entry = entry, .sm = parser->sm};
    struct sg_scope scope;
    struct sg_scope *module_scope = parser->scope;
    parser->func = &head;
    parser->frame_cursor = 0;
    parser->source = (struct sg_source){0, 0, 0};
    sg_scope_open(parser, &scope);
    sg_parse_signature(parser);
    parse_performance(parser);

    parser->scope = module_scope;
    struct sg_ptx_func *func = find_or_declare(parser, head.name, head.place, entry, linkage);
    parser->scope = &scope;
    func = function_begin(parser, func, &head, linkage);
    parser->func = func;
    if (sg_parse_take(parser, '{')) {
        func->defined = true;
        while (!sg_parse_take(parser, '}')) {
            parse_statement(parser);
        }
    } else {
        sg_parse_take(parser, ';');
    }
    sg_scope_close(parser);
    parser->func = NULL;
}
