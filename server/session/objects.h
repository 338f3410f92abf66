/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an application on this server: sessions (its devices), contexts, and the objects
 * of a context. Handles are the client's. They are looked up in tables of the connection, because a
 * stream of one device may wait for an event of another.
 *
 * Everything here belongs to the submit thread, except struct event_ref (see there). */
#ifndef SERVER_SESSION_OBJECTS_H
#define SERVER_SESSION_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "api/cuda_names.h"
#include "api/handshake.h"
#include "base/handle_table.h"
#include "base/list.h"
#include "base/number_map.h"
#include "server/channel.h"
#include "server/figures.h"
#include "server/session/creation.h"

struct completer_entry;
struct gate;
struct server_conn;

/* A device of the node as the application sees it. */
struct server_session {
    uint16_t number; /* in the frames; 0: free */
    uint32_t device; /* index into the list that clients see */
    CUdevice real;
    bool agreed; /* both ends have reserved the window, or do without (bytes 0: unpinned) */
    unsigned rounds;
    struct handshake_window window;
    bool mappable; /* its driver can map memory at given addresses */
    uint64_t granularity_bytes;
    unsigned handle_types; /* of its allocations: CUmemAllocationHandleType */
    struct gate *gate;     /* NULL: its calls may work at any time */
    struct handshake_context
        wanted; /* the context to make with the session; handle 0: none (left) */
};

struct server_context {
    struct ga_list link; /* of the connection's contexts */
    uint64_t handle;
    struct server_session *session;
    CUcontext real;
    bool primary;
    struct made_context made_from;
    struct ga_list streams, events, modules, arrays, textures, graphs, conditions, greens;
    _Atomic bool launched;       /* a kernel, which may print */
    uint64_t null_lane;          /* completion lane of its stream 0 */
    CUstream heir;               /* waits for work of destroyed streams; NULL: there is none */
    _Atomic bool ended;          /* no entry waits for its work any more */
    struct ga_list free_events;  /* struct event_ref without timing; under the completer's lock */
    uint32_t limits_set;         /* bit n: the program has set limit n */
    size_t limits[CU_LIMIT_MAX]; /* of those: what it was before */
};

/* A reference-counted event of the driver, used by the client's event object and by each wait for
 * it. A client's event that is recorded again while a wait still uses the last recording gets a new
 * one, so a wait is for the recording that was the last when it began, as in CUDA. */
struct event_ref {
    struct ga_list link; /* of free_events */
    struct server_context *context;
    CUevent real;
    unsigned flags;
    unsigned refs; /* under the completer's lock */
};

struct server_stream {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    CUstream real;                    /* NULL: the default stream of `green` */
    struct server_green *green;       /* NULL: of none */
    struct made_stream made_from;     /* of a default stream: nothing */
    uint64_t lane;                    /* of completion_order.h */
    struct server_graph_build *build; /* what is captured in it; NULL: nothing */
};

/* A green context. */
struct server_green {
    struct ga_list link;
    struct server_context *context; /* the primary one */
    uint64_t handle;
    CUgreenCtx real;
    CUcontext as_context; /* what becomes current for its default stream */
};

struct server_event {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    unsigned flags;
    bool shared; /* with other applications: `ref` stays what it is */
    struct event_ref *ref;
};

struct server_module {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    bool leaving; /* unloaded by the client: found no more */
    CUmodule real;
    struct made_module made_from;
    struct ga_list functions;
};

/* An array, a mipmapped array, or a level of one. */
struct server_array {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle; /* of the type ARRAY or MIPMAP */
    CUarray array;
    CUmipmappedArray mipmap; /* NULL: one array */
    uint64_t whole;          /* handle of the mipmapped array it is a level of; 0: none */
    bool leaving;            /* destroyed by the client: found no more */
    uint64_t bytes;          /* of device memory, as charged; of a level: 0 */
    struct made_array made_from;
};

/* A texture or surface object. */
struct server_texture {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    bool surface;
    uint64_t real; /* the driver's handle, which kernels use */
};

/* An executable graph. */
struct server_graph {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    CUgraph graph;                     /* the source: changes name its nodes */
    struct server_condition_graph *of; /* the same, if it has conditional nodes; else NULL */
    CUgraphExec exec;
    uint32_t count;
    CUgraphNode *nodes;
};

/* Physical memory: without an address; the program maps it. */
struct server_physical {
    uint64_t handle;
    uint16_t session; /* number of that of its device */
    uint64_t bytes;
    uint64_t real; /* the driver's handle */
    uint32_t mappings;
    bool shared; /* other applications may have it, too */
    bool opened; /* it is another application's */
};

struct server_param {
    uint32_t offset, size;
};

struct server_function {
    struct ga_list link;
    struct server_module *module;
    uint64_t handle;
    CUfunction real;
    uint32_t param_count;
    uint32_t param_bytes; /* where the last parameter ends */
    struct server_param *params;
};

/* Limits on live objects of one application; beyond, calls fail with OUT_OF_MEMORY. */
#define CONTEXTS_MAX  1024u
#define GREENS_MAX    1024u
#define STREAMS_MAX   65536u
#define EVENTS_MAX    1048576u
#define MODULES_MAX   65536u
#define FUNCTIONS_MAX 1048576u
#define ARRAYS_MAX    65536u /* of either kind */
#define TEXTURES_MAX  1048576u
#define GRAPHS_MAX    65536u /* executable ones */
#define PHYSICALS_MAX 262144u

