/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded instructions, which the executor runs.
 *
 * Every operand is a byte offset from the start of struct sg_warp: registers, immediates,
 * parameters and special registers are all rows of the warp's register file, so handlers know no
 * kinds of operands. A row has 32 lanes of 4 bytes (everything up to 32 bits) or of 8 bytes; a
 * predicate is one uint32_t with one bit per lane. */
#ifndef SOFTGPU_EXEC_INSN_H
#define SOFTGPU_EXEC_INSN_H

#include <stdbool.h>
#include <stdint.h>

#define SG_LANES 32

struct sg_warp;
struct sg_insn;

/* `mask`: the lanes that execute; a handler changes only these. A `full` handler may change all
 * 32. */
typedef void sg_handler(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask);

enum sg_insn_kind {
    SG_KIND_PLAIN,  /* the handler, then the next instruction */
    SG_KIND_BRANCH, /* imm: target */
    SG_KIND_EXIT,
    SG_KIND_CALL,           /* imm: index of a struct sg_call */
    SG_KIND_CALL_POINTER,   /* the same; a: the address of the function */
    SG_KIND_RETURN,         /* of a .func; a kernel's is EXIT */
    SG_KIND_BARRIER,        /* a: number, b: threads (0: all); c: predicate, d: result of .red */
    SG_KIND_COLLECTIVE,     /* waits for the lanes in row e (0: none), then runs the handler */
    SG_KIND_YIELD,          /* nanosleep: other groups run first */
    SG_KIND_CLUSTER_ARRIVE, /* barrier.cluster */
    SG_KIND_CLUSTER_WAIT,
    SG_KIND_TRAP,
    SG_KIND_LOST, /* a branch to an undefined target */
};

/* BARRIER: bar.* instead of barrier.*. BARRIER and COLLECTIVE: all lanes name the same barrier or
 * lanes. */
enum { SG_FLAG_ALIGNED = 1, SG_FLAG_UNIFORM = 2 };

enum sg_barrier_kind {
    SG_BARRIER_SYNC,
    SG_BARRIER_ARRIVE,
    SG_BARRIER_POPC,
    SG_BARRIER_AND,
    SG_BARRIER_OR,
};

struct sg_insn {
    sg_handler *full, *masked;
    uint32_t d, a, b, c, e, f; /* byte offsets; while decoding: row numbers. With a row list, f is
                                  its place in sg_kernel_code.lists: sg_row_list */
    uint32_t guard;            /* offset of the guard predicate, 0: none */
    uint32_t run;              /* number of PLAIN unguarded instructions from here on */
    uint32_t place;            /* its decoded index, also in copies: sg_kernel_code.sources */
    uint8_t kind;
    uint8_t guard_negated;
    uint8_t mode;  /* BARRIER: enum sg_barrier_kind; vectors: element count */
    uint8_t flags; /* SG_FLAG_* */
    int64_t imm;
};

struct sg_copy { /* between the frames of caller and callee */
    uint32_t from, to, bytes;
};

/* A row of the register file: its place and kind. */
enum { SG_ROW_32, SG_ROW_64, SG_ROW_PREDICATE };
#define SG_ROW(offset, kind) ((offset) << 2 | (uint32_t)(kind)) /* offsets: below 2^30 */
#define SG_ROW_OFFSET(row)   ((row) >> 2)
#define SG_ROW_KIND(row)     ((row)&3)

struct sg_call {
    uint32_t target; /* its index in sg_kernel_code.functions; unused by calls through pointers */
    uint32_t caller_frame; /* bytes */
    /* The copies' places in the callee are also in `callee`; calls through pointers use only
     * those. */
    const struct sg_copy *in, *out;
    uint32_t in_count, out_count;
};

struct sg_slice { /* of a frame */
    uint32_t at, bytes;
};

struct sg_source { /* the source line of an instruction */
    uint32_t file; /* index of the file, from 1; 0: unknown */
    uint32_t line;
    uint32_t ptx_line;
};

struct sg_callee { /* a function as calls see it */
    const char *name;
    uint32_t first;                  /* instruction index */
    uint32_t frame_bytes;            /* of its own frame */
    uint32_t save_begin, save_bytes; /* rows of registers to save if it may recurse */
    uint32_t first_row, row_count;   /* the same as a part of sg_kernel_code.rows */
    const struct sg_slice *in, *out;
    uint32_t in_count, out_count;
};

/* Addresses of functions: multiples of SG_CODE_UNIT in a range that belongs to the program, far
 * above all memory and all windows. A function has the same address in all kernels of a program,
 * and is unknown in other programs. */
