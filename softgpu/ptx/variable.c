/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of variables, parameters and registers. */
#include "softgpu/ptx/variable.h"

#include "softgpu/ptx/initialiser.h"
#include "softgpu/ptx/link.h"
#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/scope.h"
#include "softgpu/ptx/statement.h"
#include "softgpu/ptx/token.h"
#include "softgpu/ptx/type.h"

#define FRAME_ALIGN_MAX  64
#define REGISTERS_MAX    4000000
#define VECTOR_BYTES_MAX 16u

struct declaration {
    enum sg_type type;
    unsigned vector; /* elements, 1 = scalar */
    uint32_t align;  /* 0: natural */
    bool managed;
    enum sg_reference reference;
};

bool sg_parse_space(struct sg_parser *parser, enum sg_ptx_space *space)
{
    static const struct {
        const char *name;
        enum sg_ptx_space space;
    } spaces[] = {{"reg", SG_PTX_REG},       {"global", SG_PTX_GLOBAL}, {"const", SG_PTX_CONST},
                  {"shared", SG_PTX_SHARED}, {"local", SG_PTX_LOCAL},   {"param", SG_PTX_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (sg_parse_take_dot(parser, spaces[i].name)) {
            *space = spaces[i].space;
            return true;
        }
    }
    return false;
}

static uint32_t parse_align(struct sg_parser *parser)
{
    struct sg_place place = parser->token.place;
    uint64_t align = sg_parse_int(parser, "an alignment", 4096);
    if (align == 0 || (align & (align - 1))) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "an alignment is a power of two");
    }
    return (uint32_t)align;
}

/* "(.managed)" after .attribute; .unified of functions and variables is not supported. */
static void parse_attributes(struct sg_parser *parser, struct declaration *d)
{
    sg_parse_expect(parser, '(');
    if (!sg_parse_take_dot(parser, "managed")) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                     "attribute '%.*s' is not supported", SG_TEXT_ARGS(parser->token.text));
    }
    d->managed = true;
    sg_parse_expect(parser, ')');
}

/* .texref and .surfref are 8 bytes; separate samplers are not supported. */
static bool take_reference(struct sg_text text, struct declaration *d)
{
    if (d->type != SG_TYPE_NONE) {
        return false;
    }
    d->reference = sg_text_is(text, "texref")    ? SG_REFERENCE_TEXTURE
                   : sg_text_is(text, "surfref") ? SG_REFERENCE_SURFACE
                                                 : SG_REFERENCE_NONE;
    d->type = d->reference != SG_REFERENCE_NONE ? SG_TYPE_B64 : SG_TYPE_NONE;
    return d->reference != SG_REFERENCE_NONE;
}

/* ".align 4 .v2 .f32", in any order; ".ptr .global" of parameters is ignored. */
static struct declaration parse_declaration(struct sg_parser *parser)
{
    struct declaration d = {SG_TYPE_NONE, 1, 0, false, SG_REFERENCE_NONE};
    bool pointer = false;
    while (parser->token.kind == SG_TOKEN_DOT) {
        struct sg_text text = parser->token.text;
        enum sg_type type = sg_type_of(text);
        if (type != SG_TYPE_NONE && d.type == SG_TYPE_NONE) {
            d.type = type;
        } else if (take_reference(text, &d)) {
            ; /* that was all of it */
        } else if (sg_text_is(text, "align")) {
            sg_parse_advance(parser);
            uint32_t align = parse_align(parser);
            if (!pointer) {
                d.align = align;
            }
            continue;
        } else if (sg_text_is(text, "attribute")) {
            sg_parse_advance(parser);
            parse_attributes(parser, &d);
            continue;
        } else if (sg_text_is(text, "v2") || sg_text_is(text, "v4") || sg_text_is(text, "v8")) {
            d.vector = (unsigned)(text.at[1] - '0');
        } else if (sg_text_is(text, "ptr")) {
            pointer = true;
        } else if (!(pointer && (sg_text_is(text, "global") || sg_text_is(text, "shared") ||
                                 sg_text_is(text, "const") || sg_text_is(text, "local")))) {
            sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                         "'.%.*s' in a declaration is not supported", SG_TEXT_ARGS(text));
        }
        sg_parse_advance(parser);
    }
    if (d.type == SG_TYPE_NONE) {
        sg_parse_unexpected(parser, "a type");
    }
    return d;
}

