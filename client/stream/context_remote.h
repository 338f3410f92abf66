/* The server's half of a context; `device->open_lock` is held by all of these. */
#ifndef CLIENT_STREAM_CONTEXT_REMOTE_H
#define CLIENT_STREAM_CONTEXT_REMOTE_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "api/handshake.h"

struct client_context;
struct handshake_context;

/* The server's half (context_remote.c); `device->open_lock` is held by all of these. The session of
 * the context's device, opened if need be, and the context in it; and its end, or that of what it
 * has. */
CUresult client_context_activate(struct client_context *context);
CUresult client_context_end(struct client_context *context, bool destroy);
/* Everything that the context has goes here, after it has gone there; libraries stay. */
void client_context_clear(struct client_context *context);
/* What the server needs to make it with a session. */
void client_context_wish(const struct client_context *context, struct handshake_context *wish);

#endif
