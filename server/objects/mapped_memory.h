/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the driver at addresses of a session's window. */
#ifndef SERVER_OBJECTS_MAPPED_MEMORY_H
#define SERVER_OBJECTS_MAPPED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_context;
struct server_session;

/* Maps memory of a context (NULL: of none) at an address of the session's window. */
CUresult memory_make(struct server_app *app, const struct server_session *session,
                     const struct server_context *owner, uint64_t address, uint64_t bytes);

/* cuMemCreate on the session's device, charged to the ledger. The call that releases it returns the
 * charge. */
CUresult memory_create(struct server_app *app, const struct server_session *session,
                       CUmemGenericAllocationHandle *physical, uint64_t bytes);
/* Charges memory of the session's GPU, before the driver is asked for it. */
CUresult memory_charge(struct server_app *app, const struct server_session *session,
                       uint64_t bytes);
/* Remembers whether the driver has just refused memory of the session's device because too little
 * is left. */
void memory_answered(struct server_app *app, const struct server_session *session, uint64_t bytes,
                     CUresult rc);
/* Whether it has, though the device is large enough; asked once for each refusal. */
bool memory_lacks(struct server_app *app, const struct server_session *session);
/* Maps an allocation of the driver, which another application has made, for the current context at
 * an address of the session's window; on success it goes with the mapping. */
CUresult memory_place(struct server_app *app, const struct server_session *session,
                      const struct server_context *owner, uint64_t address, uint64_t bytes,
                      CUmemGenericAllocationHandle physical, uint64_t opening);

#endif
