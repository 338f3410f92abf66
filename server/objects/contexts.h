/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, which are current or not, and all of their work at once. Submit thread only. */
#ifndef SERVER_OBJECTS_CONTEXTS_H
#define SERVER_OBJECTS_CONTEXTS_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/status.h"

struct event_marks;
struct server_app;
struct server_context;
struct server_green;

/* Makes a context the application's current one. If it does not exist any more (or is 0), each of
 * the following calls fails. */
void context_switch(struct server_app *app, uint64_t handle);
/* Records events on all streams of the context, which must be current, into `marks`, which has
 * none: together they cover all work of the context, that of destroyed streams included. After an
 * error it may have some of them. */
CUresult context_mark(struct server_app *app, struct server_context *context,
                      struct event_marks *marks);
/* As context_mark, for all contexts that may use the owner's memory: itself and those that have
 * peer access; with `everybody` all of the application. Any may be current. */
CUresult context_mark_users(struct server_app *app, const struct server_context *owner,
                            bool everybody, struct event_marks *marks);
/* Whether no context has any work, so that no call of the driver waits for some. False: perhaps. */
bool contexts_are_idle(struct server_app *app);
/* Waits until the work of the context, which is current, is done. */
CUresult context_drain(struct server_app *app, struct server_context *context);
/* As context_drain, without asking the driver to wait. GA_TIMEOUT, GA_LOST: the work is not done,
 * as the carrier says. GA_INVALID: the driver takes no more work, and what it has is not known. */
GA_CHECKED enum ga_status context_quiesce(struct server_app *app, struct server_context *context);
/* Waits until nobody waits for the context any more: what its driver still does is told as an
 * error. */
CUresult context_abandon(struct server_app *app, struct server_context *context);
/* An event behind all that the green context has, in `marks`, which has none. */
CUresult green_mark(struct server_app *app, const struct server_green *green,
                    struct event_marks *marks);
/* Waits for the work of a green context. */
CUresult green_drain(struct server_app *app, const struct server_green *green);

/* Kernels of all contexts may run for as long as the limit kernel-time says, where the driver can
 * stop them. The second one: of a context that is new. */
void contexts_limit_kernels(struct server_app *app);
void context_limit_kernels(struct server_app *app, const struct server_context *context);

#endif
