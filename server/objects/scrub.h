/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a driver gives to an application of a process which serves several, or goes on when
 * one has ended (struct server_host: scrubs), may have been another's: it is zeroed before its new
 * owner can reach it. Where the process ends with its application, nothing is done.
 *
 * Note: the submit thread waits until it is zeroed, in a stream that no work of the application is
 * ahead of. Memory that a driver gives to kernels themselves (stacks, shared memory, malloc) is the
 * driver's to zero. */
#ifndef SERVER_OBJECTS_SCRUB_H
#define SERVER_OBJECTS_SCRUB_H

#include "server/app/app.h"

/* [at, at + bytes) of the session's device, which is this context's, or (NULL) no context's. */
CUresult scrub_memory(struct server_app *app, const struct server_session *session,
                      const struct server_context *context, CUdeviceptr at, uint64_t bytes);
/* Physical memory of the session's device, which is not mapped. */
CUresult scrub_physical(struct server_app *app, const struct server_session *session,
                        CUmemGenericAllocationHandle physical, uint64_t bytes);
/* A new array of the current context, or all levels of a new mipmapped one, as array->made_from
 * says; `texel_bytes` of each element. */
CUresult scrub_array(struct server_app *app, const struct server_array *array,
                     uint64_t texel_bytes);

#endif
