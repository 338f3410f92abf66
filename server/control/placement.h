/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU of this node serves a device that an application opens. Pure: it decides from what it
 * is given, and knows no clock, no process and no connection. */
#ifndef SERVER_CONTROL_PLACEMENT_H
#define SERVER_CONTROL_PLACEMENT_H

#include <stdint.h>

#define PLACEMENT_NONE UINT32_MAX

/* What a decision is made from. */
struct node_view {
    uint32_t gpu_count; /* that clients see */
};

/* `virtual_device`: the index in the list that clients see. Returns an index into the same list;
 * PLACEMENT_NONE: there is no such device. As yet each device is the GPU of its number. */
uint32_t placement_pick(const struct node_view *node, uint32_t virtual_device);

#endif
