/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on their way from one place to another: each takes some time, and none overtakes
 * another one. */
#ifndef TESTS_WORLD_QUEUE_H
#define TESTS_WORLD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "server/timers.h"

struct world;

/* size 0: the other end has closed. */
struct world_message {
    struct ga_list link;
    uint64_t at_ns;
    size_t size;
    _Alignas(16) uint8_t bytes[];
};

struct world_queue {
    struct world *world;
    struct ga_list messages;
    struct server_timer timer;  /* of the world's events */
    uint64_t last_ns;           /* when the last one comes */
    unsigned least_ms, most_ms; /* that a message takes */
    /* One has come; the queue may be ended meanwhile. */
    void (*take)(struct world_queue *queue, const struct world_message *message);
};

void queue_init(struct world_queue *queue, struct world *world, unsigned least_ms, unsigned most_ms,
                void (*take)(struct world_queue *queue, const struct world_message *message));
/* Messages on their way are lost. */
void queue_end(struct world_queue *queue);
void queue_send(struct world_queue *queue, const void *bytes, size_t size);
/* Takes at once what is on its way. */
void queue_take_all(struct world_queue *queue);

#endif
