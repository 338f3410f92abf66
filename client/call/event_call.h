/* SPDX-License-Identifier: Apache-2.0 */
/* Events that calls name and make. */
#ifndef CLIENT_CALL_EVENT_CALL_H
#define CLIENT_CALL_EVENT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_call;

CUresult client_event_check(struct client_call *call, CUevent handle, uint64_t *wire);
/* Makes the handle of a new event in the call's context. */
CUresult client_event_make(struct client_call *call, bool shared, uint64_t *wire);

#endif
