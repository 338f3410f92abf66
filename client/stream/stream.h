/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, and how far their work is known to be done. */
#ifndef CLIENT_STREAM_STREAM_H
#define CLIENT_STREAM_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/object.h"
#include "front/front.h"

struct client_call;
struct client_conn;
struct client_context;

struct client_stream {
    struct client_object object;
    unsigned long long id;
    unsigned flags;
    uint64_t green; /* handle of its green context; 0: none */
    struct front_stream_attributes attributes;
    /* Sequence points, called marks: connection index << 56 | sequence. `ready`: all work up to it
     * is known to be done. `watched`: a watch for work up to it is outstanding. */
    _Atomic uint64_t ready, watched;
};

extern const struct client_object_type client_stream_type;

/* Whether it is known that the work up to a mark (as client_stream_mark) is done. */
bool client_context_passed(const struct client_context *context, uint64_t mark);
/* `stream` NULL: the legacy one. */
unsigned long long client_stream_id(const struct client_context *context,
                                    const struct client_stream *stream);
/* The mark of everything that the connection has sent up to now. client_stream_reached records that
 * work of a stream (0: the legacy one) is done up to a mark; client_stream_passed asks whether that
 * is known, without asking the server. */
#define CLIENT_MARK_SEQUENCE ((UINT64_C(1) << 56) - 1)
uint64_t client_stream_mark(const struct client_conn *conn);

/* 0 for both names of the legacy stream. */
static inline uint64_t client_stream_known(uint64_t wire)
{
    return wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY ? 0 : wire;
}

void client_stream_reached(struct client_context *context, uint64_t stream, uint64_t mark);
bool client_stream_passed(struct client_context *context, uint64_t stream, uint64_t mark);
uint64_t client_mark_of(const struct client_conn *conn, uint64_t sequence);
bool client_mark_reaches(uint64_t mark, uint64_t wanted);
/* Records that a call that was waited for has found the work of its stream done. */
void client_stream_waited(const struct client_call *call, uint64_t stream);
/* Waits for the work of the stream, unless it is known to be done. */
CUresult client_stream_wait(struct client_call *call, uint64_t stream);
/* Asks the server whether the stream (0: the legacy one) has ended its work, and records the
 * answer. */
void client_stream_ask(struct client_context *context, uint64_t stream);
/* Whether it is known that the stream has ended all its work. */
bool client_stream_idle(struct client_context *context, uint64_t stream);
/* A new stream of the context. */
CUresult client_stream_make(struct client_context *context, unsigned flags,
                            struct client_stream **out);
CUresult client_stream_find(struct client_context *context, CUstream handle,
                            struct client_stream **object, uint64_t *wire);

#endif
