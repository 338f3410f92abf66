/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/queue.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/world.h"

void queue_init(struct world_queue *queue, struct world *world, unsigned least_ms, unsigned most_ms,
                void (*take)(struct world_queue *queue, const struct world_message *message))
{
    *queue = (struct world_queue){
        .world = world, .least_ms = least_ms, .most_ms = most_ms, .take = take};
    ga_list_init(&queue->messages);
}

void queue_end(struct world_queue *queue)
{
    timers_stop(&queue->world->events, &queue->timer);
    ga_list_each (at, next, &queue->messages) {
        ga_list_remove(at);
        free(ga_container(at, struct world_message, link));
    }
}

static struct world_message *first_of(const struct world_queue *queue)
{
    return ga_list_empty(&queue->messages)
               ? NULL
               : ga_container(queue->messages.next, struct world_message, link);
}

static void queue_take_first(struct world_queue *queue)
{
    struct world_message *message = first_of(queue);
    ga_list_remove(&message->link);
    queue->take(queue, message);
    free(message);
}

static void queue_due(struct server_timer *timer);

static void queue_wait(struct world_queue *queue)
{
    const struct world_message *first = first_of(queue);
    if (first != NULL) {
        uint64_t now_ns = queue->world->now_ns;
        uint64_t left_ns = first->at_ns > now_ns ? first->at_ns - now_ns : 0;
        timers_start(&queue->world->events, &queue->timer, queue_due, left_ns / GA_NS_PER_MS, 0);
    }
}

/* One at a time: it may have ended the queue. */
static void queue_due(struct server_timer *timer)
{
    struct world_queue *queue = ga_container(timer, struct world_queue, timer);
    struct world_message *message = first_of(queue);
    ga_list_remove(&message->link);
    queue_wait(queue);
    queue->take(queue, message);
    free(message);
}

void queue_send(struct world_queue *queue, const void *bytes, size_t size)
{
    struct world *world = queue->world;
    struct world_message *message = calloc(1, sizeof *message + size);
    cr_assert_not_null(message);
    uint64_t ms = queue->least_ms + world_any(world, queue->most_ms - queue->least_ms + 1);
    uint64_t at_ns = world->now_ns + ms * GA_NS_PER_MS;
    message->at_ns = at_ns > queue->last_ns ? at_ns : queue->last_ns;
    message->size = size;
    if (size != 0) {
        memcpy(message->bytes, bytes, size);
    }
    queue->last_ns = message->at_ns;
    ga_list_append(&queue->messages, &message->link);
    if (!queue->timer.runs) {
        queue_wait(queue);
    }
}

void queue_take_all(struct world_queue *queue)
{
    timers_stop(&queue->world->events, &queue->timer);
    while (!ga_list_empty(&queue->messages)) {
        queue_take_first(queue);
    }
}
