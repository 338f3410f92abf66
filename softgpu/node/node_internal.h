/* SPDX-License-Identifier: Apache-2.0 */
/* A process's own knowledge of itself in its node. It does not trust the segment to tell it. */
#ifndef SOFTGPU_NODE_NODE_INTERNAL_H
#define SOFTGPU_NODE_NODE_INTERNAL_H

#include "softgpu/node/node_segment.h"

#define SG_NODE_NO_SLOT UINT32_MAX

/* A device that this process has opened. */
struct sg_node_own {
    uint64_t chunks; /* that the device has; 0: it is not open */
    uint64_t held;   /* by this process */
    uint64_t shared; /* of these (shared_chunks.h) */
};

struct sg_node_state {
    struct sg_node *node;
    uint32_t slot, keeper;
    uint64_t works; /* numbers given to pieces of work */
    uint64_t id;    /* of the node */
    struct sg_node_own own[SG_NODE_DEVICES];
};

extern struct sg_node_state sg_node_state;

/* Takes back what a process has of the device, or of all there is. With the lock. */
void sg_node_device_leave(struct sg_node_device *device, uint32_t slot);
void sg_node_slot_reap(struct sg_node *node, uint32_t slot);
/* All dead processes are looked for, thoroughly: the number of a dead thread may be another's. With
 * the lock. */
void sg_node_sweep(struct sg_node *node);
/* Counts anew what all processes hold. With the lock. */
void sg_node_device_count(const struct sg_node *node, struct sg_node_device *device);

struct sg_node_own *sg_node_own_of(const struct sg_node_device *device);
/* Tells the others, by the segment, how much this process holds. With the lock. */
void sg_node_held_tell(struct sg_node_device *device);
/* Whether so many chunks are free, also after a look for dead processes. With the lock. */
bool sg_node_has_room(struct sg_node_device *device, uint64_t chunks);

#endif
