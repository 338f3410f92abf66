/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of launches, and the work of one thread on a grid. */
#include "softgpu/exec/grid.h"

#include "softgpu/exec/fast.h"

#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "softgpu/engine/budget.h"
#include "softgpu/engine/texture.h"
#include "softgpu/engine/texture_objects.h"
#include "softgpu/exec/block.h"
#include "softgpu/exec/cluster.h"
#include "softgpu/exec/cost.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/pool.h"

/* Scheduling of blocks. A block each of whose warps has had GRID_SLICE_TURNS turns (of 256 backward
 * branches) may wait for another block, so other blocks of the grid run beside it. On hardware as
 * many blocks run together as are resident; RESIDENT is our number, per worker, as long as blocks
 * end now and then. If none ends they may wait for one that has not begun: then as many run
 * together as on hardware, for which programs count their blocks. */
#define GRID_SLICE_TURNS    64
#define RESIDENT            64
#define SM_RESIDENT         32 /* blocks of a multiprocessor, at most */
#define SM_RESIDENT_THREADS 2048

/* Blocks of cooperative grids wait often, so their slices are shorter. */
#define GRID_SLICE_TURNS_COOPERATIVE 2

/* Local memory of a kernel with recursive calls, at least. */
#define STACK_MIN 65536

/* struct grid_workspace of cooperative groups. */
struct workspace {
    uint32_t bytes, barrier;
};
_Static_assert(sizeof(struct workspace) == SG_GRID_WORKSPACE, "");

bool sg_grid_over(struct sg_grid *grid)
{
    if (atomic_load_explicit(&grid->faulted, memory_order_relaxed)) {
        return true;
    }
    const _Atomic int *stop = grid->launch->stop;
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed) != 0;
}

void sg_grid_no_memory(struct sg_grid *grid)
{
    if (sg_grid_claim_fault(grid)) {
        char text[128];
        snprintf(text, sizeof text,
                 "no memory for a block: SOFTGPU_HOST_MEMORY or application_host_memory is %llu "
                 "bytes",
                 (unsigned long long)sg_budget_most());
        sg_grid_set_fault(grid, SG_FAULT_NO_MEMORY, text);
    }
}

/* Blocks that a worker has taken and will begin, in order. */
struct share {
    uint64_t next, end;
};

/* Neighbouring blocks use neighbouring memory, so a worker takes several at once: few enough that
 * the workers end together. Blocks wait for earlier blocks, which begin before. */
#define SHARE_MAX  8
#define SHARES_MIN 256 /* per grid */

static bool take_share(struct sg_grid *grid, struct share *share)
{
    uint64_t count = grid->blocks / SHARES_MIN;
    count = count < 1 ? 1 : count > SHARE_MAX ? SHARE_MAX : count;
    share->next = atomic_fetch_add(&grid->next_block, count);
    share->end = share->next + count < grid->blocks ? share->next + count : grid->blocks;
    return share->next < share->end;
}

/* How long a grid waits for the memory of blocks of other grids, which run beside it. */
#define MEMORY_TRIES 10000
#define MEMORY_PAUSE GA_NS_PER_MS

/* The first worker with memory does the work until there is none left, so only the first one must
 * have it. One after another, or several would find none because of each other. */
static void *grid_begin(struct sg_grid *grid, void *(*make)(struct sg_grid *grid))
{
    const struct timespec pause = {.tv_nsec = (long)MEMORY_PAUSE};
    void *made = NULL;
    pthread_mutex_lock(&grid->begin_lock);
    if (!atomic_load(&grid->begun)) {
        made = make(grid);
        for (unsigned i = 0;
             made == NULL && i < MEMORY_TRIES && sg_blocks_alive() != 0 && !sg_grid_over(grid);
             i++) {
            (void)nanosleep(&pause, NULL);
            made = make(grid);
        }
        if (made == NULL) {
            sg_grid_no_memory(grid);
        }
        atomic_store(&grid->begun, made != NULL);
    }
    pthread_mutex_unlock(&grid->begin_lock);
    return made;
}

void *sg_grid_memory(struct sg_grid *grid, void *(*make)(struct sg_grid *grid))
{
    void *made = NULL;
    if (!atomic_load_explicit(&grid->begun, memory_order_relaxed)) {
        made = grid_begin(grid, make);
    }
    if (made != NULL || sg_grid_over(grid)) {
        return made;
    }
    made = make(grid);
    if (made == NULL) {
        atomic_store(&grid->full, true);
        if (grid->launch->workspace != NULL) {
            sg_grid_no_memory(grid);
        }
    }
    return made;
}

static void *grid_block_make(struct sg_grid *grid)
{
    return sg_block_create(grid);
}

