/* SPDX-License-Identifier: Apache-2.0 */
/* The server's half of a context; `device->open_lock` is held by all of these. */
#ifndef CLIENT_STREAM_CONTEXT_REMOTE_H
#define CLIENT_STREAM_CONTEXT_REMOTE_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct client_context;

/* Make the context on the server, after opening the session of its device if that is not open; and
 * end it (`destroy`), or only everything in it. */
CUresult client_context_activate(struct client_context *context);
CUresult client_context_end(struct client_context *context, bool destroy);
/* Frees the client's half of everything in the context, after the server's half; libraries stay. */
void client_context_clear(struct client_context *context);

#endif
