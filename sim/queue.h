/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of events: by time, and those of one time in the order in which they were put in. A
 * heap whose nodes have four children, in one array. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sim_event {
    uint64_t at_ns;
    uint64_t order; /* the queue's */
    uint32_t kind, target;
};

struct sim_queue {
    struct sim_event *events;
    size_t count, room;
    uint64_t order;
};

GA_CHECKED enum ga_status sim_queue_put(struct sim_queue *queue, uint64_t at_ns, uint32_t kind,
                                        uint32_t target);
/* False: the queue is empty. */
bool sim_queue_take(struct sim_queue *queue, struct sim_event *event);
void sim_queue_free(struct sim_queue *queue);

#endif
