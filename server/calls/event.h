/* SPDX-License-Identifier: Apache-2.0 */
/* Events: of other applications, and their end. */
#ifndef SERVER_CALLS_EVENT_H
#define SERVER_CALLS_EVENT_H

#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_event;

/* Enters an event that other applications record, too, under the client's handle; destroyed on
 * failure. */
CUresult event_adopt(struct server_app *app, uint64_t wire, CUevent real);
/* Frees it, in the driver too. */
CUresult event_free(struct server_app *app, struct server_event *event);

#endif
