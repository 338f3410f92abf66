/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an application on this server: sessions (its devices), contexts, and the objects
 * of a context. Handles are the client's. They are looked up in tables of the application, because
 * a stream of one device may wait for an event of another.
 *
 * Everything here belongs to the submit thread, except struct event_ref (see there). */
#ifndef SERVER_APP_OBJECTS_H
#define SERVER_APP_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/cuda_names.h"
#include "api/handshake.h"
#include "base/handle_table.h"
#include "base/list.h"
#include "base/number_map.h"
#include "server/app/creation.h"
#include "server/app/gate_state.h"
#include "server/app/kernel_output.h"
#include "server/app/meter_state.h"
#include "server/channel.h"
#include "server/figures.h"
#include "server/image/image.h"

struct frame_record;
struct ledger;
struct server_app;

/* Memory that the driver takes for the kernels of a context (kernel_memory.h). */
enum kernel_memory_kind {
    KERNEL_MEMORY_HEAP,
    KERNEL_MEMORY_OUTPUT,
    KERNEL_MEMORY_STACKS,
    KERNEL_MEMORY_LAUNCHES,
    KERNEL_MEMORY_NESTING,
    KERNEL_MEMORY_KINDS
};

struct kernel_memory {
    uint64_t charged[KERNEL_MEMORY_KINDS];
    uint64_t local_bytes; /* of a thread: the most that a function of the context needs */
};

/* How many calls that may wait are under way (waiting_calls.h). Submit thread. */
struct waiting_count {
    unsigned under_way;
    bool none;
};

/* A device of the node as the application sees it. */
struct server_session {
    uint16_t number;        /* in the frames; 0: free */
    uint32_t device;        /* index into the list that clients see */
    uint32_t gpu;           /* that serves it: an index into the same list */
    uint32_t ordinal;       /* of the GPU in the driver */
    uint64_t context_bytes; /* of its memory, that each context is charged */
    CUdevice real;
    bool agreed; /* both ends have reserved the window, or do without (bytes 0: unpinned) */
    unsigned rounds;
    struct handshake_window window;
    bool mappable; /* its driver can map memory at given addresses */
    uint64_t granularity_bytes;
    unsigned handle_types; /* of its allocations: CUmemAllocationHandleType */
    uint64_t lacked_bytes; /* that the driver has last refused for lack of memory; 0: it gave */
    bool lacks_quota;      /* the tenant may have no more; what was refused last */
    struct gate *gate;     /* NULL: its calls may work at any time */
    struct turn_gate turn; /* that gate, under a policy */
    struct handshake_context
        wanted; /* the context to make with the session; handle 0: none (left) */
};

struct server_context {
    struct ga_list link; /* of the application's contexts */
    uint64_t handle;
    struct server_session *session;
    CUcontext real;
    struct output_context output; /* of its kernels */
    bool primary;
    struct made_context made_from;
    struct ga_list streams, events, modules, arrays, textures, graphs, conditions, greens;
    _Atomic bool launched;       /* a kernel, which may print */
    uint64_t null_lane;          /* completion lane of its stream 0 */
    CUstream heir;               /* waits for work of destroyed streams; NULL: there is none */
    _Atomic bool ended;          /* no entry waits for its work any more */
    struct ga_list free_events;  /* struct event_ref without timing; under event_lock */
    uint32_t limits_set;         /* bit n: the program has set limit n */
    size_t limits[CU_LIMIT_MAX]; /* of those: what it was before */
    struct kernel_memory kernel_memory;
    struct meter_context meter;
    struct waiting_count waiting; /* for objects of the context */
    CUevent clock;                /* an event that was done at clock_ns; NULL: none is needed */
    uint64_t clock_ns;
};

/* A reference-counted event of the driver, used by the client's event object and by each wait for
 * it. A client's event that is recorded again while a wait still uses the last recording gets a new
 * one, so a wait is for the recording that was the last when it began, as in CUDA. */
