/* SPDX-License-Identifier: Apache-2.0 */
/* Completion order: entries that wait for work of a GPU, and the order in which they are emitted.
 *
 * Entries are kept in the order of submission. A pass polls them; as long as a pass finds something
 * ready, the ones that were not are polled again, until a pass finds nothing new. Then whatever an
 * entry depends on is ready too (it was submitted before and finished before), and the ready ones
 * are emitted in the order of submission. A piece of a copy is therefore always sent before the
 * answer to a synchronize that covers it, even if they are on different streams.
 *
 * This file knows no driver and no connection: both are functions that the caller gives. */
#ifndef SERVER_PIPELINE_COMPLETION_ORDER_H
#define SERVER_PIPELINE_COMPLETION_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct completion {
    struct ga_list link;
    /* Entries of one lane (a stream) finish in their order, so only the oldest that is not ready
     * is polled. 0: of no lane, always polled. */
    uint64_t lane;
    bool ready;
};

struct completion_list {
    struct ga_list entries; /* in the order of submission */
    size_t count;
};

/* Whether the entry is ready now. */
typedef bool completion_poll(void *user, struct completion *entry);
/* Takes over a ready entry, which is in no list any more. */
typedef void completion_emit(void *user, struct completion *entry);

void completion_list_init(struct completion_list *list);
/* `entry` is newer than all that are there. */
void completion_list_add(struct completion_list *list, struct completion *entry);
/* Moves all of `from`, which are newer than all that are there. */
void completion_list_take(struct completion_list *list, struct completion_list *from);
/* Polls until nothing new is ready, then emits; how many. */
size_t completion_list_run(struct completion_list *list, completion_poll *poll,
                           completion_emit *emit, void *user);

#endif