static struct sg_block *take_block(struct sg_grid *grid, struct sg_block **spare,
                                   struct share *share)
{
    if (share->next >= share->end &&
        atomic_load_explicit(&grid->next_block, memory_order_relaxed) >= grid->blocks) {
        return NULL;
    }
    struct sg_block *block = *spare;
    if (block == NULL) {
        block = sg_grid_memory(grid, grid_block_make);
        if (block == NULL) {
            return NULL;
        }
    }
    *spare = NULL;
    if (share->next >= share->end && !take_share(grid, share)) {
        *spare = block;
        return NULL;
    }
    sg_block_begin(block, share->next++);
    return block;
}

/* Blocks that are resident on the whole device. */
static uint32_t residency(const struct sg_grid *grid)
{
    uint32_t fitting = SM_RESIDENT_THREADS / grid->threads;
    uint32_t sms = grid->launch->sm_count > 1 ? grid->launch->sm_count : 1;
    return (fitting < SM_RESIDENT ? fitting : SM_RESIDENT) * sms;
}

static void work(struct sg_grid *grid)
{
    struct sg_block *spare = NULL, *first = NULL, **end = &first; /* queue of waiting blocks */
    struct share share = {0, 0};
    uint32_t resident = 0, most = RESIDENT, unfinished = 0; /* slices since a block ended */
    bool cooperative = grid->launch->workspace != NULL;
    uint64_t slice = cooperative ? GRID_SLICE_TURNS_COOPERATIVE : GRID_SLICE_TURNS;
    while (!sg_grid_over(grid)) {
        if (unfinished > 2 * most && most < residency(grid)) {
            most *= 2;
            unfinished = 0;
        }
        bool full = spare == NULL && first != NULL && atomic_load(&grid->full);
        bool room = cooperative || (resident < most && !full);
        struct sg_block *block = room ? take_block(grid, &spare, &share) : NULL;
        if (block == NULL) {
            block = first;
            if (block == NULL) {
                break;
            }
            first = block->next;
            end = first != NULL ? end : &first;
            resident--;
        }
        sg_block_run(block, slice * block->warp_count);
        if (!block->done) {
            block->next = NULL;
            *end = block;
            end = &block->next;
            resident++;
            unfinished++;
        } else {
            unfinished = 0;
            if (spare != NULL) {
                sg_block_destroy(spare);
            }
            spare = block;
        }
    }
    sg_block_destroy(spare);
    while (first != NULL) {
        struct sg_block *next = first->next;
        sg_block_destroy(first);
        first = next;
    }
}

/* Kernels round to nearest and keep subnormals, whatever the launching thread has set. */
#define MXCSR_DEFAULT 0x1f80

void sg_grid_work(struct sg_grid *grid)
{
    unsigned mxcsr = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
    if (grid->cluster_blocks > 1) {
        sg_cluster_work(grid);
    } else {
        work(grid);
    }
    _mm_setcsr(mxcsr);
}

/* The size of clusters: from the launch, or else from the kernel, or 1. */
static uint32_t cluster_size(const struct sg_launch *launch, int axis)
{
    uint32_t size = launch->cluster[0] ? launch->cluster[axis] : launch->kernel->cluster[axis];
    return size ? size : 1;
}

static const char *cluster_error(const struct sg_launch *launch)
{
    const struct sg_kernel *kernel = launch->kernel;
    uint64_t blocks = 1;
    if (kernel->explicit_cluster && !launch->cluster[0] && !kernel->cluster[0]) {
        return "the kernel must be launched with the size of a cluster";
    }
    for (int i = 0; i < 3; i++) {
        uint32_t size = cluster_size(launch, i);
        if (launch->grid[i] % size || (kernel->cluster[0] && kernel->cluster[i] != size)) {
            return "clusters of this size do not make the grid, or are not what the kernel demands";
        }
        blocks *= size;
    }
    if (blocks > SG_CLUSTER_MAX || (kernel->max_cluster && blocks > kernel->max_cluster)) {
        return "too many blocks in a cluster";
    }
    return NULL;
}

static const char *launch_error(const struct sg_launch *launch)
{
    uint64_t threads = 1;
    unsigned __int128 blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->block[i] == 0) {
            return "a dimension of grid or block is 0";
        }
        threads *= launch->block[i] < 4096 ? launch->block[i] : 4096;
        blocks *= launch->grid[i];
    }
    if (blocks > UINT64_C(1) << 63) {
        return "too many blocks";
    }
    if (threads > 1024) {
        return "more than 1024 threads per block";
    }
    if ((uint64_t)launch->kernel->shared_bytes + launch->dynamic_shared > (1u << 24)) {
        return "more than 16 MiB of shared memory";
    }
    return cluster_error(launch);
}

static void grid_finish(struct sg_grid *grid, struct sg_fault *out)
{
    const _Atomic int *stop = grid->launch->stop;
    bool unfinished = stop != NULL && atomic_load(stop) != 0;
    if (unfinished && sg_grid_claim_fault(grid)) {
        sg_grid_set_fault(grid, SG_FAULT_STOPPED, "stopped on request");
    }
    snprintf(grid->fault.kernel, sizeof grid->fault.kernel, "%s", grid->code->kernel.name);
    *out = grid->fault;
}

