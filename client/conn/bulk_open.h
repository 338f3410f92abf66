/* Bulk connections: asked for with the first large copy, which waits for them; see conn_bulk.c for
 * what they do. A program without large copies has none. */
#ifndef CLIENT_CONN_BULK_OPEN_H
#define CLIENT_CONN_BULK_OPEN_H

#include "client/call/call.h"

/* A copy of so many bytes is about to begin; the call has been entered. */
void client_bulk_prepare(const struct client_call *call, uint64_t bytes);

#endif
