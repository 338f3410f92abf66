/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory under handles. */
#ifndef SERVER_CALLS_PHYSICAL_H
#define SERVER_CALLS_PHYSICAL_H

#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_physical;
struct server_session;

/* Enters physical memory under the client's handle; the caller then sets `real`, or drops the
 * entry. */
CUresult physical_put(struct server_app *app, const struct server_session *session, uint64_t handle,
                      uint64_t bytes, struct server_physical **out);
void physical_drop(struct server_app *app, struct server_physical *physical);
/* Gives up physical memory that is not mapped, and its handle. */
CUresult physical_free(struct server_app *app, struct server_physical *physical);
/* Ends the mapping of physical memory that begins at `address`. */
CUresult physical_unmap(struct server_app *app, uint64_t address);
/* Gives up reserved addresses in which nothing is mapped. */
CUresult space_free(struct server_app *app, uint64_t space, uint64_t bytes);

#endif