/* Local memory of a thread. */
static uint64_t grid_local_bytes(const struct sg_kernel_code *code, uint32_t stack_bytes)
{
    uint64_t bytes = code->kernel.local_bytes;
    if (code->recursive || code->allocates) {
        uint64_t stack = stack_bytes > STACK_MIN ? stack_bytes : STACK_MIN;
        bytes += (stack + 63) / 64 * 64;
    }
    return bytes;
}

uint64_t sg_launch_local_bytes(const struct sg_kernel *kernel, uint32_t threads,
                               uint32_t stack_bytes)
{
    const struct sg_kernel_code *code = (const struct sg_kernel_code *)(const void *)kernel;
    return grid_local_bytes(code, stack_bytes) * threads;
}

void sg_grid_prepare(struct sg_grid *grid, const struct sg_launch *launch)
{
    static _Atomic uint64_t last_id;
    memset(grid, 0, sizeof *grid);
    pthread_mutex_init(&grid->begin_lock, NULL);
    grid->id = atomic_fetch_add(&last_id, 1) + 1;
    grid->launch = launch;
    /* struct sg_kernel is the first member of struct sg_kernel_code */
    grid->code = (const struct sg_kernel_code *)(const void *)launch->kernel;
    grid->threads = launch->block[0] * launch->block[1] * launch->block[2];
    grid->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    grid->cluster_blocks = 1;
    for (int i = 0; i < 3; i++) {
        grid->cluster[i] = cluster_size(launch, i);
        grid->cluster_blocks *= grid->cluster[i];
    }
    grid->shared_bytes = (uint64_t)grid->code->reserved_bytes + launch->kernel->shared_bytes +
                         launch->dynamic_shared;
    grid->local_bytes = grid_local_bytes(grid->code, launch->stack_bytes);
    grid->begun_ns = launch->limit_ns != 0 ? ga_clock_ns() : 0;
    grid->fast = grid->code->fast != NULL && launch->block[0] % SG_HALF == 0;
    if (launch->workspace != NULL) {
        const struct workspace fresh = {.bytes = sizeof fresh};
        memcpy(launch->workspace, &fresh, sizeof fresh);
    }
}

/* Runs one grid, and puts the grids it has launched in front of `todo`. */
static uint64_t run_one(struct sg_pool *pool, const struct sg_launch *launch, uint64_t root,
                        uint32_t depth, struct sg_child_list *todo, struct sg_fault *out)
{
    struct sg_grid grid;
    const char *error = launch_error(launch);
    sg_grid_prepare(&grid, launch);
    grid.pool = pool;
    grid.root = root ? root : grid.id;
    grid.depth = depth;
    if (error != NULL) {
        grid.faulted = true;
        sg_grid_set_fault(&grid, SG_FAULT_INVALID_LAUNCH, error);
    } else {
        sg_pool_help(pool, &grid);
    }
    grid_finish(&grid, out);
    sg_launcher_take(&grid, todo);
    return grid.root;
}

static void run_child(struct sg_pool *pool, const struct sg_launch *launch, uint64_t root,
                      const struct sg_child *child, struct sg_child_list *todo,
                      struct sg_fault *out)
{
    if (child->kind == SG_CHILD_GRID) {
        struct sg_launch own = *launch;
        own.kernel = &child->code->kernel;
        memcpy(own.grid, child->grid, sizeof own.grid);
        memcpy(own.block, child->block, sizeof own.block);
        own.dynamic_shared = child->dynamic_shared;
        own.params = child->params;
        own.workspace = NULL;
        memset(own.cluster, 0, sizeof own.cluster);
        run_one(pool, &own, root, child->depth, todo, out);
    } else if (!sg_child_move(child, launch->map, &out->address)) {
        out->code = SG_FAULT_ILLEGAL_ADDRESS;
        snprintf(out->text, sizeof out->text, "a %s that the kernel ordered",
                 child->kind == SG_CHILD_COPY ? "copy" : "fill");
    }
}

void sg_grid_run(struct sg_pool *pool, const struct sg_launch *launch, struct sg_fault *out)
{
    struct sg_child_list todo = {NULL, NULL};
    sg_objects_use(launch->objects);
    uint64_t root = run_one(pool, launch, 0, 0, &todo, out);
    struct sg_child *child;
    while (out->code == SG_FAULT_NONE && (child = sg_child_pop(&todo)) != NULL) {
        run_child(pool, launch, root, child, &todo, out);
        sg_child_free(launch->launcher, child);
    }
    sg_objects_leave(launch->objects);
    if (launch->launcher != NULL) {
        sg_launcher_leave(launch->launcher, root, &todo);
    }
}

void sg_grid_estimate(const struct sg_launch *launch, struct model_counts *counts)
{
    struct sg_grid grid;
    sg_grid_prepare(&grid, launch);
    sg_cost_static(counts, grid.code, grid.blocks * ((grid.threads + SG_LANES - 1) / SG_LANES));
}
