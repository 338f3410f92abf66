/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: blocks that are resident together, access each other's shared memory and have a barrier
 * of their own. One thread runs all blocks of a cluster in turn, so no other thread accesses their
 * shared memory. */
#ifndef SOFTGPU_EXEC_CLUSTER_H
#define SOFTGPU_EXEC_CLUSTER_H

#include "softgpu/exec/warp.h"

/* Runs clusters of the grid until none are left; the counterpart of sg_grid_work for blocks. */
void sg_cluster_work(struct sg_grid *grid);

/* Called when the group executes barrier.cluster.arrive. */
void sg_cluster_arrive(struct sg_warp *warp, uint32_t mask);
/* Whether the lanes of `mask` may pass barrier.cluster.wait. */
bool sg_cluster_passes(struct sg_warp *warp, uint32_t mask);

/* Shared memory of another block of the cluster: `offset` as in SG_CLUSTER_SHIFT; NULL: there is no
 * such block, or less memory. */
uint8_t *sg_cluster_shared(const struct sg_warp *warp, uint64_t offset, uint64_t bytes);

/* d = a (generic, 64 bits; or 32 bits) in the block of rank b */
sg_handler sg_cluster_mapa32, sg_cluster_mapa64;
/* d (32 bits) = rank of the block whose memory a (32 or 64 bits) is */
sg_handler sg_cluster_rank32, sg_cluster_rank64;

#endif
