/* SPDX-License-Identifier: Apache-2.0 */
#include "server/channel_queue.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/channel.h"

struct channel_queue_entry {
    struct ga_list link;
    int passed; /* its own; -1: none */
    size_t size;
    _Alignas(16) uint8_t packet[];
};

void channel_queue_init(struct channel_queue *queue, uint32_t most, uint32_t most_passed)
{
    *queue = (struct channel_queue){.most = most, .most_passed = most_passed};
    ga_list_init(&queue->waiting);
}

/* Keys of shared memory are in packets. */
static void entry_drop(struct channel_queue *queue, struct channel_queue_entry *entry)
{
    ga_list_remove(&entry->link);
    queue->count--;
    if (entry->passed >= 0) {
        queue->passed--;
        close(entry->passed);
    }
    explicit_bzero(entry->packet, entry->size);
    free(entry);
}

void channel_queue_fini(struct channel_queue *queue)
{
    ga_list_each (at, next, &queue->waiting) {
        entry_drop(queue, ga_container(at, struct channel_queue_entry, link));
    }
}

static enum ga_status entry_add(struct channel_queue *queue, const void *packet, size_t size,
                                int passed)
{
    if (queue->count == queue->most || (passed >= 0 && queue->passed == queue->most_passed)) {
        return GA_AGAIN;
    }
    struct channel_queue_entry *entry = aligned_alloc(16, (sizeof *entry + size + 15) / 16 * 16);
    int own = entry != NULL && passed >= 0 ? fcntl(passed, F_DUPFD_CLOEXEC, 0) : -1;
    if (entry == NULL || (passed >= 0 && own < 0)) {
        free(entry);
        return GA_NO_MEMORY;
    }
    entry->passed = own;
    entry->size = size;
    memcpy(entry->packet, packet, size);
    ga_list_append(&queue->waiting, &entry->link);
    queue->count++;
    queue->passed += own >= 0;
    return GA_OK;
}

enum ga_status channel_queue_flush(struct channel_queue *queue, int fd)
{
    while (queue->count != 0) {
        struct channel_queue_entry *entry =
            ga_container(queue->waiting.next, struct channel_queue_entry, link);
        GA_TRY(channel_send_with(fd, entry->packet, entry->size, entry->passed));
        entry_drop(queue, entry);
    }
    return GA_OK;
}

enum ga_status channel_queue_send(struct channel_queue *queue, int fd, const void *packet,
                                  size_t size, int passed)
{
    enum ga_status status = channel_queue_flush(queue, fd);
    if (status == GA_OK) {
        status = channel_send_with(fd, packet, size, passed);
    }
    return status == GA_AGAIN ? entry_add(queue, packet, size, passed) : status;
}
