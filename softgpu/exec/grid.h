/* SPDX-License-Identifier: Apache-2.0 */
/* A running grid. */
#ifndef SOFTGPU_EXEC_GRID_H
#define SOFTGPU_EXEC_GRID_H

#include <pthread.h>

#include "softgpu/exec/launcher.h"
#include "softgpu/exec/warp.h"

struct sg_grid {
    struct sg_pool *pool;
    const struct sg_launch *launch;
    const struct sg_kernel_code *code;
    uint64_t id;    /* %gridid */
    uint64_t root;  /* the id of the grid that the host launched: this one, or its ancestor */
    uint32_t depth; /* 0: launched by the host */
    struct sg_child_list children, tail; /* under the launcher's lock */
    uint32_t threads;                    /* per block */
    uint64_t shared_bytes, local_bytes;
    uint32_t cluster[3], cluster_blocks; /* 1, 1, 1, and 1: none */
    uint64_t blocks;
    bool fast; /* whole warps begin as undiverged ones */
    _Atomic uint64_t
        begun_ns; /* if there is a limit; moved later by the time in which the grid stood still */
    _Atomic bool faulted;
    _Alignas(128) _Atomic uint64_t
        next_block; /* all threads write it: apart from fields that they only read */
    _Alignas(128) struct sg_fault
        fault; /* written by the thread that set `faulted`, read when all have left */
    /* under the pool's lock */
    struct sg_grid *next;
    uint32_t workers, max_workers;
};

/* Whether all threads should stop: after a fault, or by the launch's stop flag. */
bool sg_grid_over(struct sg_grid *grid);

/* Ends the grid with a fault, since there is no memory for a block. */
void sg_grid_no_memory(struct sg_grid *grid);

/* The first fault of a grid stays (fault.c). True: this is the first; then sg_grid_set_fault. */
bool sg_grid_claim_fault(struct sg_grid *grid);
void sg_grid_set_fault(struct sg_grid *grid, enum sg_fault_code code, const char *text);

/* Runs blocks of the grid until none are left. */
void sg_grid_work(struct sg_grid *grid);
void sg_grid_prepare(struct sg_grid *grid, const struct sg_launch *launch);

void sg_pool_help(struct sg_pool *pool, struct sg_grid *grid);
/* Mappings for blocks, kept for the next launch: making one costs page faults, more than a small
 * grid's work. At least *bytes, which becomes the size; NULL: no memory. The contents are those of
 * the last kernel. */
void *sg_pool_take_memory(struct sg_pool *pool, size_t *bytes);
void sg_pool_return_memory(struct sg_pool *pool, void *memory, size_t bytes);

/* Rows that are constant for the launch, and those that change with the block (const.c). */
void sg_consts_fill(struct sg_warp *warp, const struct sg_grid *grid);
void sg_consts_of_block(struct sg_block *block); /* computes the values of a block; comes first */
/* fast: only the rows that an undiverged warp reads. */
void sg_consts_fill_block(struct sg_warp *warp, bool fast);

#endif
