/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that several processes use: one has made them and lets others map them (memory_ledger.h,
 * and memory/ipc.h above this folder). Each of these processes has a hold on them in the segment of
 * the node. They count for the device once, for as long as any of these processes has its hold: the
 * one that they count with passes that on when it gives its hold up, or is found dead.
 *
 * Note: who has only a descriptor has no hold. If nobody else has one (any more), who imports it
 * takes the chunks of what is free, which may not be enough. */
#ifndef SOFTGPU_NODE_SHARED_CHUNKS_H
#define SOFTGPU_NODE_SHARED_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct sg_node;
struct sg_node_device;

/* This process's hold; all 0: it has none. */
struct sg_shared_chunks {
    uint64_t id; /* random, the same in all processes */
    uint32_t count;
    uint32_t place; /* in the segment */
    bool own;       /* chunks of this process's memory, which it has as long as it has this */
};

/* Chunks that this process has taken, and no other one has yet. GA_NO_MEMORY: it has
 * SG_NODE_HOLDS already. */
GA_CHECKED enum ga_status sg_shared_chunks_make(struct sg_node_device *device, uint32_t count,
                                                struct sg_shared_chunks *shared);
/* Chunks that another process has made. GA_NO_MEMORY: likewise, or nobody has them any more and
 * fewer are free. */
GA_CHECKED enum ga_status sg_shared_chunks_join(struct sg_node_device *device, uint64_t id,
                                                uint32_t count, struct sg_shared_chunks *shared);
/* The process that has made them uses them no more, but keeps their contents for those that have a
 * descriptor: the hold is left to others, who have joined or do so next. sg_shared_chunks_leave is
 * due all the same. */
void sg_shared_chunks_linger(struct sg_node_device *device, const struct sg_shared_chunks *shared);
/* Gives the hold up, and with it the chunks if they are this process's own. */
void sg_shared_chunks_leave(struct sg_node_device *device, struct sg_shared_chunks *shared);

/* ---- for the folder; with the lock */

/* Takes away what the process in the slot has of the device. */
void sg_shared_chunks_reap(struct sg_node *node, struct sg_node_device *device, uint32_t slot);
/* Chunks of the device that are shared. */
uint64_t sg_shared_chunks_count(const struct sg_node *node, const struct sg_node_device *device);

#endif
