/* SPDX-License-Identifier: Apache-2.0 */
/* A PTX module after parsing: names are resolved, nothing is decoded. Everything lies in the load's
 * scratch arena. Registers are numbered per function; labels are instruction indices. */
#ifndef SOFTGPU_PTX_AST_H
#define SOFTGPU_PTX_AST_H

#include "softgpu/exec/insn.h"
#include "softgpu/ptx/load.h"

enum sg_type {
    SG_TYPE_NONE,
    SG_TYPE_U8,
    SG_TYPE_U16,
    SG_TYPE_U32,
    SG_TYPE_U64,
    SG_TYPE_S8,
    SG_TYPE_S16,
    SG_TYPE_S32,
    SG_TYPE_S64,
    SG_TYPE_B8,
    SG_TYPE_B16,
    SG_TYPE_B32,
    SG_TYPE_B64,
    SG_TYPE_B128,
    SG_TYPE_F16,
    SG_TYPE_F16X2,
    SG_TYPE_BF16,
    SG_TYPE_BF16X2,
    SG_TYPE_F32,
    SG_TYPE_F64,
    SG_TYPE_PRED,
};
static inline bool sg_type_is_float(enum sg_type type)
{
    return type >= SG_TYPE_F16 && type <= SG_TYPE_F64;
}
static inline bool sg_type_is_signed(enum sg_type type)
{
    return type >= SG_TYPE_S8 && type <= SG_TYPE_S64;
}

enum sg_ptx_space {
    SG_PTX_REG,
    SG_PTX_GLOBAL,
    SG_PTX_CONST,
    SG_PTX_SHARED,
    SG_PTX_LOCAL,
    SG_PTX_PARAM,
};

enum sg_reference { SG_REFERENCE_NONE, SG_REFERENCE_TEXTURE, SG_REFERENCE_SURFACE };

struct sg_ptx_var;
struct sg_ptx_func;

/* The binding of a definition among those of the same name in other modules: the highest one
 * stays. */
enum sg_binding { SG_BINDING_LOCAL, SG_BINDING_COMMON, SG_BINDING_WEAK, SG_BINDING_STRONG };

struct sg_ptx_init { /* one stored element of an initialiser */
    struct sg_place place;
    uint64_t offset, value; /* value: bits, or the addend of `variable` or `func` */
    const struct sg_ptx_var *variable;
    const struct sg_ptx_func *func; /* instead of `variable` */
    uint64_t mask; /* 0: all bits. Otherwise, "0xFF00(name)": these bits of the sum, shifted down */
    uint32_t bytes;
};

#define SG_PTX_DIMENSIONS 8

struct sg_ptx_var {
    struct sg_text name;
    struct sg_place place;
    enum sg_ptx_space space;
    enum sg_type type;
    uint32_t align;
    uint64_t bytes;                          /* 0 with `unsized`: extern .shared x[] */
    uint64_t inner_bytes[SG_PTX_DIMENSIONS]; /* of an element of each dimension but the last */
    bool external, visible, unsized;
    bool managed; /* the host uses it at the same address */
    /* .texref or .surfref: 8 bytes that hold the handle of the bound object */
    enum sg_reference reference;
    enum sg_binding binding;
    bool in_register; /* a parameter in .reg space: passed like the others, then moved to a register
                       */
    uint32_t reg;
    struct {
        struct sg_ptx_init *items;
        uint32_t count, room;
    } inits;
    uint32_t index;  /* GLOBAL, CONST: in the module. LOCAL, PARAM of a .func: see `offset` */
    uint64_t offset; /* LOCAL and PARAM: from the start of the function's frame (entry parameters:
                        of the parameter block). SHARED: set while decoding a kernel */
    uint32_t kernel_mark; /* SHARED: the decoding pass that set the offset */
    struct sg_ptx_var *next;
};

