/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: their end. */
#ifndef SERVER_CALLS_MODULE_H
#define SERVER_CALLS_MODULE_H

#include "api/cuda_names.h"

struct server_app;
struct server_context;
struct server_module;

/* Loads it into the driver once more, from its image, for the current context. */
CUresult module_real_load(struct server_app *app, struct server_module *module);
/* Frees it, in the driver too: its context has no work. */
CUresult module_free(struct server_app *app, struct server_module *module);
/* Unloads one of the driver's that the current call has loaded in vain; then `bytes` of the GPU are
 * no more charged. A driver that counts does it at once: a program whose work waits could else have
 * any memory, by loading what it is refused. */
void module_unmake(struct server_app *app, struct server_context *context, CUmodule real,
                   uint64_t bytes);

#endif
