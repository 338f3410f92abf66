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

/* Parses all units of the load into one module; errors leave by sg_load_fail. */
struct sg_ptx_module *sg_parse_module(struct sg_load *load);

/* Tokens (token.c). */
void sg_parse_advance(struct sg_parser *parser);
bool sg_parse_at(const struct sg_parser *parser, char punct);
bool sg_parse_at_dot(const struct sg_parser *parser, const char *name);
bool sg_parse_take(struct sg_parser *parser, char punct);
bool sg_parse_take_dot(struct sg_parser *parser, const char *name);
void sg_parse_expect(struct sg_parser *parser, char punct);
struct sg_text sg_parse_name(struct sg_parser *parser, const char *what);
/* An integer of at most `max`. */
uint64_t sg_parse_int(struct sg_parser *parser, const char *what, uint64_t max);
_Noreturn void sg_parse_unexpected(struct sg_parser *parser, const char *wanted);

/* Scopes (scope.c). */
void sg_scope_open(struct sg_parser *parser, struct sg_scope *scope);
void sg_scope_close(struct sg_parser *parser);
/* NULL if unknown. For a register range the caller gets *reg. */
struct sg_symbol *sg_scope_find(struct sg_parser *parser, struct sg_text name, uint32_t *reg);
/* The name must be new in the innermost scope. */
struct sg_symbol *sg_scope_declare(struct sg_parser *parser, struct sg_text name,
                                   struct sg_place place, enum sg_symbol_kind kind);

/* Linking (link.c). */
/* The object of that name in earlier units; NULL: none yet. `place` is the current one. */
struct sg_ptx_func *sg_link_function(struct sg_parser *parser, struct sg_text name,
                                     struct sg_place place, bool entry);
void sg_link_function_add(struct sg_parser *parser, struct sg_ptx_func *func);
/* `head` has a body: whether it defines `func`, or is a copy of an existing definition. */
bool sg_link_function_defines(struct sg_parser *parser, const struct sg_ptx_func *func,
                              const struct sg_ptx_func *head, enum sg_binding binding);
/* The variable for `var`, a declaration or definition with linkage: `var` itself if it is new. */
struct sg_ptx_var *sg_link_variable(struct sg_parser *parser, struct sg_ptx_var *var);

/* Variables (variable.c), from the space directive, which has been read, to the ';'. */
void sg_parse_variables(struct sg_parser *parser, enum sg_ptx_space space,
                        struct sg_linkage linkage);
/* Gives `declared` the contents of `definition`; it keeps its index. */
void sg_variable_define(struct sg_ptx_var *declared, const struct sg_ptx_var *definition);
void sg_parse_registers(struct sg_parser *parser);
/* One parameter of a list, ".param ..." */
struct sg_ptx_var *sg_parse_parameter(struct sg_parser *parser);
bool sg_parse_space(struct sg_parser *parser, enum sg_ptx_space *space);

/* Functions (function.c), after ".entry" or ".func". */
void sg_parse_function(struct sg_parser *parser, bool entry, struct sg_linkage linkage);

/* The signature of a function or a prototype: perhaps a return list, then the name, then the
 * parameters. Variables go into parser->func. */
void sg_parse_signature(struct sg_parser *parser);

/* ".loc" and ".file", up to the end of the line (source.c). */
void sg_parse_loc(struct sg_parser *parser);
void sg_parse_file(struct sg_parser *parser);

/* Tables (table.c): whether the text after "label:" is a table, whose name is the label. */
bool sg_parse_at_table(const struct sg_parser *parser);
void sg_parse_table(struct sg_parser *parser, struct sg_symbol *label);

/* Instructions (statement.c). */
void sg_parse_insn(struct sg_parser *parser);
/* Gives the function an address, since it is used. */
void sg_parse_pointer(struct sg_parser *parser, struct sg_ptx_func *func);
struct sg_operand sg_parse_operand(struct sg_parser *parser);

/* Opcodes (opcode.c). */
enum sg_opcode_class { SG_OPCODE_UNKNOWN, SG_OPCODE_KNOWN, SG_OPCODE_SUPPORTED };
enum sg_opcode_class sg_opcode_class_of(struct sg_text opcode);

#endif
