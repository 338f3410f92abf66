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
    pthread_mutex_t begin_lock; /* held by who gets the first memory for a block */
    _Atomic bool begun;         /* somebody has got it */
    _Atomic bool full;          /* there is no memory for more: no more workers */
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
/* Memory to run a block or a cluster in. NULL: there is none, and the grid goes on with what its
 * other workers have; or it has a fault, because they have none, or because it is cooperative and
 * needs all blocks. */
void *sg_grid_memory(struct sg_grid *grid, void *(*make)(struct sg_grid *grid));
void sg_grid_no_memory(struct sg_grid *grid);

/* Runs blocks of the grid until none are left. */
void sg_grid_work(struct sg_grid *grid);
void sg_grid_prepare(struct sg_grid *grid, const struct sg_launch *launch);

#endif
