/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as objects, and how far their work is known to be done. */
#ifndef CLIENT_CONTEXT_STREAM_H
#define CLIENT_CONTEXT_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/object.h"
#include "front/front.h"

struct client_context;

struct client_stream {
    struct client_object object;
    unsigned long long id;
    unsigned flags;
    uint64_t green; /* handle of its green context; 0: none */
    struct front_stream_attributes attributes;
    /* Marks. `ready`: all work up to it is known to be done. `watched`: a watch for work up to it
     * is outstanding. */
    _Atomic uint64_t ready, watched;
};

extern const struct client_object_type client_stream_type;

/* A stream with these flags is about to be made in the context. */
void client_stream_announce(struct client_context *context, unsigned flags);

/* `stream` NULL: the legacy one. */
unsigned long long client_stream_id(const struct client_context *context,
                                    const struct client_stream *stream);

/* 0 for both names of the legacy stream. */
static inline uint64_t client_stream_known(uint64_t wire)
{
    return wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY ? 0 : wire;
}

/* Records that the work of a stream (0: the legacy one) is done up to a mark; and asks whether that
 * is known, without asking the server. */
void client_stream_reached(struct client_context *context, uint64_t stream, uint64_t mark);
/* As client_stream_reached, for all streams of a green context, of whose default stream this is the
 * handle; 0: of the context, but for those of green ones. */
void client_streams_reached(struct client_context *context, uint64_t stream, uint64_t mark);
bool client_stream_passed(struct client_context *context, uint64_t stream, uint64_t mark);
/* Whether it is known that the stream has ended all its work. */
bool client_stream_idle(struct client_context *context, uint64_t stream);

#endif
