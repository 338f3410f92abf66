/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: blocks that are resident together, reach each other's shared memory and have a barrier
 * of their own. One thread runs all blocks of a cluster, in turn, so what holds for the shared
 * memory of a block holds for that of a cluster: nobody else touches it. */
#ifndef SOFTGPU_EXEC_CLUSTER_H
#define SOFTGPU_EXEC_CLUSTER_H

#include "softgpu/exec/warp.h"

/* Works on clusters of the grid until there are none left to take; what sg_grid_work does for
 * blocks. */
void sg_cluster_work(struct sg_grid *grid);

/* The group has met barrier.cluster.arrive */
void sg_cluster_arrive(struct sg_warp *warp, uint32_t mask);
/* May the lanes of `mask` pass barrier.cluster.wait? */
bool sg_cluster_passes(struct sg_warp *warp, uint32_t mask);

/* Shared memory of another block of the cluster: `offset` as in SG_CLUSTER_SHIFT; NULL: there is
 * no such block, or not so much memory. */
uint8_t *sg_cluster_shared(const struct sg_warp *warp, uint64_t offset, uint64_t bytes);

/* d = a (generic, 64 bits; or 32 bits) in the block of rank b */
sg_handler sg_cluster_mapa32, sg_cluster_mapa64;
/* d (32 bits) = rank of the block that a (32 or 64 bits) belongs to */
sg_handler sg_cluster_rank32, sg_cluster_rank64;

#endif
