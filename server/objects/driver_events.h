/* SPDX-License-Identifier: Apache-2.0 */
/* Reference-counted events of the driver. The context must be current. */
#ifndef SERVER_OBJECTS_DRIVER_EVENTS_H
#define SERVER_OBJECTS_DRIVER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct event_ref;
struct server_app;
struct server_context;

#define EVENT_MARKS_FEW 4u

/* Events that stand behind some work, each counted once for this. All 0: there is none. */
struct event_marks {
    struct event_ref **many; /* owned; NULL: those of `few` */
    struct event_ref *few[EVENT_MARKS_FEW];
    unsigned count;
    bool of_several; /* contexts: they are not all of the same one */
};

static inline struct event_ref **event_marks_refs(struct event_marks *marks)
{
    return marks->many != NULL ? marks->many : marks->few;
}

/* Room for so many. */
CUresult event_marks_make(struct event_marks *marks, size_t count);
/* Lets go of all of them. */
void event_marks_drop(struct server_app *app, struct event_marks *marks);

/* A new event, never recorded, for a client's event object. */
CUresult event_new(struct server_app *app, struct server_context *context, unsigned flags,
                   struct event_ref **ref);
/* Takes over an existing event; destroyed on failure. */
CUresult event_own(struct server_app *app, struct server_context *context, unsigned flags,
                   CUevent real, struct event_ref **ref);
/* An event to be recorded at once, new or used: those without timing are pooled by context. */
CUresult event_take(struct server_app *app, struct server_context *context, unsigned flags,
                    struct event_ref **ref);
void event_keep(struct server_app *app, struct event_ref *ref);
void event_drop(struct server_app *app, struct event_ref *ref);
/* Records an event without timing on a stream of the context. */
CUresult event_mark(struct server_app *app, struct server_context *context, CUstream stream,
                    struct event_ref **ref);
/* The lane of a stream by the client's handle; 0: there is no such stream, or no context. */
uint64_t stream_lane(struct server_app *app, uint64_t wire);
/* Records one on a stream given by the client's handle, whatever context is current; gives its
 * lane. */
CUresult stream_mark(struct server_app *app, uint64_t wire, struct event_ref **ref, uint64_t *lane);

#endif
