/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: their end. */
#ifndef SERVER_CALLS_STREAM_H
#define SERVER_CALLS_STREAM_H

#include "api/cuda_names.h"

struct server_app;
struct server_stream;

/* Ends the capture of the stream, if there is one, destroys the stream and forgets it. */
CUresult stream_free(struct server_app *app, struct server_stream *stream);

#endif
