/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the GPU that a driver takes by itself for the kernels of a context: the heap of malloc,
 * the texts of printf, stacks and local memory, launches that kernels order. It is charged to the
 * application.
 *
 * What a reader would get wrong: only the driver of software GPUs counts what it takes
 * (driver_counts), and of all this it takes the heap alone. Elsewhere a context is charged from the
 * beginning with what one takes at the limits that it begins with (server/driver/context_bytes.c);
 * here is what a greater limit or a greedier kernel lets the driver take above that, at most. */
#ifndef SERVER_OBJECTS_KERNEL_MEMORY_H
#define SERVER_OBJECTS_KERNEL_MEMORY_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "server/app/objects.h"

struct server_app;
struct server_context;

/* All are for the context that is the driver's current one. CUDA_ERROR_OUT_OF_MEMORY: that would be
 * more than allowed; nothing has changed then. */

/* cuCtxSetLimit; remembers what the limit was, for a reset. */
CUresult kernel_memory_limit(struct server_app *app, struct server_context *context, CUlimit limit,
                             size_t value);
/* A module is about to be loaded whose kernels may call malloc. */
CUresult kernel_memory_heap(struct server_app *app, struct server_context *context);
/* A function whose threads have so much local memory. */
CUresult kernel_memory_local(struct server_app *app, struct server_context *context,
                             uint64_t local_bytes);
/* Sets the charge to the driver's present use. It may be more where an image did not tell, and then
 * may fail. */
CUresult kernel_memory_settle(struct server_app *app, struct server_context *context);
/* All that is charged. */
uint64_t kernel_memory_bytes(const struct server_context *context);
/* The context is no more. */
void kernel_memory_return(struct server_app *app, struct server_context *context);

#endif
