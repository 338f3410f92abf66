/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one rebuilding, and its parts. Each part is torn down by rebuild_X_down, which keeps
 * what only the driver knows, and made again by rebuild_X_up, which walks the same objects in the
 * same order. A failure is kept in `rc`, with what failed, and lets the rest be. */
#ifndef SERVER_REBUILD_REBUILD_STATE_H
#define SERVER_REBUILD_REBUILD_STATE_H

#include "server/app/app.h"
#include "server/rebuild/saved.h"

struct cuda_driver_places;

struct rebuild {
    struct server_app *app;
    const struct cuda_driver_places *places; /* NULL: the driver cannot place objects */
    struct saved contexts, heaps, mappings, physicals, streams, events, arrays, textures, modules;
    CUresult rc;
    const char *what; /* failed */
};

/* Keeps the first failure. True: there is none. */
bool rebuild_check(struct rebuild *rebuild, CUresult rc, const char *what);

/* A context of the device is current until rebuild_device_leave: one of the application, or the
 * driver's primary one. */
CUresult rebuild_device_enter(struct rebuild *rebuild, const struct server_session *session,
                              bool *retained);
void rebuild_device_leave(struct rebuild *rebuild, const struct server_session *session,
                          bool retained);

/* ---- the parts; those of a context, while it is current */

/* All settings go before the first context does, which others may have peer access to. */
void rebuild_settings_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_context_down(struct rebuild *rebuild, struct server_context *context);
/* Makes it current, too. */
void rebuild_context_up(struct rebuild *rebuild, struct server_context *context);

/* Before the modules come, whose loading makes a heap. */
void rebuild_heap_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_heap_up(struct rebuild *rebuild, struct server_context *context);

/* All mappings and physical memory, with contents and access rights. */
void rebuild_memory_down(struct rebuild *rebuild);
void rebuild_memory_up(struct rebuild *rebuild);

void rebuild_streams_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_streams_up(struct rebuild *rebuild, struct server_context *context);

void rebuild_events_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_events_up(struct rebuild *rebuild, struct server_context *context);

void rebuild_arrays_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_arrays_up(struct rebuild *rebuild, struct server_context *context);

void rebuild_textures_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_textures_up(struct rebuild *rebuild, struct server_context *context);

void rebuild_modules_down(struct rebuild *rebuild, struct server_context *context);
void rebuild_modules_up(struct rebuild *rebuild, struct server_context *context);

#endif
