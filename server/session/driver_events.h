/* SPDX-License-Identifier: Apache-2.0 */
/* Reference-counted events of the driver. The context must be current. */
#ifndef SERVER_SESSION_DRIVER_EVENTS_H
#define SERVER_SESSION_DRIVER_EVENTS_H

#include <stdint.h>

#include "api/cuda_names.h"

struct event_ref;
struct server_app;
struct server_context;

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
