/* What has been freed and may still be used. */
#include "client/alloc/retired.h"

#include <stdlib.h>

bool client_draining_add(struct client_draining *queue, const struct client_drained *what)
{
    struct client_drained *entry = queue->unused;
    if (entry != NULL) {
        queue->unused = entry->next;
    } else {
        entry = malloc(sizeof *entry);
    }
    if (entry == NULL) {
        return false;
    }
    *entry = *what;
    entry->next = NULL;
    if (queue->first == NULL) {
        queue->first = entry;
    } else {
        queue->last->next = entry;
    }
    queue->last = entry;
    queue->bytes += entry->bytes;
    return true;
}

bool client_draining_next(struct client_draining *queue, uint64_t owner, uint64_t done,
                          struct client_drained *out)
{
    struct client_drained *before = NULL, *entry = queue->first;
    while (entry != NULL && entry->owner != owner) {
        before = entry;
        entry = entry->next;
    }
    if (entry == NULL || entry->mark > done) {
        return false;
    }
    if (before == NULL) {
        queue->first = entry->next;
    } else {
        before->next = entry->next;
    }
    queue->last = queue->last == entry ? before : queue->last;
    queue->bytes -= entry->bytes;
    *out = *entry;
    entry->next = queue->unused;
    queue->unused = entry;
    return true;
}

bool client_draining_some(const struct client_draining *queue, uint64_t owner)
{
    const struct client_drained *entry = queue->first;
    while (entry != NULL && entry->owner != owner) {
        entry = entry->next;
    }
    return entry != NULL;
}

void client_draining_fini(struct client_draining *queue)
{
    struct client_drained *lists[] = {queue->first, queue->unused};
    for (unsigned i = 0; i < 2; i++) {
        for (struct client_drained *at = lists[i], *next; at != NULL; at = next) {
            next = at->next;
            free(at);
        }
    }
    *queue = (struct client_draining){0};
}
