/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which finished work is told. */
#include "server/pipeline/completion_order.h"

#define BLOCKED_LANES 64u /* remembered in a pass; more are simply polled more often */

void completion_list_init(struct completion_list *list)
{
    ga_list_init(&list->entries);
    list->count = 0;
}

void completion_list_add(struct completion_list *list, struct completion *entry)
{
    ga_list_append(&list->entries, &entry->link);
    list->count++;
}

void completion_list_take(struct completion_list *list, struct completion_list *from)
{
    if (ga_list_empty(&from->entries)) {
        return;
    }
    struct ga_list *first = from->entries.next, *last = from->entries.prev;
    first->prev = list->entries.prev;
    list->entries.prev->next = first;
    last->next = &list->entries;
    list->entries.prev = last;
    list->count += from->count;
    completion_list_init(from);
}

static bool lane_is_blocked(const uint64_t *lanes, uint64_t lane)
{
    return lane != 0 && lanes[lane % BLOCKED_LANES] == lane;
}

/* One pass; how many have become ready in it. */
static size_t pass(struct completion_list *list, completion_poll *poll, void *user)
{
    uint64_t blocked[BLOCKED_LANES] = {0};
    size_t found = 0;
    ga_list_each (at, next, &list->entries) {
        struct completion *entry = ga_container(at, struct completion, link);
        if (entry->ready || lane_is_blocked(blocked, entry->lane)) {
            continue;
        }
        if (poll(user, entry)) {
            entry->ready = true;
            found++;
        } else if (entry->lane != 0) {
            blocked[entry->lane % BLOCKED_LANES] = entry->lane;
        }
    }
    return found;
}

size_t completion_list_run(struct completion_list *list, completion_poll *poll,
                           completion_emit *emit, void *user)
{
    size_t ready = 0, found;
    while ((found = pass(list, poll, user)) != 0) {
        ready += found;
    }
    size_t left = ready;
    ga_list_each (at, next, &list->entries) {
        if (left == 0) {
            break; /* they are mostly at the front */
        }
        struct completion *entry = ga_container(at, struct completion, link);
        if (entry->ready) {
            ga_list_remove(&entry->link);
            list->count--;
            left--;
            emit(user, entry);
        }
    }
    return ready;
}
