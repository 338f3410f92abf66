/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the calls about events for other files: recording behind work of several streams,
 * and events that other programs have, too. */
#ifndef CLIENT_STREAM_EVENT_CALLS_H
#define CLIENT_STREAM_EVENT_CALLS_H

#include "api/cuda_names.h"
#include "client/context/event.h"

struct client_call;

/* Records behind work of many streams, `stream` among them. Under send_lock. */
void client_event_whole(struct client_event *event, const struct client_call *call,
                        uint64_t stream);
/* Waits until the server has done everything sent about the event, if it is shared. */
CUresult client_event_settle(const struct client_call *before, const struct client_event *event);

#endif