enum sg_operand_kind {
    SG_OPERAND_NONE,
    SG_OPERAND_REG,     /* reg, negated */
    SG_OPERAND_INT,     /* value */
    SG_OPERAND_F32,     /* value: bits */
    SG_OPERAND_F64,     /* value: bits */
    SG_OPERAND_SPECIAL, /* text: "%tid.x" joined */
    SG_OPERAND_VAR,     /* var + value */
    SG_OPERAND_FUNC,
    SG_OPERAND_ADDRESS, /* [items[0] + value]; items[0] a REG, VAR or (no item) absolute; textures
                           and surfaces have more: [items[0], items[1]] */
    SG_OPERAND_LIST,    /* {..} or (..): items */
    SG_OPERAND_LABEL,   /* value: instruction index */
    SG_OPERAND_SINK,    /* _ */
    SG_OPERAND_TABLE,   /* table */
};

/* A table that a label names: .callprototype, .calltargets or .branchtargets. */
struct sg_ptx_table {
    struct sg_ptx_func
        *prototype;   /* prototype of the functions that may be called; .branchtargets: NULL */
    uint64_t *labels; /* .branchtargets: instruction indices */
    uint32_t label_count;
};

struct sg_operand {
    enum sg_operand_kind kind;
    struct sg_place place;
    bool negated;
    uint32_t reg;
    uint64_t value;
    struct sg_text text;
    struct sg_text part; /* of a register, in video instructions: "h1", "b3210" */
    struct sg_ptx_var *var;
    struct sg_ptx_func *func;
    const struct sg_ptx_table *table;
    struct sg_operand *items;
    uint32_t item_count;
    struct sg_operand *pair; /* "p|q" and "{..}|q": q */
};

#define SG_PTX_MODIFIERS 12
#define SG_PTX_OPERANDS  8

struct sg_ptx_insn {
    struct sg_place place;
    struct sg_source source;
    struct sg_text opcode;
    struct sg_text modifiers[SG_PTX_MODIFIERS];
    uint32_t modifier_count;
    bool guarded, guard_negated;
    uint32_t guard_reg;
    struct sg_operand operands[SG_PTX_OPERANDS];
    uint32_t operand_count;
};

struct sg_ptx_reg {
    enum sg_type type;
};

struct sg_ptx_func {
    struct sg_text name;
    struct sg_place place;
    bool entry, defined, external;
    enum sg_binding binding; /* of the definition */
    uint32_t pointer; /* its number among the functions whose address is used, from 1; 0: none */
    struct {
        struct sg_ptx_var **items;
        uint32_t count, room;
    } params, returns;
    struct {
        struct sg_ptx_reg *items;
        uint32_t count, room;
    } regs;
    struct {
        struct sg_ptx_insn *items;
        uint32_t count, room;
    } insns;
    uint64_t frame_bytes, param_bytes;
    uint32_t maxntid[3], reqntid[3], min_blocks;
    uint32_t cluster[3], max_cluster; /* .reqnctapercluster, .maxclusterrank; 0: none */
    bool explicit_cluster;
    unsigned sm; /* from its unit's .target */
    struct sg_ptx_func *next;
    /* State of decoding. */
    uint32_t call_mark; /* kernel pass that reached it */
    uint32_t slot;      /* its index in that pass */
};

struct sg_ptx_file { /* ".file": each unit has numbers of its own */
    uint16_t unit;
    uint64_t number;
    struct sg_text name; /* empty until it is declared, often after its first use */
};

struct sg_ptx_module {
    struct sg_ptx_var *vars, **vars_end; /* module scope, in order */
    struct sg_ptx_func *funcs, **funcs_end;
    uint32_t variable_count; /* GLOBAL and CONST */
    uint32_t pointer_count;  /* functions whose address is used */
    struct {
        struct sg_ptx_file *items;
        uint32_t count, room;
    } files;
    const char **file_names; /* the same, kept with the program */
    struct sg_target target;
    uint64_t code_base; /* first address of functions */
};

/* The address that kernels see for a function whose `pointer` is not 0. It is the same in all
 * kernels of the module, and no memory lies there. */
static inline uint64_t sg_ptx_func_address(const struct sg_ptx_module *module,
                                           const struct sg_ptx_func *func)
{
    return module->code_base + (uint64_t)func->pointer * SG_CODE_UNIT;
}

#endif
