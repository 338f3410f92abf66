/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads. A grid is offered to them and its caller works on it too; a thread that finds no
 * block left is done, and the caller waits for the last helper. */
#include "softgpu/exec/pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "softgpu/engine/budget.h"
#include "softgpu/exec/grid.h"

#define SPARES          16
#define SPARE_BYTES_MAX ((size_t)64 << 20)

struct spare {
    void *memory;
    size_t bytes;
    uint64_t owner;
};

struct sg_pool {
    pthread_mutex_t lock;
    pthread_cond_t offered, left;
    struct sg_grid *grids; /* grids that can use more workers */
    bool closing;
    struct spare spares[SPARES]; /* memory NULL: an empty place */
    unsigned worker_count;
    pthread_t workers[];
};

static void spare_unmap(void *memory, size_t bytes)
{
    munmap(memory, bytes);
    sg_budget_give(bytes);
}

static struct sg_grid *next_grid(struct sg_pool *pool)
{
    for (struct sg_grid *grid = pool->grids; grid != NULL; grid = grid->next) {
        if (grid->workers < grid->max_workers &&
            atomic_load_explicit(&grid->next_block, memory_order_relaxed) < grid->blocks &&
            !atomic_load_explicit(&grid->full, memory_order_relaxed) && !sg_grid_over(grid)) {
            return grid;
        }
    }
    return NULL;
}

static void *worker_main(void *argument)
{
    struct sg_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        struct sg_grid *grid = next_grid(pool);
        if (grid == NULL) {
            pthread_cond_wait(&pool->offered, &pool->lock);
            continue;
        }
        grid->workers++;
        pthread_mutex_unlock(&pool->lock);
        sg_grid_work(grid);
        pthread_mutex_lock(&pool->lock);
        grid->workers--;
        pthread_cond_broadcast(&pool->left);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum ga_status sg_pool_create(unsigned workers, struct sg_pool **out)
{
    struct sg_pool *pool = calloc(1, sizeof *pool + workers * sizeof pool->workers[0]);
    if (pool == NULL) {
        return GA_NO_MEMORY;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->offered, NULL);
    pthread_cond_init(&pool->left, NULL);
    for (; pool->worker_count < workers; pool->worker_count++) {
        if (pthread_create(&pool->workers[pool->worker_count], NULL, worker_main, pool) != 0) {
            sg_pool_destroy(pool);
            return GA_NO_MEMORY;
        }
    }
    *out = pool;
    return GA_OK;
}

void sg_pool_destroy(struct sg_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->offered);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->worker_count; i++) {
        pthread_join(pool->workers[i], NULL);
    }
    for (int i = 0; i < SPARES; i++) {
        if (pool->spares[i].memory != NULL) {
            spare_unmap(pool->spares[i].memory, pool->spares[i].bytes);
        }
    }
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->offered);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void sg_pool_help(struct sg_pool *pool, struct sg_grid *grid)
{
    uint32_t most = grid->launch->max_workers;
    grid->max_workers = most ? most : UINT32_MAX;
    grid->workers = 1;
    bool share = grid->blocks > 1 && grid->max_workers > 1 && pool->worker_count;
    if (share) {
        pthread_mutex_lock(&pool->lock);
        grid->next = pool->grids;
        pool->grids = grid;
        pthread_cond_broadcast(&pool->offered);
        pthread_mutex_unlock(&pool->lock);
    }
    sg_grid_work(grid);
    if (share) {
        pthread_mutex_lock(&pool->lock);
        struct sg_grid **at = &pool->grids;
        while (*at != grid) {
            at = &(*at)->next;
        }
        *at = grid->next;
        while (grid->workers > 1) {
            pthread_cond_wait(&pool->left, &pool->lock);
        }
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Gives all of them back to the budget. False: there are none. */
static bool spares_unmap(struct sg_pool *pool)
{
    bool any = false;
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < SPARES; i++) {
        if (pool->spares[i].memory != NULL) {
            spare_unmap(pool->spares[i].memory, pool->spares[i].bytes);
            pool->spares[i].memory = NULL;
            any = true;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return any;
}

/* The smallest that is large enough; the owner's before others'. With the lock; NULL: none. */
static struct spare *spare_find(struct sg_pool *pool, uint64_t owner, size_t bytes)
{
    struct spare *best = NULL;
    for (int i = 0; i < SPARES; i++) {
        struct spare *spare = &pool->spares[i];
        if (spare->memory == NULL || spare->bytes < bytes) {
            continue;
        }
        bool owned = spare->owner == owner, best_owned = best != NULL && best->owner == owner;
        if (best == NULL || owned > best_owned ||
            (owned == best_owned && spare->bytes < best->bytes)) {
            best = spare;
        }
    }
    return best;
}

void *sg_pool_take_memory(struct sg_pool *pool, uint64_t owner, size_t *bytes)
{
    void *memory = NULL;
    bool strange = false;
    pthread_mutex_lock(&pool->lock);
    struct spare *best = spare_find(pool, owner, *bytes);
    if (best != NULL) {
        memory = best->memory;
        strange = best->owner != owner;
        *bytes = best->bytes;
        best->memory = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    if (strange && madvise(memory, *bytes, MADV_DONTNEED) != 0) {
        spare_unmap(memory, *bytes);
        memory = NULL;
    }
    if (memory == NULL &&
        (sg_budget_take(*bytes, NULL) || (spares_unmap(pool) && sg_budget_take(*bytes, NULL)))) {
        memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            sg_budget_give(*bytes);
            memory = NULL;
        }
    }
    return memory;
}

/* Spares are an eighth of what there may be. */
static bool is_worth_keeping(size_t bytes)
{
    return bytes <= SPARE_BYTES_MAX && bytes <= sg_budget_most() / 8 / SPARES;
}

/* Replaces the smallest spare mapping: it is the cheapest to make again. */
void sg_pool_return_memory(struct sg_pool *pool, uint64_t owner, void *memory, size_t bytes)
{
    struct spare drop = {memory, bytes, owner};
    if (is_worth_keeping(bytes)) {
        pthread_mutex_lock(&pool->lock);
        struct spare *place = &pool->spares[0];
        for (int i = 0; i < SPARES; i++) {
            struct spare *spare = &pool->spares[i];
            if (spare->memory == NULL || (place->memory != NULL && spare->bytes < place->bytes)) {
                place = spare;
            }
        }
        struct spare kept = drop;
        drop = *place;
        *place = kept;
        pthread_mutex_unlock(&pool->lock);
    }
    if (drop.memory != NULL) {
        spare_unmap(drop.memory, drop.bytes);
    }
}