struct server_objects {
    struct ga_handle_table contexts, streams, events, modules, functions;
    struct ga_handle_table arrays, mipmaps, textures, graphs, physicals, greens;
    struct ga_list context_list;
    struct ga_list peers;                              /* struct server_peer */
    struct ga_number_map conditions, condition_graphs; /* of calls/graph_condition.c */
    uint32_t condition_count;
    uint64_t last_lane;
};

/* How many there are of each kind is told to the figures. */
void objects_init(struct server_objects *objects, struct figures *figures);

/* Makes a context under the client's handle. */
struct ga_context_create_args;
CUresult context_open(struct server_conn *conn, struct server_session *session,
                      const struct ga_context_create_args *args);
/* Maps memory of a context (NULL: of none) at an address of the session's window. */
CUresult memory_make(struct server_conn *conn, const struct server_session *session,
                     const struct server_context *owner, uint64_t address, uint64_t bytes);

/* cuMemCreate, charged to the ledger. Who releases it returns it. */
CUresult memory_create(struct server_conn *conn, CUmemGenericAllocationHandle *physical,
                       uint64_t bytes, const CUmemAllocationProp *prop);

struct range_table;
/* Whether exactly these bytes are made up of whole mappings. */
bool memory_whole(const struct range_table *ranges, uint64_t address, uint64_t bytes);
/* Maps an allocation of the driver for the current context at an address of the session's window;
 * on success it goes with the mapping. */
CUresult memory_place(struct server_conn *conn, const struct server_session *session,
                      const struct server_context *owner, uint64_t address, uint64_t bytes,
                      CUmemGenericAllocationHandle physical);
/* Sends a request to gpuaasd (sharing.h), whose answer the packet becomes. A descriptor in `*fd`
 * stays the caller's; so does that of the answer, which comes only with CUDA_SUCCESS (calls/ipc.c).
 */
CUresult ipc_ask(struct server_conn *conn, struct channel_request *packet, int *fd);
/* Withdraws entries of the sharing registry: other applications can open that memory no more. */
void ipc_withdraw(struct server_conn *conn, enum channel_what what, uint64_t address,
                  uint64_t bytes);
/* Enters physical memory under the client's handle; the caller then sets `real`, or drops the entry
 * (calls/physical.c). */
CUresult physical_put(struct server_conn *conn, const struct server_session *session,
                      uint64_t handle, uint64_t bytes, struct server_physical **out);
void physical_drop(struct server_conn *conn, struct server_physical *physical);
/* Enters an event that other applications record, too, under the client's handle; destroyed on
 * failure. */
CUresult event_adopt(struct server_conn *conn, uint64_t wire, CUevent real);

/* ---- peer_access.c */

/* Makes a mapping of the owner accessible for the contexts that have peer access. */
CUresult peer_open(struct server_conn *conn, const struct server_context *owner, uint64_t address,
                   uint64_t bytes);
/* Whether peer access lets the context use the owner's memory. */
bool peer_reaches(const struct server_conn *conn, const struct server_context *context,
                  const struct server_context *owner);
/* Ends all peer access of a context, in both directions. */
void peer_drop(struct server_conn *conn, const struct server_context *context);

/* ---- contexts.c */

/* Makes the context (NULL: none) the driver's current one; conn->current stays the connection's. */
void context_apply(struct server_conn *conn, const struct server_context *context);
/* Makes the stream's context current in the driver, where the stream's handle does not imply it. */
void stream_apply(struct server_conn *conn, const struct server_stream *stream);

/* Records events on all streams of the context, which must be current, and lets the entry wait for
 * them: together they cover all work of the context, that of destroyed streams included. After an
 * error the entry may have some of them. */
CUresult context_mark(struct server_conn *conn, struct server_context *context,
                      struct completer_entry *entry);
/* As context_mark, for all contexts that may use the owner's memory: itself and those that have
 * peer access; with `everybody` all of the application. Any may be current. */
CUresult context_mark_users(struct server_conn *conn, const struct server_context *owner,
                            bool everybody, struct completer_entry *entry);
/* Waits for the work of the context, then frees all its objects, and without `keep` the context
 * itself. An error of the driver is returned, but does not stop this. */
CUresult context_clear(struct server_conn *conn, struct server_context *context, bool keep);

/* ---- each frees one object, in the driver too */
CUresult module_free(struct server_conn *conn, struct server_module *module);
CUresult event_free(struct server_conn *conn, struct server_event *event);
CUresult memory_free(struct server_conn *conn, uint64_t base);
CUresult array_free(struct server_conn *conn, struct server_array *array);
CUresult texture_free(struct server_conn *conn, struct server_texture *texture);
CUresult graph_free(struct server_conn *conn, struct server_graph *graph);
/* Waits for its work. */
CUresult green_drain(struct server_conn *conn, const struct server_green *green);
/* With its streams. */
CUresult green_free(struct server_conn *conn, struct server_green *green);

/* Frees the variables of conditional nodes. No capture and no executable graph uses them any more.
 */
void conditions_free(struct server_conn *conn, struct server_context *context);

/* What a stream of the driver was made from. */
struct made_stream stream_made_from(struct server_conn *conn, CUstream real);
/* Forgets a stream that the driver has destroyed. */
void stream_drop(struct server_conn *conn, struct server_stream *stream);
/* Drops the graph that is being captured in a stream that ends. */
void graph_build_end(struct server_conn *conn, struct server_stream *stream);

#endif
