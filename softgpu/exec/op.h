/* SPDX-License-Identifier: Apache-2.0 */
/* The table of register-to-register operations: one entry per line of op.def. The same sources are
 * compiled twice, for x86-64-v3 and for any x86-64; sg_op_find looks in the table for this
 * machine. */
#ifndef SOFTGPU_EXEC_OP_H
#define SOFTGPU_EXEC_OP_H

#include <stddef.h>

#include "softgpu/exec/insn.h"

enum sg_op_type { /* of an operand */
                  SG_OP_none,
                  SG_OP_p,
                  SG_OP_u16,
                  SG_OP_s16,
                  SG_OP_u32,
                  SG_OP_s32,
                  SG_OP_f16,
                  SG_OP_bf16,
                  SG_OP_f16x2,
                  SG_OP_bf16x2,
                  SG_OP_f32,
                  SG_OP_u64,
                  SG_OP_s64,
                  SG_OP_f64,
};

struct sg_op {
    const char *name; /* the typed opcode with '_' for '.': "add_u32" */
    sg_handler *full, *masked;
    sg_handler *chain; /* like full, for the chain (fast.h) */
    sg_handler
        *pair; /* of the chain, for lanes 0 and 16 only, packed; NULL: the result is a predicate */
    unsigned char types[4]; /* enum sg_op_type of d, a, b, c */
};

struct sg_op_list {
    const struct sg_op *ops;
    size_t count;
};

/* Memory operations by space. */
enum sg_mem_space {
    SG_MEM_GLOBAL,
    SG_MEM_SHARED,
    SG_MEM_LOCAL,
    SG_MEM_GENERIC,
    SG_MEM_PARAM,
    SG_MEM_FRAME /* local, relative to the call frame; no address register */
};
enum sg_mem_type {
    SG_MEM_u8,
    SG_MEM_s8,
    SG_MEM_u16,
    SG_MEM_s16,
    SG_MEM_b32,
    /* wide: of or to an 8-byte row */
    SG_MEM_u8w,
    SG_MEM_s8w,
    SG_MEM_u16w,
    SG_MEM_s16w,
    SG_MEM_u32w,
    SG_MEM_s32w,
    SG_MEM_b64,
    SG_MEM_TYPES
};

struct sg_mem_ops {
    sg_handler *load[SG_MEM_FRAME + 1][SG_MEM_TYPES];
    sg_handler *store[SG_MEM_FRAME + 1][SG_MEM_TYPES];
};

/* Fast accesses if the address is a pair (fast.h). The global ones serve generic addresses, too. */
enum sg_fast_space { SG_FAST_GLOBAL, SG_FAST_SHARED };
/* By stride: any; 0 with one element; that of one element. */
enum sg_fast_shape { SG_FAST_ANY, SG_FAST_SAME, SG_FAST_NEXT, SG_FAST_SHAPES };

/* Accesses of one element, side by side, in global memory, fused with the computation of the
 * address: a sum of pairs, or (indexed) a check, a widening product and a sum. */
enum sg_fast_front { SG_FAST_ADDED, SG_FAST_INDEXED, SG_FAST_INDEXED_UNSIGNED, SG_FAST_FRONTS };

/* Loads of 32 bits fused with the next operation, whose `a` they are and which alone reads them, so
 * their row is not written. Indexed by the instruction before the load, or by the load's space. */
enum sg_fast_source {
    SG_FAST_PLAIN = SG_FAST_FRONTS, /* side by side, in global memory */
    SG_FAST_SHARED_NEXT,
    SG_FAST_SHARED_SAME,
    SG_FAST_SOURCES
};
enum sg_fast_use { SG_FAST_ADD_U32, SG_FAST_ADD_F32, SG_FAST_FMA_F32, SG_FAST_USES };

struct sg_fast_mem_ops {
    sg_handler *load[SG_FAST_SHARED + 1][SG_MEM_TYPES][SG_FAST_SHAPES];
    sg_handler *store[SG_FAST_SHARED + 1][SG_MEM_TYPES][SG_FAST_SHAPES];
    sg_handler *fused_load[SG_FAST_FRONTS][SG_MEM_TYPES],
        *fused_store[SG_FAST_FRONTS][SG_MEM_TYPES];
    sg_handler *used_load[SG_FAST_SOURCES][SG_FAST_USES];
};

#define SG_OP_LISTS 6 /* .def files */

/* Everything compiled for one instruction set. */
struct sg_isa {
    const char *name;
    struct sg_op_list (*lists[SG_OP_LISTS])(void);
    const struct sg_mem_ops *mem;
    const struct sg_fast_mem_ops *fast_mem;
    sg_handler *tex; /* exec/tex.h */
};

const struct sg_isa *sg_isa_v3(void);   /* x86-64-v3 */
const struct sg_isa *sg_isa_base(void); /* any x86-64 */
bool sg_isa_v3_runs_here(void);
/* The best one for this machine; SOFTGPU_ISA=base in the environment selects the other (tests
 * do). */
const struct sg_isa *sg_isa_here(void);

/* NULL: no such operation. */
const struct sg_op *sg_op_find(const char *name);

#endif
