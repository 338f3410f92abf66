/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a warp and of its block. A block is one heap object that contains all its state, so
 * it can stop between any two instructions and continue later, on any thread.
 *
 * Divergence: a warp is a set of groups; the lanes of a group share program counter and call frame.
 * The group that is deepest in calls runs next; of several, the one with the lowest program
 * counter, so groups meet again where their paths do. A group that keeps taking backward branches
 * gives way now and then to the group that has waited longest: otherwise a lane that waits for
 * another lane of its warp would wait for ever. */
#ifndef SOFTGPU_EXEC_WARP_H
#define SOFTGPU_EXEC_WARP_H

#include "softgpu/engine/engine.h"
#include "softgpu/exec/insn.h"
#include "softgpu/exec/program.h"

struct sg_frame { /* of one call by one group; lanes leave it one group at a time */
    struct sg_frame *parent;
    const struct sg_call *call;
    const struct sg_callee *callee;
    uint32_t return_pc, depth, lanes_left;
    uint64_t sp;     /* of the callee */
    uint8_t saved[]; /* callee->save_bytes: the saved rows */
};

enum sg_group_state {
    SG_GROUP_READY,
    SG_GROUP_AT_BARRIER,    /* pc: after the barrier */
    SG_GROUP_AT_COLLECTIVE, /* pc: at the instruction; waits for wait_mask */
};

struct sg_group {
    uint32_t mask, pc;
    struct sg_frame *frame; /* NULL: in the kernel */
    enum sg_group_state state;
    uint32_t barrier;   /* AT_BARRIER: its number */
    uint32_t wait_mask; /* AT_COLLECTIVE */
    uint64_t last_run;  /* for fairness */
};

struct sg_block;

#define SG_SEEN 8

struct sg_warp {
    struct sg_block *block;
    const struct sg_map *map;
    uint8_t *shared;
    uint8_t *local; /* 8-byte units, lane after lane: unit u of lane l at local + u*256 + l*8 */
    const uint8_t *params;
    uint64_t shared_bytes, local_bytes, param_bytes;
    uint64_t sp;                  /* frame of the running group */
    uint64_t stack_top[SG_LANES]; /* the lower end of memory allocated by alloca; frames must stay
                                     below */
    uint32_t live;                /* lanes that have not exited */
    uint32_t index;               /* in the block */
    uint32_t group_count;
    uint32_t spin;      /* backward branches since the last change of group */
    uint32_t fair;      /* scheduling points left to a group that fairness chose */
    uint32_t fair_mask; /* a lane of that group */
    /* barrier.cluster: lanes that have arrived, and the parity of the phase in which they did */
    uint32_t cluster_arrived, cluster_parity;
    uint64_t clock;
    bool faulted;
    bool fast; /* undiverged: runs code->fast; its one group has the position */
    struct sg_group groups[SG_LANES];
    uint64_t seen[SG_SEEN]; /* last addresses of loads, by instruction (fast_memory.c) */
    _Alignas(128) uint64_t scratch[SG_LANES]; /* for use within one handler */
    _Alignas(128) uint8_t file[];
};

struct sg_barrier {
    uint32_t arrived, expected; /* threads; expected 0: all of the block that have not exited */
    uint32_t popc;
    uint32_t reduced; /* threads that took part in .red */
};

#define SG_BARRIERS 16

struct sg_block;

struct sg_cluster {
    struct sg_cluster *next; /* in the queue of clusters */
    uint64_t phase;          /* of its barrier */
    uint64_t arrived;        /* threads, in this phase */
    uint32_t count;
    struct sg_block *blocks[SG_CLUSTER_MAX]; /* by rank */
};

struct sg_grid;

struct sg_block {
    struct sg_block *next;
    struct sg_grid *grid;
    const struct sg_kernel_code *code; /* the grid's */
    uint64_t linear;                   /* number in the grid */
    uint32_t id[3], warp_count, live_threads, next_warp;
    uint64_t
        const_values[SG_SPECIAL_COUNT]; /* values of the constants that change with the block */
    bool done;
    uint32_t barriers_used; /* one bit for each barrier that is not all zeros */
    struct sg_barrier barriers[SG_BARRIERS];
    struct sg_cluster *cluster; /* `own` without clusters */
    uint32_t cluster_rank;
    struct sg_cluster own;
    size_t warp_stride, bytes;       /* bytes: of the whole mapping */
    size_t frame_room, frame_grains; /* bytes of the budget for frames of calls: left, and all */
    uint8_t *warps, *shared, *local;
    struct sg_passes *passes; /* by basic block (exec/cost.h); NULL: not counted */
};

static inline struct sg_warp *sg_block_warp(const struct sg_block *block, uint32_t index)
{
    return (struct sg_warp *)(void *)(block->warps + index * block->warp_stride);
}

static inline const struct sg_kernel_code *sg_block_code(const struct sg_block *block)
{
    return block->code;
}
static inline const struct sg_insn *sg_block_insn(const struct sg_block *block, uint32_t pc)
{
    return &sg_block_code(block)->insns[pc];
}
static inline const struct sg_call *sg_block_call(const struct sg_block *block, uint32_t index)
{
    return &sg_block_code(block)->calls[index];
}

/* The offsets of the instruction's further rows, in the decoder's order (0: an unused element); the
 * handler knows their number from mode or imm. */
static inline const uint32_t *sg_row_list(const struct sg_warp *warp, const struct sg_insn *in)
{
    return sg_block_code(warp->block)->lists + in->f;
}

static inline void *sg_row(struct sg_warp *warp, uint32_t offset)
{
    return (uint8_t *)warp + offset;
}

/* The address of the lane's byte `offset` of local memory; 8-byte units are contiguous. */
static inline uint8_t *sg_local_at(const struct sg_warp *warp, unsigned lane, uint64_t offset)
{
    return warp->local + (offset >> 3) * (8 * SG_LANES) + lane * 8 + (offset & 7);
}

/* Addresses in shared memory of other blocks of the cluster: the block's rank + 1 is above the
 * offset, which is below 2^24. Without a rank it is the block's own. */
#define SG_CLUSTER_SHIFT 24
static inline uint64_t sg_cluster_address(uint64_t address, uint32_t rank)
{
    uint64_t offset = address & ((UINT64_C(1) << SG_CLUSTER_SHIFT) - 1);
    return SG_WINDOW_SHARED + ((uint64_t)(rank + 1) << SG_CLUSTER_SHIFT) + offset;
}

#endif
