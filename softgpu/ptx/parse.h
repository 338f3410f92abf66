/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's internal header: module -> variables -> functions -> instructions, one file each. */
#ifndef SOFTGPU_PTX_PARSE_H
#define SOFTGPU_PTX_PARSE_H

#include "softgpu/ptx/ast.h"
#include "softgpu/ptx/lex.h"

enum sg_symbol_kind {
    SG_SYMBOL_VAR,
    SG_SYMBOL_FUNC,
    SG_SYMBOL_REG,
    SG_SYMBOL_REG_RANGE, /* ".reg .b32 %r<9>": named "%r" */
    SG_SYMBOL_LABEL,
    SG_SYMBOL_TABLE,
};

struct sg_symbol {
    struct sg_symbol *next_in_bucket, *next_in_scope;
    const struct sg_scope *owner;
    struct sg_text name;
    enum sg_symbol_kind kind;
    uint32_t first, count; /* registers, or the label's instruction index */
    uint32_t vector;       /* registers of each, one after the other: 1, 2 or 4 */
    struct sg_ptx_var *var;
    struct sg_ptx_func *func;
    struct sg_ptx_table *table;
};

struct sg_label_use {
    struct sg_label_use *next;
    struct sg_text name;
    struct sg_place place;
    uint32_t insn, operand;
    uint64_t *entry; /* of a table; NULL: the operand itself */
};

struct sg_scope {
    struct sg_scope *parent;
    struct sg_symbol *symbols;
    struct sg_label_use *uses; /* of labels not defined yet */
    uint64_t frame_cursor;     /* that of the function's frame when the scope began */
};

#define SG_SYMBOL_BUCKETS 4096
#define SG_PARSE_DEPTH    200

struct sg_parser {
    struct sg_load *load;
    struct sg_lexer lexer;
    struct sg_token token; /* the current token */
    struct sg_ptx_module *module;
    struct sg_scope *scope;
    struct sg_ptx_func *func; /* being parsed, or NULL */
    unsigned sm;              /* from the unit's .target, 75 for sm_75 */
    double version;           /* of PTX ISA, by the unit's .version */
    uint64_t frame_cursor;
    struct sg_source source;                      /* from the last .loc */
    uint32_t depth;                               /* of blocks and lists: limits the recursion */
    struct sg_symbol *buckets[SG_SYMBOL_BUCKETS]; /* of the unit being parsed */
    struct sg_symbol *links[SG_SYMBOL_BUCKETS];   /* names that all units share: see link.c */
};

struct sg_linkage {
    bool external;
    enum sg_binding binding; /* LOCAL also for external ones */
};

static inline bool sg_linkage_is_global(struct sg_linkage linkage)
{
    return linkage.external || linkage.binding != SG_BINDING_LOCAL;
}

#endif
