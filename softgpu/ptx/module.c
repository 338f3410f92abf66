/* SPDX-License-Identifier: Apache-2.0 */
/* The module: everything outside functions. */
#include "softgpu/ptx/module.h"

#include <string.h>

#include "softgpu/ptx/builtin_unit.h"
#include "softgpu/ptx/function.h"
#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/source.h"
#include "softgpu/ptx/token.h"
#include "softgpu/ptx/variable.h"

static void parse_version(struct sg_parser *parser)
{
    if (!sg_parse_take_dot(parser, "version")) {
        sg_parse_unexpected(parser, "'.version'");
    }
    if (parser->token.kind != SG_TOKEN_F64) {
        sg_parse_unexpected(parser, "a version like 9.0");
    }
    memcpy(&parser->version, &parser->token.value, sizeof parser->version);
    sg_parse_advance(parser);
}

/* sm_75, sm_90a, sm_100f */
static bool take_architecture(struct sg_parser *parser, struct sg_text name)
{
    struct sg_target *target = &parser->module->target;
    unsigned sm = 0;
    uint32_t at = 3;
    if (!sg_text_starts(name, "sm_")) {
        return false;
    }
    for (; at < name.len && at < 7 && name.at[at] >= '0' && name.at[at] <= '9'; at++) {
        sm = sm * 10 + (unsigned)(name.at[at] - '0');
    }
    bool only = at + 1 == name.len && (name.at[at] == 'a' || name.at[at] == 'f');
    if (at == 3 || (at != name.len && !only)) {
        return false;
    }
    parser->sm = sm;
    target->sm = sm > target->sm ? sm : target->sm;
    target->only = only ? sm : target->only;
    return true;
}

static void parse_target(struct sg_parser *parser)
{
    do {
        struct sg_place place = parser->token.place;
        struct sg_text name = sg_parse_name(parser, "a target like sm_75");
        /* map_f64_to_f32 concerns GPUs without f64 (sm_1x) and has no effect on others. */
        if (!take_architecture(parser, name) && !sg_text_is(name, "debug") &&
            !sg_text_starts(name, "texmode_") && !sg_text_is(name, "map_f64_to_f32")) {
            sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, place, "target '%.*s' is not supported",
                         SG_TEXT_ARGS(name));
        }
    } while (sg_parse_take(parser, ','));
}

static void skip_section(struct sg_parser *parser)
{
    if (parser->token.kind != SG_TOKEN_DOT && parser->token.kind != SG_TOKEN_NAME) {
        sg_parse_unexpected(parser, "a section name");
    }
    sg_parse_advance(parser);
    sg_parse_expect(parser, '{');
    while (!sg_parse_take(parser, '}')) {
        if (parser->token.kind == SG_TOKEN_END) {
            sg_parse_unexpected(parser, "'}'");
        }
        sg_parse_advance(parser);
    }
}

static void module_parse_pragma(struct sg_parser *parser)
{
    if (parser->token.kind != SG_TOKEN_STRING) {
        sg_parse_unexpected(parser, "a string");
    }
    sg_parse_advance(parser);
    sg_parse_expect(parser, ';');
}

static void parse_definition(struct sg_parser *parser)
{
    struct sg_linkage linkage = {false, SG_BINDING_LOCAL};
    enum sg_ptx_space space;
    for (;;) {
        if (sg_parse_take_dot(parser, "visible")) {
            linkage.binding = SG_BINDING_STRONG;
        } else if (sg_parse_take_dot(parser, "extern")) {
            linkage.external = true;
        } else if (sg_parse_take_dot(parser, "weak")) {
            linkage.binding = SG_BINDING_WEAK;
        } else if (sg_parse_take_dot(parser, "common")) {
            linkage.binding = SG_BINDING_COMMON;
        } else {
            break;
        }
    }
    if (sg_parse_take_dot(parser, "entry")) {
        sg_parse_function(parser, true, linkage);
    } else if (sg_parse_take_dot(parser, "func")) {
        sg_parse_function(parser, false, linkage);
    } else if (!sg_parse_at_dot(parser, "reg") && sg_parse_space(parser, &space)) {
        sg_parse_variables(parser, space, linkage);
    } else if (parser->token.kind == SG_TOKEN_DOT) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                     "directive '.%.*s' is not supported", SG_TEXT_ARGS(parser->token.text));
    } else {
        sg_parse_unexpected(parser, "a directive");
    }
}

static void parse_unit(struct sg_parser *parser)
{
    struct sg_load *load = parser->load;
    sg_parse_advance(parser);
    parse_version(parser);
    while (parser->token.kind != SG_TOKEN_END) {
        if (sg_parse_take_dot(parser, "target")) {
            parse_target(parser);
        } else if (sg_parse_at_dot(parser, "address_size")) {
            sg_parse_advance(parser);
            struct sg_place place = parser->token.place;
            if (sg_parse_int(parser, "an address size", 64) != 64) {
                sg_load_fail(load, SG_LOAD_UNSUPPORTED, place, "the address size must be 64");
            }
        } else if (sg_parse_at_dot(parser, "file")) {
            sg_parse_file(parser);
        } else if (sg_parse_at_dot(parser, "loc") || sg_parse_at(parser, '@')) {
            sg_lexer_skip_line(&parser->lexer);
            sg_parse_advance(parser);
        } else if (sg_parse_take_dot(parser, "section")) {
            skip_section(parser);
        } else if (sg_parse_take_dot(parser, "pragma")) {
            module_parse_pragma(parser);
        } else if (!sg_parse_take(parser, ';')) {
            parse_definition(parser);
        }
    }
}

struct sg_ptx_module *sg_parse_module(struct sg_load *load)
{
    struct sg_parser *parser = sg_load_alloc(load, &load->scratch, sizeof *parser);
    struct sg_ptx_module *module = sg_load_alloc(load, &load->scratch, sizeof *module);
    parser->load = load;
    parser->module = module;
    module->vars_end = &module->vars;
    module->funcs_end = &module->funcs;
    for (size_t i = 0; i <= load->unit_count; i++) {
        if (i == load->unit_count && !sg_builtin_unit_wanted(module)) {
            break;
        }
        const struct sg_unit own = sg_builtin_unit();
        const struct sg_unit *unit = i < load->unit_count ? &load->units[i] : &own;
        bool terminated = unit->bytes && unit->text[unit->bytes - 1] == '\0';
        memset(parser->buckets, 0, sizeof parser->buckets);
        parser->scope = sg_load_alloc(load, &load->scratch, sizeof *parser->scope);
        parser->sm = 0;
        sg_lexer_init(&parser->lexer, load, unit->text, unit->bytes - terminated, (uint16_t)i);
        parse_unit(parser);
    }
    return module;
}
