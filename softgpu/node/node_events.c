/* SPDX-License-Identifier: Apache-2.0 */
/* The events that processes share. */
#include <assert.h>

#include "softgpu/node/node_internal.h"

static struct sg_node_event *event_place(struct sg_node *node)
{
    for (uint32_t i = 0; i < SG_NODE_EVENTS; i++) {
        if (atomic_load(&node->event[i].id) == 0) {
            return &node->event[i];
        }
    }
    return NULL;
}

struct sg_node_event *sg_node_event_make(void)
{
    struct sg_node *node = sg_node_state.node;
    assert(node != NULL); /* the node is open */
    struct sg_node_event *event = event_place(node);
    if (event == NULL) {
        sg_node_sweep(node); /* frees the events of dead processes */
        event = event_place(node);
    }
    if (event != NULL) {
        atomic_store(&event->recorded, 0);
        atomic_store(&event->done, 0);
        event->owner = sg_node_state.slot;
        atomic_store(&event->id, ++node->last_event);
    }
    return event;
}

struct sg_node_event *sg_node_event_at(uint32_t index, uint64_t id)
{
    struct sg_node_event *event = index < SG_NODE_EVENTS ? &sg_node_state.node->event[index] : NULL;
    return event != NULL && id != 0 && atomic_load(&event->id) == id ? event : NULL;
}

uint32_t sg_node_event_index(const struct sg_node_event *event)
{
    return (uint32_t)(event - sg_node_state.node->event);
}
