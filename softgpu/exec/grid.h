/* SPDX-License-Identifier: Apache-2.0 */
/* A grid while it runs. */
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
    uint64_t root;  /* the id of the one that the host launched: itself, or what launched it */
    uint32_t depth; /* 0: launched by the host */
    struct sg_child_list children, tail; /* under the launcher's lock */
    uint32_t threads;                    /* per block */
    uint64_t shared_bytes, local_bytes;
    uint32_t cluster[3], cluster_blocks; /* 1, 1, 1, and 1: none */
    uint64_t blocks;
    bool fast;                 /* whole warps begin as ones that have not diverged */
    _Atomic uint64_t begun_ns; /* where there is a limit; later by what it has stood still */
    _Atomic bool faulted;
    _Alignas(128) _Atomic uint64_t next_block; /* all write it: away from what they only read */
    _Alignas(
        128) struct sg_fault fault; /* written by whoever set `faulted`, read when all have left */
    /* under the pool's lock */
    struct sg_grid *next;
    uint32_t workers, max_workers;
};

/* Should everybody stop working on it? A fault, or the launch's stop flag. */
bool sg_grid_over(struct sg_grid *grid);

/* There was none for a block: the grid ends with that fault. */
void sg_grid_no_memory(struct sg_grid *grid);

/* fault.c: the first fault of a grid stays: true, this is it; then it is set. */
bool sg_grid_claim_fault(struct sg_grid *grid);
void sg_grid_set_fault(struct sg_grid *grid, enum sg_fault_code code, const char *text);

/* Works on blocks of the grid until there are none left to take. */
void sg_grid_work(struct sg_grid *grid);
void sg_grid_prepare(struct sg_grid *grid, const struct sg_launch *launch);

void sg_pool_help(struct sg_pool *pool, struct sg_grid *grid);
/* Mappings for blocks, kept for the next launch: making one costs page faults, more than a small
 * grid's work. At least *bytes, which becomes the size; NULL: no memory. What they hold is what the
 * last kernel left. */
void *sg_pool_take_memory(struct sg_pool *pool, size_t *bytes);
void sg_pool_return_memory(struct sg_pool *pool, void *memory, size_t bytes);

/* const.c: the rows that are constant for the launch, and those that change with the block */
void sg_consts_fill(struct sg_warp *warp, const struct sg_grid *grid);
void sg_consts_of_block(struct sg_block *block); /* the latter's values; comes first */
/* fast: only what a warp needs that has not diverged */
void sg_consts_fill_block(struct sg_warp *warp, bool fast);

#endif
