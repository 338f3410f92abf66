/* SPDX-License-Identifier: Apache-2.0 */
/* When events were done, across the ends of the driver's events. The driver tells only how much
 * time is between two of its own. An event whose driver's event is replaced keeps when it was done,
 * on the clock of this process; the context's clock says when that was of events recorded since. */
#ifndef SERVER_CALLS_EVENT_TIME_H
#define SERVER_CALLS_EVENT_TIME_H

#include "api/cuda_names.h"

struct server_app;
struct server_context;

/* Nothing is to be done in the context, which is current: its events keep their times, and its
 * clock is dropped. */
CUresult event_times_keep(struct server_app *app, struct server_context *context);
/* The driver's events of the context, which is current, are new: starts its clock, if an event has
 * kept its time. */
CUresult event_times_begin(struct server_app *app, struct server_context *context);
/* Ends the context's clock. */
CUresult event_times_end(struct server_app *app, struct server_context *context);

#endif
