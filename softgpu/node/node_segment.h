/* SPDX-License-Identifier: Apache-2.0 */
/* The segment of shared memory in which the state of a node lies. */
#ifndef SOFTGPU_NODE_NODE_SEGMENT_H
#define SOFTGPU_NODE_NODE_SEGMENT_H

#include "softgpu/node/node.h"
#include "softgpu/node/node_lock.h"

#define SG_NODE_MAGIC UINT64_C(0x38656d6e75706773) /* changes with the layout of the segment */

struct sg_node {
    _Atomic uint64_t magic; /* written last */
    uint64_t id;            /* random */
    char name[SG_NODE_NAME_BYTES];
    struct sg_node_mutex lock;
    uint32_t slots;   /* slots from here on have never been used */
    uint32_t devices; /* devices from here on have never been used */
    struct sg_node_slot slot[SG_NODE_PROCESSES];
    struct sg_node_device device[SG_NODE_DEVICES];
    struct sg_node_hold hold[SG_NODE_PROCESSES][SG_NODE_HOLDS]; /* by slot */
};

/* As many slots and devices as there can be, whatever the segment says. */
static inline uint32_t sg_node_slots(const struct sg_node *node)
{
    return node->slots < SG_NODE_PROCESSES ? node->slots : SG_NODE_PROCESSES;
}

static inline uint32_t sg_node_devices(const struct sg_node *node)
{
    return node->devices < SG_NODE_DEVICES ? node->devices : SG_NODE_DEVICES;
}

/* Finds or makes the segment of that name; `why` names the call that fails. */
GA_CHECKED enum ga_status sg_node_attach(const char *name, struct sg_node **node, const char **why);

/* Makes a segment that no other process finds. */
GA_CHECKED enum ga_status sg_node_make_own(struct sg_node **node, const char **why);
void sg_node_detach(struct sg_node *node);

#endif
