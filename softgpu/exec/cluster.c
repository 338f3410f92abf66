/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: see cluster.h. */
#include "softgpu/exec/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/exec/block.h"
#include "softgpu/exec/grid.h"

#define CLUSTER_SLICE_TURNS 2 /* few, since blocks of a cluster wait for each other often */
#define RESIDENT_CLUSTERS   64
#define PHASE_BITS(cluster) (((cluster)->phase & 1) ? UINT32_MAX : 0)

/* ---- the barrier ---- */

/* Begins the next phase if all threads have arrived that have not exited. */
static void cluster_settle(struct sg_cluster *cluster)
{
    uint64_t live = 0;
    for (uint32_t b = 0; b < cluster->count; b++) {
        live += cluster->blocks[b]->live_threads;
    }
    if (cluster->arrived < live) {
        return;
    }
    for (uint32_t b = 0; b < cluster->count; b++) {
        const struct sg_block *block = cluster->blocks[b];
        for (uint32_t w = 0; w < block->warp_count; w++) {
            const struct sg_warp *warp = sg_block_warp(block, w);
            uint32_t here = warp->cluster_arrived & ~(warp->cluster_parity ^ PHASE_BITS(cluster));
            if (warp->live & ~here) {
                return;
            }
        }
    }
    cluster->phase++;
    cluster->arrived = 0;
}

void sg_cluster_arrive(struct sg_warp *warp, uint32_t mask)
{
    struct sg_cluster *cluster = warp->block->cluster;
    warp->cluster_arrived |= mask;
    warp->cluster_parity = (warp->cluster_parity & ~mask) | (PHASE_BITS(cluster) & mask);
    cluster->arrived += (uint32_t)__builtin_popcount(mask);
    cluster_settle(cluster);
}

bool sg_cluster_passes(struct sg_warp *warp, uint32_t mask)
{
    struct sg_cluster *cluster = warp->block->cluster;
    cluster_settle(cluster);
    uint32_t waiting = warp->cluster_arrived & ~(warp->cluster_parity ^ PHASE_BITS(cluster));
    return (mask & waiting) == 0;
}

/* ---- addresses ---- */

uint8_t *sg_cluster_shared(const struct sg_warp *warp, uint64_t offset, uint64_t bytes)
{
    const struct sg_cluster *cluster = warp->block->cluster;
    uint64_t rank = (offset >> SG_CLUSTER_SHIFT) - 1;
    uint64_t at = offset & ((UINT64_C(1) << SG_CLUSTER_SHIFT) - 1);
    return rank < cluster->count && at < warp->shared_bytes && bytes <= warp->shared_bytes - at
               ? cluster->blocks[rank]->shared + at
               : NULL;
}

static uint64_t mapped(uint64_t address, uint32_t rank)
{
    return sg_cluster_address(address, rank < 0xfe ? rank : 0xfe);
}

void sg_cluster_mapa32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);
    uint32_t *d = sg_row(warp, in->d);
    for (unsigned i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? (uint32_t)mapped(a[i], b[i]) : d[i];
    }
}

void sg_cluster_mapa64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    const uint32_t *b = sg_row(warp, in->b);
    uint64_t *d = sg_row(warp, in->d);
    for (unsigned i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? mapped(a[i], b[i]) : d[i];
    }
}

static uint32_t rank_of(const struct sg_warp *warp, uint64_t address)
{
    uint32_t above = (uint32_t)address >> SG_CLUSTER_SHIFT;
    return above ? above - 1 : warp->block->cluster_rank;
}

void sg_cluster_rank32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *a = sg_row(warp, in->a);
    uint32_t *d = sg_row(warp, in->d);
    for (unsigned i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? rank_of(warp, a[i]) : d[i];
    }
}

void sg_cluster_rank64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    uint32_t *d = sg_row(warp, in->d);
    for (unsigned i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? rank_of(warp, a[i]) : d[i];
    }
}

/* ---- running them ---- */

