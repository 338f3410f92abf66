/* SPDX-License-Identifier: Apache-2.0 */
/* Retired memory: freed, and perhaps still in use by work. */
#include "client/alloc/retired.h"

#include <stdlib.h>

bool client_retired_add(struct client_retired *queue, const struct client_retired_entry *what)
{
    struct client_retired_entry *entry = queue->unused;
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

bool client_retired_next(struct client_retired *queue, uint64_t owner, uint64_t done,
                         struct client_retired_entry *out)
{
    struct client_retired_entry *before = NULL, *entry = queue->first;
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

bool client_retired_some(const struct client_retired *queue, uint64_t owner)
{
    const struct client_retired_entry *entry = queue->first;
    while (entry != NULL && entry->owner != owner) {
        entry = entry->next;
    }
    return entry != NULL;
}

void client_retired_fini(struct client_retired *queue)
{
    struct client_retired_entry *lists[] = {queue->first, queue->unused};
    for (unsigned i = 0; i < 2; i++) {
        for (struct client_retired_entry *at = lists[i], *next; at != NULL; at = next) {
            next = at->next;
            free(at);
        }
    }
    *queue = (struct client_retired){0};
}
