/* SPDX-License-Identifier: Apache-2.0 */
/* Events. */
#ifndef CLIENT_STREAM_EVENT_H
#define CLIENT_STREAM_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/object.h"

struct client_call;

struct client_event {
    struct client_object object;
    _Atomic uint64_t recorded; /* counts recordings, over all lives of the object */
    _Atomic uint64_t ready;    /* the recording that is known to be done; at first `recorded` */
    _Atomic uint64_t watched;  /* the recording that is being watched */
    uint64_t stream,
        mark; /* what is done with the last recording; under its connection's sender lock */
    _Atomic uint64_t mirror_stream,
        mirror_mark;   /* of the last recording, for client_mirrors_after */
    atomic_uint asked; /* so many further recordings are watched: the program asks for it */
    bool shared;       /* other programs may record it, so nothing is known of its recordings */
};

extern const struct client_object_type client_event_type;

CUresult client_event_make(struct client_call *call, bool shared, uint64_t *wire);
/* Whether other programs may have the event. */
bool client_event_shared(uint64_t wire);
/* Records behind work of many streams, `stream` among them. Under send_lock. */
void client_event_whole(struct client_event *event, const struct client_call *call,
                        uint64_t stream);
/* Waits until the server has done everything sent about the event, if it is shared. */
CUresult client_event_settle(const struct client_call *before, const struct client_event *event);

#endif
