/* SPDX-License-Identifier: Apache-2.0 */
/* Packets for a full channel (channel.h) wait here, in order. Each end has one for each channel. A
 * packet that matters goes through it; one that may be lost, or of which only the last counts, is
 * better sent by channel_send, when nothing waits.
 *
 * Note: the other end may be a stranger's that reads nothing, so the queue is bounded. Its owner
 * decides what follows when that is reached. */
#ifndef SERVER_CHANNEL_QUEUE_H
#define SERVER_CHANNEL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

struct channel_queue {
    struct ga_list waiting;
    uint32_t count, passed;     /* that wait, and those of them that have a descriptor */
    uint32_t most, most_passed; /* the same, at most */
};

void channel_queue_init(struct channel_queue *queue, uint32_t most, uint32_t most_passed);
/* Drops what waits. */
void channel_queue_fini(struct channel_queue *queue);
/* Sends the packet over the channel `fd`, behind those that wait; where there is no room, a copy of
 * it waits. The descriptor `passed` (-1: none) stays the caller's. GA_AGAIN: too many wait.
 * GA_NO_MEMORY. GA_LOST: the other end is gone. */
GA_CHECKED enum ga_status channel_queue_send(struct channel_queue *queue, int fd,
                                             const void *packet, size_t size, int passed);
/* Sends what there is room for. GA_OK: nothing waits any more. GA_AGAIN. GA_LOST. */
GA_CHECKED enum ga_status channel_queue_flush(struct channel_queue *queue, int fd);

static inline bool channel_queue_waits(const struct channel_queue *queue)
{
    return queue->count != 0;
}

#endif
