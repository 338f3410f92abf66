/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context. */
#ifndef SERVER_CALLS_CONTEXT_END_H
#define SERVER_CALLS_CONTEXT_END_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct server_app;
struct server_context;

/* Waits for the work of the context, then frees all its objects, and without `keep` the context
 * itself. An error of the driver is returned, but does not stop this. */
CUresult context_clear(struct server_app *app, struct server_context *context, bool keep);
/* As context_clear, for the current call, which is answered then. Other calls are carried
 * out while the work that is there goes on. */
CUresult context_clear_after_work(struct server_app *app, struct server_context *context,
                                  bool keep);
/* The context, which is current, stays in use, but its settings become as if new. A setting that
 * the driver cannot reset (a heap that kernels have used) stays. */
void context_settings_reset(struct server_app *app, struct server_context *context);

#endif