#define SG_CODE_BASE     (UINT64_C(3) << 46)
#define SG_CODE_UNIT     16
#define SG_CODE_POINTERS 65535
#define SG_CODE_BYTES    ((uint64_t)SG_CODE_UNIT * (SG_CODE_POINTERS + 1))
#define SG_CODE_RANGES   (1u << 24)

enum sg_const_kind {
    SG_CONST_LITERAL,  /* value */
    SG_CONST_VARIABLE, /* address of variable `index` + value */
    SG_CONST_PARAM,    /* parameter block at `value`, `bytes` wide, sign-extended if `index` */
    SG_CONST_SPECIAL,  /* index: enum sg_special */
    SG_CONST_DYNAMIC_SHARED, /* the beginning of dynamic shared memory + value */
};

enum sg_special {
    SG_SPECIAL_TID_X,
    SG_SPECIAL_TID_Y,
    SG_SPECIAL_TID_Z,
    SG_SPECIAL_NTID_X,
    SG_SPECIAL_NTID_Y,
    SG_SPECIAL_NTID_Z,
    SG_SPECIAL_CTAID_X,
    SG_SPECIAL_CTAID_Y,
    SG_SPECIAL_CTAID_Z,
    SG_SPECIAL_NCTAID_X,
    SG_SPECIAL_NCTAID_Y,
    SG_SPECIAL_NCTAID_Z,
    SG_SPECIAL_LANEID,
    SG_SPECIAL_WARPID,
    SG_SPECIAL_NWARPID,
    SG_SPECIAL_SMID,
    SG_SPECIAL_NSMID,
    SG_SPECIAL_GRIDID,
    SG_SPECIAL_LANEMASK_EQ,
    SG_SPECIAL_LANEMASK_LE,
    SG_SPECIAL_LANEMASK_LT,
    SG_SPECIAL_LANEMASK_GE,
    SG_SPECIAL_LANEMASK_GT,
    SG_SPECIAL_DYNAMIC_SMEM,
    SG_SPECIAL_TOTAL_SMEM,
    SG_SPECIAL_AGGR_SMEM,
    SG_SPECIAL_ENVREG1,     /* address of the grid's workspace: the upper half */
    SG_SPECIAL_ENVREG2,     /* the lower half */
    SG_SPECIAL_CLUSTERID_X, /* from here on: of clusters; these change with the block */
    SG_SPECIAL_CLUSTERID_Y,
    SG_SPECIAL_CLUSTERID_Z,
    SG_SPECIAL_CLUSTER_CTAID_X,
    SG_SPECIAL_CLUSTER_CTAID_Y,
    SG_SPECIAL_CLUSTER_CTAID_Z,
    SG_SPECIAL_CLUSTER_CTARANK,
    SG_SPECIAL_NCLUSTERID_X, /* these do not change */
    SG_SPECIAL_NCLUSTERID_Y,
    SG_SPECIAL_NCLUSTERID_Z,
    SG_SPECIAL_CLUSTER_NCTAID_X,
    SG_SPECIAL_CLUSTER_NCTAID_Y,
    SG_SPECIAL_CLUSTER_NCTAID_Z,
    SG_SPECIAL_CLUSTER_NCTARANK,
    SG_SPECIAL_IS_EXPLICIT_CLUSTER,
    SG_SPECIAL_COUNT
};

/* Shared memory that belongs to the system: from that compute capability on the first bytes of each
 * block's, zeros when it begins. Cooperative groups keep their barriers there
 * (cooperative_groups/details/memory.h). */
#define SG_RESERVED_SM    80
#define SG_RESERVED_BYTES 1024

struct sg_const { /* one row that is written before the kernel begins */
    enum sg_const_kind kind;
    uint32_t index;
    uint32_t bytes;  /* PARAM: of the value in the parameter block */
    bool wide;       /* an 8-byte row */
    uint32_t offset; /* of the row */
    uint32_t pair;   /* of the values of lanes 0 and 16 (fast.h); 0: not used */
    bool pair_only;  /* undiverged warps do not read the row */
    uint64_t value;
};

/* Whether it differs between the lanes of a warp. */
static inline bool sg_const_by_lane(const struct sg_const *c)
{
    return c->kind == SG_CONST_SPECIAL &&
           (c->index <= SG_SPECIAL_TID_Z || c->index == SG_SPECIAL_LANEID ||
            (c->index >= SG_SPECIAL_LANEMASK_EQ && c->index <= SG_SPECIAL_LANEMASK_GT));
}

#endif
