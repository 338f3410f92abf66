/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context/event.h"

#include <stddef.h>

/* A watch that began in the object's last life may still end: the count of recordings goes on, so
 * that its value is never that of a recording of this life. */
static void event_begin(void *at)
{
    struct client_event *event = at;
    atomic_store(&event->ready, atomic_fetch_add(&event->recorded, 1) + 1);
}

const struct client_object_type client_event_type = {
    .bytes = sizeof(struct client_event), .kept = sizeof(uint64_t), .begin = event_begin};

_Static_assert(offsetof(struct client_event, recorded) == sizeof(struct client_object),
               "it is what is kept");

bool client_event_shared(uint64_t wire)
{
    const struct client_event *event = client_object_find(GA_HANDLE_EVENT, wire);
    return event != NULL && event->shared;
}
