/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that a label names: the prototype or the possible targets of calls through pointers
 * (PTX ISA 9.0, 11.3), and the targets of brx.idx. */
#include "softgpu/ptx/table.h"

#include "softgpu/ptx/function.h"
#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/scope.h"
#include "softgpu/ptx/statement.h"
#include "softgpu/ptx/token.h"

bool sg_parse_at_table(const struct sg_parser *parser)
{
    return sg_parse_at_dot(parser, "callprototype") || sg_parse_at_dot(parser, "calltargets") ||
           sg_parse_at_dot(parser, "branchtargets");
}

/* "(.param .b32 _) _ (.param .b64 _) .noreturn": a function without body and without address */
static struct sg_ptx_func *parse_prototype(struct sg_parser *parser)
{
    struct sg_ptx_func *prototype =
        sg_load_alloc(parser->load, &parser->load->scratch, sizeof *prototype);
    struct sg_ptx_func *caller = parser->func;
    uint64_t cursor = parser->frame_cursor;
    struct sg_scope scope;
    parser->func = prototype;
    parser->frame_cursor = 0;
    sg_scope_open(parser, &scope);
    sg_parse_signature(parser);
    sg_parse_take_dot(parser, "noreturn");
    sg_scope_close(parser);
    parser->frame_cursor = cursor;
    parser->func = caller;
    return prototype;
}

/* All of them have one signature, that of the first. */
static struct sg_ptx_func *parse_call_targets(struct sg_parser *parser)
{
    struct sg_ptx_func *first = NULL;
    do {
        struct sg_place place = parser->token.place;
        struct sg_text name = sg_parse_name(parser, "the name of a function");
        struct sg_symbol *symbol = sg_scope_find(parser, name, NULL);
        if (symbol == NULL || symbol->kind != SG_SYMBOL_FUNC) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is no function",
                         SG_TEXT_ARGS(name));
        }
        sg_parse_pointer(parser, symbol->func);
        first = first != NULL ? first : symbol->func;
    } while (sg_parse_take(parser, ','));
    return first;
}

static void parse_branch_targets(struct sg_parser *parser, struct sg_ptx_table *table)
{
    struct {
        struct sg_label_use *items;
        uint32_t count, room;
    } uses = {NULL, 0, 0};
    do {
        struct sg_label_use *use = SG_LOAD_PUSH(parser->load, uses);
        use->place = parser->token.place;
        use->name = sg_parse_name(parser, "a label");
    } while (sg_parse_take(parser, ','));
    table->label_count = uses.count;
    table->labels =
        sg_load_alloc(parser->load, &parser->load->scratch, uses.count * sizeof table->labels[0]);
    for (uint32_t i = 0; i < uses.count; i++) {
        uses.items[i].next = parser->scope->uses;
        uses.items[i].entry = &table->labels[i];
        parser->scope->uses = &uses.items[i];
    }
}

void sg_parse_table(struct sg_parser *parser, struct sg_symbol *label)
{
    struct sg_ptx_table *table = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *table);
    if (sg_parse_take_dot(parser, "callprototype")) {
        table->prototype = parse_prototype(parser);
    } else if (sg_parse_take_dot(parser, "calltargets")) {
        table->prototype = parse_call_targets(parser);
    } else {
        sg_parse_advance(parser);
        parse_branch_targets(parser, table);
    }
    sg_parse_expect(parser, ';');
    label->kind = SG_SYMBOL_TABLE;
    label->table = table;
}