void sg_parse_registers(struct sg_parser *parser)
{
    struct declaration d = parse_declaration(parser);
    const unsigned each = d.type == SG_TYPE_PRED ? VECTOR_BYTES_MAX : sg_type_bytes(d.type);
    if (d.reference != SG_REFERENCE_NONE) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                     "registers that hold references are not supported");
    }
    if (d.vector != 1 && (d.vector > 4 || d.vector * each > VECTOR_BYTES_MAX)) {
        sg_load_fail(
            parser->load, SG_LOAD_SYNTAX, parser->token.place,
            "a vector register has 2 or 4 components, at most 128 bits, and no predicates");
    }
    struct sg_ptx_func *func = parser->func;
    do {
        struct sg_place place = parser->token.place;
        struct sg_text name = sg_parse_name(parser, "a register name");
        bool range = sg_parse_take(parser, '<');
        uint32_t count = 1;
        if (range) {
            count = (uint32_t)sg_parse_int(parser, "a register count", 1000000);
            sg_parse_expect(parser, '>');
        }
        if (func->regs.count + count * d.vector > REGISTERS_MAX) {
            sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, place,
                         "a function of more than %d registers is not supported", REGISTERS_MAX);
        }
        struct sg_symbol *symbol =
            sg_scope_declare(parser, name, place, range ? SG_SYMBOL_REG_RANGE : SG_SYMBOL_REG);
        symbol->first = func->regs.count;
        symbol->count = count;
        symbol->vector = d.vector;
        for (uint32_t i = 0; i < count * d.vector; i++) {
            SG_LOAD_PUSH(parser->load, func->regs)->type = d.type;
        }
    } while (sg_parse_take(parser, ','));
    sg_parse_expect(parser, ';');
}

static void place_in_frame(struct sg_parser *parser, struct sg_ptx_var *var)
{
    if (var->align > FRAME_ALIGN_MAX) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, var->place,
                     "local variables are aligned to at most %d bytes", FRAME_ALIGN_MAX);
    }
    uint64_t at = (parser->frame_cursor + var->align - 1) & ~(uint64_t)(var->align - 1);
    parser->frame_cursor = at + var->bytes;
    if (parser->frame_cursor > (1u << 24)) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place, "too much local memory");
    }
    var->offset = at;
    if (parser->frame_cursor > parser->func->frame_bytes) {
        parser->func->frame_bytes = parser->frame_cursor;
    }
}

/* inner_bytes: the bytes of one element of each dimension. */
static void note_dimensions(struct sg_ptx_var *var, const uint64_t *sizes, uint32_t count)
{
    uint64_t bytes = sg_type_bytes(var->type);
    for (uint32_t i = count; i-- > 1;) {
        bytes *= sizes[i];
        var->inner_bytes[i] = bytes;
    }
}

/* "[4][8]" after the name; a vector is one more dimension. */
static void variable_parse_dimensions(struct sg_parser *parser, struct sg_ptx_var *var,
                                      unsigned vector)
{
    uint64_t elements = vector, sizes[SG_PTX_DIMENSIONS] = {0};
    uint32_t count = 0;
    while (sg_parse_take(parser, '[')) {
        struct sg_place place = parser->token.place;
        uint64_t size = 0;
        if (count == 0 && sg_parse_at(parser, ']')) {
            var->unsized = true;
        } else {
            size = sg_parse_int(parser, "an array size", UINT64_C(1) << 40);
        }
        if (count == SG_PTX_DIMENSIONS - 1 || (size && elements > (UINT64_C(1) << 40) / size)) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "array too large");
        }
        elements *= var->unsized && count == 0 ? 1 : size;
        sizes[count++] = size;
        sg_parse_expect(parser, ']');
    }
    if (vector > 1) {
        sizes[count++] = vector;
    }
    note_dimensions(var, sizes, count);
    var->bytes = var->unsized ? 0 : elements * sg_type_in_memory(var->type);
}

static struct sg_ptx_var *parse_variable(struct sg_parser *parser, const struct declaration *d,
                                         enum sg_ptx_space space)
{
    struct sg_ptx_var *var = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *var);
    var->space = space;
    var->type = d->type;
    var->place = parser->token.place;
    var->name = sg_parse_name(parser, "a variable name");
    if (d->type == SG_TYPE_PRED && space != SG_PTX_REG) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place, "no variable can be a predicate");
    }
    uint32_t natural = sg_type_in_memory(d->type) * d->vector;
    var->align = d->align ? d->align : natural;
    var->managed = d->managed;
    var->reference = d->reference;
    variable_parse_dimensions(parser, var, d->vector);
    if (var->reference != SG_REFERENCE_NONE &&
        (space != SG_PTX_GLOBAL || var->bytes != sg_type_bytes(SG_TYPE_B64) || var->unsized ||
         var->managed || sg_parse_at(parser, '='))) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, var->place,
                     "texture and surface references are supported as single .global variables, "
                     "without initialisers");
    }
    return var;
}

void sg_variable_define(struct sg_ptx_var *declared, const struct sg_ptx_var *definition)
{
    uint32_t index = declared->index;
    struct sg_ptx_var *next = declared->next;
    *declared = *definition;
    declared->index = index;
    declared->next = next;
}

