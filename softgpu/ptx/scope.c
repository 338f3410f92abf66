/* SPDX-License-Identifier: Apache-2.0 */
/* Names. One hash table for all scopes: an inner declaration comes before the outer one in its
 * bucket and is removed with its scope. */
#include "softgpu/ptx/scope.h"

#include "softgpu/ptx/parse.h"

void sg_scope_open(struct sg_parser *parser, struct sg_scope *scope)
{
    *scope = (struct sg_scope){.parent = parser->scope, .frame_cursor = parser->frame_cursor};
    parser->scope = scope;
}

static void resolve_label(struct sg_parser *parser, const struct sg_label_use *use, uint32_t index)
{
    if (use->entry != NULL) {
        *use->entry = index;
        return;
    }
    struct sg_operand *operand = &parser->func->insns.items[use->insn].operands[use->operand];
    operand->kind = SG_OPERAND_LABEL;
    operand->value = index;
}

void sg_scope_close(struct sg_parser *parser)
{
    struct sg_scope *scope = parser->scope;
    for (struct sg_label_use *use = scope->uses, *next; use != NULL; use = next) {
        next = use->next;
        struct sg_symbol *symbol = sg_scope_find(parser, use->name, NULL);
        if (symbol != NULL && symbol->kind == SG_SYMBOL_LABEL) {
            resolve_label(parser, use, symbol->first);
        } else if (symbol != NULL || scope->parent == NULL || scope->parent->parent == NULL) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, use->place, "unknown label '%.*s'",
                         SG_TEXT_ARGS(use->name));
        } else {
            use->next = scope->parent->uses;
            scope->parent->uses = use;
        }
    }
    for (struct sg_symbol *symbol = scope->symbols; symbol != NULL;
         symbol = symbol->next_in_scope) {
        /* not always the first of its bucket: a function is declared while its own scope is open */
        struct sg_symbol **at = &parser->buckets[sg_text_hash(symbol->name) % SG_SYMBOL_BUCKETS];
        while (*at != symbol) {
            at = &(*at)->next_in_bucket;
        }
        *at = symbol->next_in_bucket;
    }
    parser->frame_cursor = scope->frame_cursor;
    parser->scope = scope->parent;
}

static struct sg_symbol *find_exact(struct sg_parser *parser, struct sg_text name, bool range)
{
    struct sg_symbol *symbol = parser->buckets[sg_text_hash(name) % SG_SYMBOL_BUCKETS];
    while (symbol != NULL &&
           (!sg_text_equal(symbol->name, name) || (symbol->kind == SG_SYMBOL_REG_RANGE) != range)) {
        symbol = symbol->next_in_bucket;
    }
    return symbol;
}

struct sg_symbol *sg_scope_find(struct sg_parser *parser, struct sg_text name, uint32_t *reg)
{
    struct sg_symbol *symbol = find_exact(parser, name, false);
    if (symbol != NULL) {
        if (reg != NULL) {
            *reg = symbol->first;
        }
        return symbol;
    }
    /* "%r12" of a range "%r": try every split, longest number first, without leading zeros */
    uint64_t number = 0, unit = 1;
    struct sg_symbol *best = NULL;
    for (uint32_t cut = name.len; cut > 1 && unit <= 1000000000; cut--, unit *= 10) {
        char c = name.at[cut - 1];
        if (c < '0' || c > '9') {
            break;
        }
        number += (uint64_t)(c - '0') * unit;
        if (c == '0' && cut != name.len) {
            continue;
        }
        symbol = find_exact(parser, (struct sg_text){name.at, cut - 1}, true);
        if (symbol != NULL && number < symbol->count && reg != NULL) {
            *reg = symbol->first + (uint32_t)number * symbol->vector;
            best = symbol;
        }
    }
    return best;
}

struct sg_symbol *sg_scope_declare(struct sg_parser *parser, struct sg_text name,
                                   struct sg_place place, enum sg_symbol_kind kind)
{
    struct sg_symbol *old = find_exact(parser, name, kind == SG_SYMBOL_REG_RANGE);
    if (old != NULL && old->owner == parser->scope) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is declared twice",
                     SG_TEXT_ARGS(name));
    }
    struct sg_symbol *symbol = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *symbol);
    uint32_t bucket = sg_text_hash(name) % SG_SYMBOL_BUCKETS;
    symbol->name = name;
    symbol->kind = kind;
    symbol->owner = parser->scope;
    symbol->vector = 1;
    symbol->next_in_bucket = parser->buckets[bucket];
    parser->buckets[bucket] = symbol;
    symbol->next_in_scope = parser->scope->symbols;
    parser->scope->symbols = symbol;
    return symbol;
}
