/* SPDX-License-Identifier: Apache-2.0 */
/* Events as objects. */
#ifndef CLIENT_CONTEXT_EVENT_H
#define CLIENT_CONTEXT_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/context/object.h"

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

/* Whether other programs may have the event. */
bool client_event_shared(uint64_t wire);

#endif
