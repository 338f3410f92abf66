/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking copies to the device (cudaMemcpy and its kind), which need not be over when they return,
 * as long as the program cannot tell: docs/semantics.md S125. */
#ifndef CLIENT_CALL_DEFERRED_COPIES_H
#define CLIENT_CALL_DEFERRED_COPIES_H

#include <stdbool.h>
#include <stdint.h>

struct client_call;
struct client_conn;
struct client_context;

/* Whether the wait for a copy that has just been sent can be deferred; then it is. */
bool client_copy_deferred(const struct client_call *call, uint64_t stream);
/* From now on the program can observe deferred copies: in streams of the context that do not wait
 * for the legacy one, or (NULL) in other contexts and programs. Completes those under way. */
void client_copy_expose(struct client_context *context);
/* Completes all deferred copies; call before memory that they use is released. */
void client_copy_complete(void);
/* Call before work that may last is sent: records an event behind deferred copies, so that
 * completing them does not wait for that work. */
void client_copy_fence(struct client_conn *conn);
/* The context's work and events are gone: nothing is deferred any more. */
void client_copy_forget(struct client_context *context);
/* Whether all work of the context counts as done, because the last of it are deferred copies. */
bool client_copy_deferred_done(const struct client_context *context);

#endif
