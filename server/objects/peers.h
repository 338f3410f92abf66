/* SPDX-License-Identifier: Apache-2.0 */
/* Peer access: which context may use the memory of which. Memory that is mapped has the access that
 * it was given, whatever a context may do: so each mapping of the owner is opened for the device of
 * the peer, and each that comes later. */
#ifndef SERVER_OBJECTS_PEERS_H
#define SERVER_OBJECTS_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_context;

/* Enters peer access of the current context, and opens the owner's mappings for it. On failure
 * there is none. */
CUresult peer_add(struct server_app *app, const struct server_context *owner);
/* Ends that of the current context. */
void peer_remove(struct server_app *app, const struct server_context *owner);
/* Makes a mapping of the owner accessible for the contexts that have peer access. */
CUresult peer_open(struct server_app *app, const struct server_context *owner, uint64_t address,
                   uint64_t bytes);
/* Whether peer access lets the context use the owner's memory. */
bool peer_reaches(const struct server_app *app, const struct server_context *context,
                  const struct server_context *owner);
/* Peer access as the driver knows it, of contexts that are made again: it ends, and comes back.
 * Entries stay. */
void peers_suspend(struct server_app *app);
CUresult peers_resume(struct server_app *app);
/* Ends all peer access of a context, in both directions. */
void peer_drop(struct server_app *app, const struct server_context *context);

#endif