struct event_ref {
    struct ga_list link; /* of free_events */
    struct server_context *context;
    CUevent real;
    unsigned flags;
    unsigned refs; /* under event_lock */
};

struct server_stream {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    CUstream real;                /* NULL: the default stream of `green` */
    struct server_green *green;   /* NULL: of none */
    struct made_stream made_from; /* of a default stream: nothing */
    uint64_t lane;                /* of completion_order.h */
    struct meter_lane meter;
    struct server_graph_build *build; /* what is captured in it; NULL: nothing */
    struct frame_record *recording; /* calls that are captured are kept there; NULL: they are not */
    bool special;                   /* stream_apply has something to do */
};

/* A green context. */
struct server_green {
    struct ga_list link;
    struct server_context *context; /* the primary one */
    uint64_t handle;
    CUgreenCtx real;
    CUcontext as_context; /* what becomes current for its default stream */
    uint64_t bytes;       /* of device memory, as charged */
    struct made_green made_from;
};

struct server_event {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    unsigned flags;
    bool shared;       /* with other applications: `ref` stays what it is */
    uint32_t exported; /* enum channel_what, as which others may open it; 0: nobody may */
    struct event_ref *ref;
    uint64_t kept_ns; /* when its last recording was done, which an event of the driver that is no
                       * more knew (calls/event_time.h); 0: the driver knows */
};

struct server_module {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    bool leaving; /* unloaded by the client: found no more */
    CUmodule real;
    struct image *image; /* what it was loaded from; a use of it */
    uint64_t bytes;      /* of device memory that its variables and code take, as charged */
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
    uint32_t gpu;            /* as in struct server_session */
    struct made_array made_from;
};

/* A texture or surface object. */
struct server_texture {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    bool surface;
    uint64_t real;   /* the driver's handle, which kernels use; 0: it could not be made again */
    uint64_t source; /* handle of its array; 0: it is of linear memory */
};

/* An executable graph. */
struct server_graph {
    struct ga_list link;
    struct server_context *context;
    uint64_t handle;
    CUgraph graph;                     /* the source: changes name its nodes */
    struct server_condition_graph *of; /* the same, if it has conditional nodes; else NULL */
    CUgraphExec exec;                  /* NULL: it could not be made again */
    uint32_t count;
    CUgraphNode *nodes;
    struct made_graph *made_from;
};

/* Physical memory: without an address; the program maps it. */
struct server_physical {
    uint64_t handle;
    uint16_t session; /* number of that of its device */
    uint64_t bytes;
    uint64_t real; /* the driver's handle */
    uint32_t mappings;
    bool shared;      /* other applications may have it, too */
    bool opened;      /* it is another application's */
    uint64_t opening; /* of what is opened: see struct channel_request */
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
    struct made_function made_from;
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
    struct image_table images;
    uint32_t condition_count;
    pthread_mutex_t event_lock; /* guards struct event_ref */
    uint64_t last_lane;
    /* The stream that was found last, for programs that call for one stream again and again; NULL:
     * it was another one, or is gone. */
    uint64_t last_stream_handle;
    struct server_stream *last_stream;
};

/* How many there are of each kind is told to the ledger's figures, and each is charged to it. */
void objects_init(struct server_objects *objects, struct ledger *ledger);
void objects_fini(struct server_objects *objects);

/* Looks a stream up; NULL: there is none of this handle. */
struct server_stream *server_stream_look_up(struct server_objects *objects, uint64_t wire);
static inline struct server_stream *server_stream_here(struct server_objects *objects,
                                                       uint64_t wire)
{
    return objects->last_stream != NULL && objects->last_stream_handle == wire
               ? objects->last_stream
               : server_stream_look_up(objects, wire);
}
/* The stream is in the table no more. */
static inline void server_stream_gone(struct server_objects *objects)
{
    objects->last_stream = NULL;
}

#endif
