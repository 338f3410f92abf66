/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts are made. In a process of several applications a client's primary context is one of the
 * driver's own for that client alone: nothing of the others is in it. */
#ifndef SERVER_OBJECTS_CONTEXT_OPEN_H
#define SERVER_OBJECTS_CONTEXT_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "server/app/objects.h"

struct server_app;

/* Scheduling flags only matter to threads that wait, and those are on the client. */
#define CONTEXT_FLAGS (CU_CTX_LMEM_RESIZE_TO_MAX)

/* Makes a context under the client's handle. */
CUresult context_open(struct server_app *app, struct server_session *session,
                      const struct ga_context_create_args *args);
/* As context_open, of whatever kind; charged to the ledger with the memory of a context. `given`:
 * how many multiprocessors a context with a part of them has got. */
CUresult context_make(struct server_app *app, struct server_session *session, uint64_t handle,
                      uint32_t kind, const struct made_context *made, uint32_t *given);
/* Ends the context of the driver, which then is no more charged; the rest of `context` stays. */
CUresult context_end(struct server_app *app, struct server_context *context);

/* Makes a context of the driver alone, current or not, charged or not. */
CUresult context_real_make(struct server_app *app, const struct server_session *session,
                           bool primary, const struct made_context *made, CUcontext *real,
                           uint32_t *given);
/* Ends a context of the driver, which was the client's primary one or not. */
CUresult context_unmake(struct server_app *app, const struct server_session *session, bool primary,
                        CUcontext real);

#endif