static void declare_variable(struct sg_parser *parser, struct sg_ptx_var *var,
                             struct sg_linkage linkage)
{
    var->external = linkage.external;
    var->visible = linkage.binding != SG_BINDING_LOCAL;
    var->binding = linkage.binding;
    struct sg_symbol *old = parser->func != NULL ? NULL : sg_scope_find(parser, var->name, NULL);
    bool global = sg_linkage_is_global(linkage);
    bool again = old != NULL &&
                 old->kind == SG_SYMBOL_VAR && /* declared, or defined by another unit */
                 (old->var->external || (global && old->var->place.unit != var->place.unit));
    struct sg_ptx_var *linked =
        global && (old == NULL || again) ? sg_link_variable(parser, var) : var;
    if (again && !global) { /* ".extern" before, but not now */
        sg_variable_define(old->var, var);
    }
    if (again) {
        return;
    }
    sg_scope_declare(parser, var->name, var->place, SG_SYMBOL_VAR)->var = linked;
    if (linked == var && (var->space == SG_PTX_GLOBAL || var->space == SG_PTX_CONST)) {
        var->index = parser->module->variable_count++;
        *parser->module->vars_end = var;
        parser->module->vars_end = &var->next;
    }
}

void sg_parse_variables(struct sg_parser *parser, enum sg_ptx_space space,
                        struct sg_linkage linkage)
{
    struct declaration d = parse_declaration(parser);
    do {
        struct sg_ptx_var *var = parse_variable(parser, &d, space);
        if (sg_parse_take(parser, '=')) {
            uint64_t at = 0;
            if (space != SG_PTX_GLOBAL && space != SG_PTX_CONST) {
                sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place,
                             "only .global and .const variables have initialisers");
            }
            sg_parse_initialiser(parser, var, &at);
            if (var->unsized) {
                var->bytes = at;
                var->unsized = false;
            }
        }
        if (var->unsized && !linkage.external) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place, "the array needs a size");
        }
        if (space == SG_PTX_LOCAL || space == SG_PTX_PARAM) {
            if (parser->func == NULL) {
                sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place,
                             "no .local or .param variable can stand outside functions");
            }
            place_in_frame(parser, var);
        }
        declare_variable(parser, var, linkage);
    } while (sg_parse_take(parser, ','));
    sg_parse_expect(parser, ';');
}

/* "_" stands for an unused name, as in prototypes. */
static void declare_parameter(struct sg_parser *parser, struct sg_ptx_var *var)
{
    struct sg_ptx_func *func = parser->func;
    if (var->in_register) {
        var->reg = func->regs.count;
        SG_LOAD_PUSH(parser->load, func->regs)->type = var->type;
    }
    if (sg_text_is(var->name, "_")) {
        return;
    }
    struct sg_symbol *symbol = sg_scope_declare(parser, var->name, var->place,
                                                var->in_register ? SG_SYMBOL_REG : SG_SYMBOL_VAR);
    symbol->var = var;
    symbol->first = var->reg;
    symbol->count = 1;
}

/* All parameters of a kernel together (PTX ISA 9.0, .entry). */
#define PARAM_BYTES_MAX 32764u /* from PTX ISA 8.1 and sm_70 on */
#define PARAM_BYTES_OLD 4352u

static void place_kernel_parameter(struct sg_parser *parser, struct sg_ptx_var *var)
{
    struct sg_ptx_func *func = parser->func;
    bool wide = parser->version >= 8.1 && parser->sm >= 70;
    uint32_t most = wide ? PARAM_BYTES_MAX : PARAM_BYTES_OLD;
    var->offset = (func->param_bytes + var->align - 1) & ~(uint64_t)(var->align - 1);
    func->param_bytes = var->offset + var->bytes;
    if (func->param_bytes > most) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place,
                     "kernel '%.*s' has more than %u bytes of parameters, the most that there can "
                     "be%s",
                     SG_TEXT_ARGS(func->name), most,
                     wide ? "" : " (32764 from PTX ISA 8.1 and sm_70 on)");
    }
}

struct sg_ptx_var *sg_parse_parameter(struct sg_parser *parser)
{
    struct sg_ptx_func *func = parser->func;
    bool in_register = !func->entry && sg_parse_take_dot(parser, "reg");
    if (!in_register && !sg_parse_take_dot(parser, "param")) {
        sg_parse_unexpected(parser, "'.param'");
    }
    struct declaration d = parse_declaration(parser);
    struct sg_ptx_var *var = parse_variable(parser, &d, in_register ? SG_PTX_REG : SG_PTX_PARAM);
    var->space = SG_PTX_PARAM;
    var->in_register = in_register;
    if (var->unsized || (!func->entry && var->bytes > 65536)) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, var->place,
                     "parameters without size, or of more than 64 KiB, are not supported");
    }
    if (in_register && var->bytes != sg_type_in_memory(var->type)) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, var->place, "a register is no array");
    }
    if (func->entry) {
        place_kernel_parameter(parser, var);
    } else {
        place_in_frame(parser, var);
    }
    declare_parameter(parser, var);
    return var;
}
