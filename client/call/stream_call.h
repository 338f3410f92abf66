/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that calls name, and calls that make them, wait for them or ask them. */
#ifndef CLIENT_CALL_STREAM_CALL_H
#define CLIENT_CALL_STREAM_CALL_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/stream.h"

struct client_call;
struct client_context;
struct front_green;

/* The stream that a program means in the context; NULL: the legacy one. */
CUresult client_stream_find(struct client_context *context, CUstream handle,
                            struct client_stream **object, uint64_t *wire);
CUresult client_stream_check(struct client_call *call, CUstream handle, uint64_t *wire);
/* As client_stream_check, for a stream to be destroyed: the default streams are errors. */
CUresult client_stream_check_made(struct client_call *call, CUstream handle, uint64_t *wire);

/* A new stream of the context; of a green context. */
CUresult client_stream_make(struct client_context *context, unsigned flags,
                            struct client_stream **out);
CUresult client_green_stream(const struct front_green *green, unsigned flags, int priority,
                             struct client_stream **out);

/* Waits for the work of the stream, unless it is known to be done. */
CUresult client_stream_wait(struct client_call *call, uint64_t stream);
/* Records that a call that was waited for has found the work of its stream done. */
void client_stream_waited(const struct client_call *call, uint64_t stream);
/* Asks the server whether the stream (0: the legacy one) has ended its work, and records the
 * answer. */
void client_stream_ask(struct client_context *context, uint64_t stream);

#endif
