/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU of this node serves a device that an application opens. Pure: it decides from what it
 * is given, and knows no clock, no process and no connection. */
#ifndef SERVER_PLACEMENT_PLACEMENT_H
#define SERVER_PLACEMENT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "server/gpu_set.h"

#define PLACEMENT_NONE  UINT32_MAX       /* there is no such device */
#define PLACEMENT_TAKEN (UINT32_MAX - 1) /* its GPU is kept for a tenant, or has others */

/* The facts that a decision is made from. */
struct node_view {
    uint32_t gpu_count; /* that clients see */
    /* Bit n: an application of another tenant than the one that asks uses the GPU n; and one of a
     * tenant whose isolation is `exclusive`. */
    uint64_t others[GPU_SET_WORDS], kept[GPU_SET_WORDS];
    enum isolation isolation; /* of the tenant that asks */
};

/* `virtual_device`: the index in the list that clients see. Returns an index into the same list,
 * PLACEMENT_NONE or PLACEMENT_TAKEN. As yet each device is the GPU of its number. */
uint32_t placement_pick(const struct node_view *node, uint32_t virtual_device);
/* Whether a GPU that has been picked may serve still. */
bool placement_allows(const struct node_view *node, uint32_t gpu);

#endif