static void cluster_destroy(struct sg_cluster *cluster)
{
    for (uint32_t b = 0; cluster != NULL && b < cluster->count; b++) {
        sg_block_destroy(cluster->blocks[b]);
    }
    free(cluster);
}

static void *cluster_create(struct sg_grid *grid)
{
    struct sg_cluster *cluster = calloc(1, sizeof *cluster);
    for (uint32_t b = 0; cluster != NULL && b < grid->cluster_blocks; b++) {
        cluster->blocks[b] = sg_block_create(grid);
        if (cluster->blocks[b] == NULL) {
            cluster_destroy(cluster);
            return NULL;
        }
        cluster->count = b + 1;
        cluster->blocks[b]->cluster = cluster;
        cluster->blocks[b]->cluster_rank = b;
    }
    return cluster;
}

/* Begins the blocks of cluster `number`; clusters and the blocks in them are counted x first. */
static void cluster_begin(struct sg_grid *grid, struct sg_cluster *cluster, uint64_t number)
{
    const uint32_t *size = grid->launch->grid, *shape = grid->cluster;
    uint64_t clusters_x = size[0] / shape[0], clusters_y = size[1] / shape[1];
    uint64_t origin[3] = {number % clusters_x * shape[0],
                          number / clusters_x % clusters_y * shape[1],
                          number / clusters_x / clusters_y * shape[2]};
    cluster->phase = 0;
    cluster->arrived = 0;
    for (uint32_t b = 0; b < cluster->count; b++) {
        uint64_t x = origin[0] + b % shape[0], y = origin[1] + b / shape[0] % shape[1];
        uint64_t z = origin[2] + b / shape[0] / shape[1];
        sg_block_begin(cluster->blocks[b], x + size[0] * (y + size[1] * z));
    }
}

static struct sg_cluster *cluster_take(struct sg_grid *grid, struct sg_cluster **spare)
{
    if (atomic_load_explicit(&grid->next_block, memory_order_relaxed) >= grid->blocks) {
        return NULL;
    }
    struct sg_cluster *cluster = *spare != NULL ? *spare : sg_grid_memory(grid, cluster_create);
    *spare = NULL;
    if (cluster == NULL) {
        return NULL;
    }
    uint64_t first = atomic_fetch_add(&grid->next_block, grid->cluster_blocks);
    if (first >= grid->blocks) {
        *spare = cluster;
        return NULL;
    }
    cluster_begin(grid, cluster, first / grid->cluster_blocks);
    return cluster;
}

/* Gives each block one slice. True: all are done. */
static bool cluster_run(struct sg_cluster *cluster)
{
    bool done = true;
    for (uint32_t b = 0; b < cluster->count; b++) {
        struct sg_block *block = cluster->blocks[b];
        if (!block->done) {
            sg_block_run(block, (uint64_t)CLUSTER_SLICE_TURNS * block->warp_count);
        }
        done = done && block->done;
    }
    return done;
}

void sg_cluster_work(struct sg_grid *grid)
{
    struct sg_cluster *spare = NULL, *first = NULL, **end = &first; /* queue of waiting clusters */
    uint32_t resident = 0;
    bool cooperative = grid->launch->workspace != NULL;
    while (!sg_grid_over(grid)) {
        bool full = spare == NULL && first != NULL && atomic_load(&grid->full);
        bool room = cooperative || (resident < RESIDENT_CLUSTERS && !full);
        struct sg_cluster *cluster = room ? cluster_take(grid, &spare) : NULL;
        if (cluster == NULL) {
            cluster = first;
            if (cluster == NULL) {
                break;
            }
            first = cluster->next;
            end = first != NULL ? end : &first;
            resident--;
        }
        if (!cluster_run(cluster)) {
            cluster->next = NULL;
            *end = cluster;
            end = &cluster->next;
            resident++;
        } else if (spare == NULL) {
            spare = cluster;
        } else {
            cluster_destroy(cluster);
        }
    }
    cluster_destroy(spare);
    while (first != NULL) {
        struct sg_cluster *next = first->next;
        cluster_destroy(first);
        first = next;
    }
}
