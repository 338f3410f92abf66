/* SPDX-License-Identifier: Apache-2.0 */
/* Opening bulk connections (conn_bulk.c): the first large copy asks for them, and waits until they
 * are open. A program without large copies has none. */
#ifndef CLIENT_CALL_BULK_OPEN_H
#define CLIENT_CALL_BULK_OPEN_H

#include "client/call/call.h"

/* Call before a copy of `bytes` begins; the call has been entered. */
void client_bulk_prepare(const struct client_call *call, uint64_t bytes);

#endif
