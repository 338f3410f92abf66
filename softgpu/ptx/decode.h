/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder: turns the AST of a kernel and of every function it can reach into instructions. Each
 * kernel gets its own copy of its callees, so that program counters order all code of a launch.
 *
 * During decoding, operands are row numbers; decode_rows.c turns them into offsets at the end. An
 * opcode may become several instructions; all but the last are unguarded and write temporary rows,
 * the last one carries the guard. */
#ifndef SOFTGPU_PTX_DECODE_H
#define SOFTGPU_PTX_DECODE_H

#include "softgpu/exec/misc.h"
#include "softgpu/exec/op.h"
#include "softgpu/exec/program.h"
#include "softgpu/ptx/ast.h"

enum sg_field {
    SG_FIELD_D = 1,
    SG_FIELD_A = 2,
    SG_FIELD_B = 4,
    SG_FIELD_C = 8,
    SG_FIELD_E = 16,
    SG_FIELD_F = 32
};
#define SG_FIELDS 6

/* A row list: operands beyond the fields. Liveness and allocation treat them like fields. */
enum sg_list_use { SG_LIST_READ = 1, SG_LIST_WRITE = 2 };

struct sg_list_row {
    uint32_t row; /* 0: none */
    uint32_t use; /* enum sg_list_use */
};

struct sg_draft {
    struct sg_insn in;
    struct sg_source source;
    const struct sg_op *op; /* NULL: another handler */
    struct {
        bool access, store;  /* a load or store with an address row */
        uint8_t space, type; /* enum sg_mem_space, sg_mem_type */
    } mem;
    uint32_t list, list_count; /* in sg_decoder.lists; with a list, in.f is no row */
    uint8_t reads, writes;     /* which fields are rows, by enum sg_field */
    uint8_t label;             /* imm is an instruction index in the function's AST */
};

struct sg_draft_row {
    uint8_t kind;           /* SG_ROW_* */
    bool constant, by_lane; /* by_lane: a constant that differs from lane to lane */
    uint32_t func;          /* slot of the function it belongs to; constants: to none */
    uint32_t slot;          /* set at the end: its place among those of its kind */
    uint32_t offset;        /* set at the end */
    uint32_t start, end;    /* the interval of instructions in which the place is its own */
    bool momentary;         /* read and written only where no group of lanes ever waits */
};

/* sg_call.target of a call through a pointer */
#define SG_CALL_BY_POINTER UINT32_MAX

struct sg_func_info {
    struct sg_ptx_func *func;
    uint32_t stack_row;   /* of a function with alloca: the row with the stack's top at its begin;
                             otherwise 0 */
    uint32_t extra_bytes; /* after its frame: arguments that are registers or constants */
    uint32_t first, end;  /* instructions */
    uint32_t *rows;       /* of its registers; 0: not seen yet */
    bool recursive;
    uint32_t first_row, row_count; /* its part of the code's table of rows, if recursive */
    uint32_t save_begin, save_bytes;
    uint32_t slots[3]; /* places that its rows need, by kind */
    uint32_t slot_base[3];
};

struct sg_decoder {
    struct sg_load *load;
    struct sg_ptx_module *module;
    const struct sg_isa *isa;
    uint32_t pass; /* number of the kernel */
    struct sg_kernel_code *code;
    struct {
        struct sg_draft *items;
        uint32_t count, room;
    } drafts;
    struct {
        struct sg_list_row *items;
        uint32_t count, room;
    } lists;
    struct {
        struct sg_draft_row *items;
        uint32_t count, room;
    } rows;
    struct {
        struct sg_const *items;
        uint32_t count, room;
    } consts;                    /* offset: row number */
    uint32_t const_buckets[256]; /* index + 1 of the last constant with that hash */
    struct {
        uint32_t *items;
        uint32_t count, room;
    } const_chain;
    struct {
        struct sg_call *items;
        uint32_t count, room;
    } calls; /* target: slot of the callee */
    struct {
        uint32_t *items;
        uint32_t count, room;
    } callers;           /* slots of the callers of calls */
    bool calls_pointers; /* some call of the kernel goes through a pointer */
    struct {
        struct sg_func_info *items;
        uint32_t count, room;
    } funcs;
    struct {
        struct sg_cost *items;
        uint32_t count, room;
    } costs; /* of basic blocks */
    uint64_t shared_bytes;
    uint32_t dynamic_align; /* of dynamic shared memory; 0: the kernel has none */
    /* Current position. */
    uint32_t slot; /* of the function */
    const struct sg_ptx_insn *at;
    uint32_t guard;
    bool guard_negated;
    uint32_t carry_row;
};

#endif
