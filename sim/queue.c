/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of events. */
#include "sim/queue.h"

#include <stdlib.h>

#include "sim/grow.h"

#define QUEUE_CHILDREN 4

static bool queue_earlier(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

enum ga_status sim_queue_put(struct sim_queue *queue, uint64_t at_ns, uint32_t kind,
                             uint32_t target)
{
    SIM_GROW(queue->events, queue->count, queue->room);
    struct sim_event event = {at_ns, queue->order++, kind, target};
    struct sim_event *events = queue->events;
    size_t at = queue->count++;
    while (at != 0 && queue_earlier(&event, &events[(at - 1) / QUEUE_CHILDREN])) {
        events[at] = events[(at - 1) / QUEUE_CHILDREN];
        at = (at - 1) / QUEUE_CHILDREN;
    }
    events[at] = event;
    return GA_OK;
}

bool sim_queue_take(struct sim_queue *queue, struct sim_event *event)
{
    if (queue->count == 0) {
        return false;
    }
    struct sim_event *events = queue->events;
    *event = events[0];
    const struct sim_event last = events[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t first = at * QUEUE_CHILDREN + 1, end = first + QUEUE_CHILDREN;
        if (first >= queue->count) {
            break;
        }
        size_t best = first;
        for (size_t i = first + 1; i < end && i < queue->count; i++) {
            best = queue_earlier(&events[i], &events[best]) ? i : best;
        }
        if (!queue_earlier(&events[best], &last)) {
            break;
        }
        events[at] = events[best];
        at = best;
    }
    if (queue->count != 0) {
        events[at] = last;
    }
    return true;
}

void sim_queue_free(struct sim_queue *queue)
{
    free(queue->events);
    *queue = (struct sim_queue){.count = 0};
}
