/* What the process knows: servers, devices, sessions, contexts and their objects.
 *
 * Objects are never given back to malloc but used again for objects of their type: a thread that
 * uses a handle which another thread destroys meets an object that is gone or another one, never
 * foreign memory. A field that says nothing else is written under client_state_lock. */
#ifndef CLIENT_CALL_STATE_H
#define CLIENT_CALL_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/handshake.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/number_map.h"
#include "client/alloc/allocator.h"
#include "client/conn/conn.h"
#include "front/front.h"

#define CLIENT_DEVICES_MAX 1024
#define CLIENT_ATTRIBUTES  256 /* CUdevice_attribute numbers that can be known */

struct client_context;

/* One gpuaasd that answered; its control connection stays open for the client's life. */
struct client_server {
    struct client_server *next;
    char address[300];
    char pool[128], node[128], build[64];
    int32_t driver_version;
    struct transport_conn control;
    bool tls; /* and so must be what carries its data, but for shared memory */
    struct frame_reader reader;
    pthread_mutex_t control_lock; /* one question at a time */
    uint64_t control_sequence;
    uint64_t guessed_ns; /* when a ticket for its first device was asked for unasked; 0: not */
    atomic_bool lost;
};

/* A session: this application on one device. */
struct client_session {
    struct client_conn *conn;
    struct client_server *server;
    uint16_t number;
    uint64_t window_base, window_bytes; /* bytes 0: none, the session is unpinned */
    struct client_allocator allocator;
    unsigned contexts;   /* that have ever been used */
    atomic_bool reached; /* not only the context that owns memory may use it: there are, or were,
                          * others of the device, or peers */
};

struct client_device {
    int ordinal;
    struct client_server *server;
    uint32_t index; /* in the server's list */
    char name[256];
    uint8_t uuid[16];
    uint64_t memory_bytes, granularity_bytes;
    uint64_t peers; /* as handshake_device.peers */
    int32_t priority_least, priority_greatest;
    uint32_t traits;                        /* CUDA_DEVICE_* */
    int32_t attributes[CLIENT_ATTRIBUTES];  /* as programs see them */
    pthread_mutex_t open_lock;              /* opening the session, primary context life */
    struct client_session *_Atomic session; /* NULL: not opened; never closed */
    struct client_context *primary;
    char *refused; /* why opening the session has failed; NULL: it has not */
};

/* What every object begins with. */
struct client_object {
    uint64_t handle; /* 0: gone */
    enum ga_handle_type type;
    struct client_context *context; /* NULL: libraries and kernels */
    struct ga_list in_context;
    struct client_object *unused;
};

struct client_context {
    struct client_object object;
    unsigned long long id;
    struct client_device *device;
    struct client_session *session; /* NULL: never active */
    bool primary;
    atomic_bool active; /* the server has it, and it is retained or not destroyed */
    bool fresh;         /* reset, and not retained since */
    unsigned retained, flags;
    unsigned sms; /* multiprocessors that its kernels have; 0: all */
    struct front_stream_attributes legacy_attributes; /* of its legacy stream */
    _Atomic uint64_t legacy_ready, legacy_watched;    /* likewise, as in client_stream */
    uint64_t mirror_stream;                           /* handle; 0: none yet (mirror_sync.c) */
    uint64_t copy_stream;                             /* likewise (copy_cross_node.c) */
    atomic_bool streamed; /* it has, or had, streams besides the default one */
    /* See copy_deferred.c. How far the legacy stream has got shows in streams that do not wait for
     * it; mark, as in client_stream, of the last blocking copy that has not waited; handle of the
     * event that was recorded behind such copies. */
    atomic_bool shows;
    _Atomic uint64_t owed;
    uint64_t marker;
    /* Sequence of the call that was the last to find all of the context's work done. */
    _Atomic uint64_t quiet;
    /* The same for all work that may use its memory, that of other contexts included, as the server
     * has told; and what this becomes when it tells the next time. See device_free.c. */
    _Atomic uint64_t unused, watch;
    atomic_int late; /* first CUresult of a call nobody waited for; 0: none */
    struct ga_list objects;
    struct ga_number_map sampled; /* struct client_sampled, by the handle that kernels use */
};

struct client_stream {
    struct client_object object;
    unsigned long long id;
    unsigned flags;
    uint64_t green; /* handle of its green context; 0: none */
    struct front_stream_attributes attributes;
    /* Marks (connection index << 56 | sequence): all work up to it is known to be done; a watch for
     * work up to it is outstanding. */
    _Atomic uint64_t ready, watched;
};

struct client_event {
    struct client_object object;
    _Atomic uint64_t recorded; /* counts recordings */
    _Atomic uint64_t ready;    /* the recording that is known to be done; at first `recorded` */
    _Atomic uint64_t watched;  /* the recording that is being watched */
    uint64_t stream,
        mark; /* what is done with the last recording; under its connection's sender lock */
    _Atomic uint64_t mirror_stream,
        mirror_mark;   /* of the last recording, for client_mirrors_after */
    atomic_uint asked; /* so many recordings are watched from the start: the program asks for it */
    bool shared;       /* other programs may record it: what is known of recordings says nothing */
};

struct client_param {
    uint32_t offset, size;
};

/* An array, a mipmapped array, or a level of one. */
struct client_array {
    struct client_object object; /* of the type ARRAY, or MIPMAP if `front.levels` is not 0 */
    struct front_array front;
    uint64_t levels[FRONT_LEVELS_MAX]; /* handles of those that were asked for; 0: not yet */
};

/* A texture or surface object. */
struct client_sampled {
    struct client_object object;
    struct ga_number_node by_number; /* of its context */
    struct front_sampled what;
};

struct client_library;
struct client_kernel;
struct client_mirror;
struct client_variable;

struct client_global {
    struct client_global *next;
    char *name;
    uint64_t address, bytes;
};

struct client_module {
    struct client_object object;
    struct client_library *library; /* NULL: loaded by cuModuleLoad* */
    struct client_module *next;     /* of the library */
    struct client_function *functions;
    struct client_global *globals;
    uint32_t function_count; /* valid when `listed` */
    atomic_bool listed;
    char *names; /* of all functions, each with its NUL; owned */
    size_t names_bytes;
    uint8_t *facts; /* of its functions, if they came with it: see ga_module_facts; owned */
    size_t facts_bytes;
};

struct client_function {
    struct client_object object;
    struct client_function *next; /* of the module */
    struct client_module *module;
    char *name;
    int32_t attributes[16];
    uint32_t param_count, param_bytes;
    bool param_gaps;         /* some bytes are of no parameter */
    _Atomic bool params_fit; /* a launch has had them all; see client/module/launch.c */
    struct client_param *params;
};

/* Outlives contexts: loaded where it is used first, again after a reset. */
struct client_library {
    struct client_object object;
    const void *image;
    uint64_t image_bytes;
    void *owned;       /* copy of the image, or made of it; NULL: the program promised to keep it */
    const void *given; /* what the program passed, to tell where it lies; never read */
    struct client_kernel *kernels;
    struct client_module *modules;   /* where it is loaded */
    struct client_variable *managed; /* those that were asked for; see managed.c */
    uint32_t max_registers, optimization;
};

/* A kernel's function in a context. */
struct client_kernel_use {
    uint64_t context, wire; /* handles */
    struct client_function *function;
};
#define CLIENT_KERNEL_USES 4u

struct client_kernel {
    struct client_object object;
    struct client_kernel *next;
    struct client_kernel_use uses[CLIENT_KERNEL_USES]; /* the last ones that were asked for */
    unsigned use;
    struct client_library *library;
    char *name;
};

extern pthread_mutex_t client_state_lock;

/* ---- process (process.c) */
extern atomic_bool client_dead;    /* the child of a fork: nothing works */
extern atomic_bool client_exiting; /* exit() has begun */
/* Closes this descriptor in the child of a fork. */
void client_process_own(int fd);
CUresult client_process_start(void);

/* ---- pool (servers.c) */
extern struct client_device *client_devices[CLIENT_DEVICES_MAX];
extern int client_device_count;
extern struct client_server *client_servers;
extern uint8_t client_application[16];
CUresult client_servers_connect(void);
/* CUDA_ERROR_INVALID_DEVICE: no such device. */
CUresult client_device_find(CUdevice ordinal, struct client_device **device);
/* Attributes as programs may see them, from the driver's (device_attributes.c). */
void client_attributes_apply(int32_t *seen, const int32_t *driver, uint32_t count);

/* ---- sessions (session.c): opened with a device's first context. `device->open_lock` is held. */

/* What became of the context that was to be made with the session. */
struct client_first {
    bool made; /* the server has tried, and `result` says how that went */
    CUresult result;
    uint64_t block_bytes; /* mapped at the start of the window */
};
CUresult client_session_open(const struct client_context *context, struct client_session **out,
                             struct client_first *first);
/* That of a device, opened if no context has done so; no `open_lock` is held. */
CUresult client_session_need(CUdevice device, struct client_session **session);
/* Waits for the work of all its contexts; NULL: there are none. */
CUresult client_session_wait(const struct client_session *session);
/* Asks for a ticket, without waiting for it (ticket.c). */
GA_CHECKED enum ga_status client_ticket_ask(struct client_server *server, uint32_t device,
                                            uint64_t deadline_ns, char *why, size_t why_size);
/* Every connection there is; NULL ends. Connections are never taken away. */
struct client_conn *client_conn_at_index(unsigned index);
struct client_conn *client_conn_of_process(const struct client_server *server, uint64_t process);
void client_conn_add(struct client_conn *conn);

/* ---- service thread (service.c); under client_state_lock */
/* False: no thread or descriptor is left, and without it a server would take us for dead. Else it
 * runs and looks at everything again. */
bool client_service_start(void);

/* ---- objects (handles.c) */
/* Makes an object; `context` may be NULL. NULL: no memory. */
void *client_object_make(enum ga_handle_type type, struct client_context *context);
/* NULL: not live. */
void *client_object_find(enum ga_handle_type type, uint64_t handle);
/* The handle and the object are gone, with what the object owns. */
void client_object_drop(void *at);
/* All objects of a context go. */
void client_objects_drop_all(struct client_context *context);

/* Walks all contexts; start with 0. NULL ends. */
struct client_context *client_context_next(uint32_t *index);

/* ---- contexts (context.c) */
/* CUDA_ERROR_INVALID_CONTEXT, also for one that has been destroyed. */
CUresult client_context_find(CUcontext handle, struct client_context **context);
/* The current context, active (else CUDA_ERROR_CONTEXT_IS_DESTROYED); sticky errors of its
 * connection. */
CUresult client_context_current(struct client_context **context);
/* As client_context_current, without the context. */
CUresult client_usable(void);
/* The handle of the primary context, active or not. */
CUresult client_primary_handle(CUdevice device, CUcontext *handle);
/* The server's half (context_remote.c); `device->open_lock` is held by all of these. The session of
 * the context's device, opened if need be, and the context in it; and its end, or that of what it
 * has. */
CUresult client_context_activate(struct client_context *context);
CUresult client_context_end(struct client_context *context, bool destroy);
/* Everything that the context has goes here, after it has gone there; libraries stay. */
void client_context_clear(struct client_context *context);
/* What the server needs to make it with a session. */
void client_context_wish(const struct client_context *context, struct handshake_context *wish);
/* Waits for its work, and nothing else comes of it. */
CUresult client_context_synchronize(struct client_context *context);
/* A call that was waited for has found all work of the context done. */
void client_context_quiet(struct client_context *context, uint64_t sequence);
/* Up to which call its work is known to be done. */
uint64_t client_context_done(const struct client_context *context);
/* Whether it is known that no work of the context is under way, without asking. */
bool client_context_idle(const struct client_context *context);
/* What a wait answers that need not ask: all that the server has told by now is known. */
CUresult client_context_told(struct client_context *context);
/* Whether it is known that the work up to a mark (as client_stream_mark) is done. */
bool client_context_passed(const struct client_context *context, uint64_t mark);
void client_context_late(uint64_t handle, int result, uint16_t opcode);

/* ---- streams (stream.c) */
/* front_host.stream_values (stream_value.c). */
struct front_value;
CUresult client_stream_values(CUstream stream, const struct front_value *values, unsigned count);
struct client_call;
CUresult client_stream_value_check(struct client_call *call, const struct front_value *value);
/* Whether the client does it. */
bool client_stream_value_host(const struct front_value *value);
/* `stream` NULL: the legacy one. */
unsigned long long client_stream_id(const struct client_context *context,
                                    const struct client_stream *stream);
/* Work of a stream (0: the legacy one) of the context: all that its connection has sent up to now;
 * and whether that is known to be done, without asking. */
#define CLIENT_MARK_SEQUENCE ((UINT64_C(1) << 56) - 1)
uint64_t client_stream_mark(const struct client_conn *conn);
/* 0 for both names of the legacy stream. */
static inline uint64_t client_stream_known(uint64_t wire)
{
    return wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY ? 0 : wire;
}
void client_stream_reached(struct client_context *context, uint64_t stream, uint64_t mark);
bool client_stream_passed(struct client_context *context, uint64_t stream, uint64_t mark);
uint64_t client_mark_of(const struct client_conn *conn, uint64_t sequence);
bool client_mark_reaches(uint64_t mark, uint64_t wanted);
/* A call that was waited for has found the work of its stream done. */
void client_stream_waited(const struct client_call *call, uint64_t stream);
/* Waits for the work of the stream, unless it is known to be done. */
CUresult client_stream_wait(struct client_call *call, uint64_t stream);
/* Asks whether the stream (0: the legacy one) has ended its work, so that it is known. */
void client_stream_ask(struct client_context *context, uint64_t stream);
/* Whether it is known that the stream has ended all its work. */
bool client_stream_idle(struct client_context *context, uint64_t stream);
/* A new stream of the context. */
CUresult client_stream_make(struct client_context *context, unsigned flags,
                            struct client_stream **out);
CUresult client_stream_find(struct client_context *context, CUstream handle,
                            struct client_stream **object, uint64_t *wire);

/* ---- events (event.c) */
CUresult client_event_make(struct client_call *call, bool shared, uint64_t *wire);
/* Whether other programs may have it. */
bool client_event_shared(uint64_t wire);
/* Inside the sender's lock: it is recorded behind work of many streams, `stream` among them. */
void client_event_whole(struct client_event *event, const struct client_call *call,
                        uint64_t stream);
/* What has been sent of a shared event is done. */
CUresult client_event_settle(const struct client_call *before, const struct client_event *event);

/* ---- green contexts (green_context.c); the first two are front_host.green_make and green_end */
CUresult client_green_make(struct front_green *green);
CUresult client_green_end(const struct front_green *green);
CUresult client_green_record(const struct front_green *green, CUevent event);
CUresult client_green_wait(const struct front_green *green, CUevent event);
CUresult client_green_synchronize(const struct front_green *green);
/* A new stream in it. */
CUresult client_green_stream(const struct front_green *green, unsigned flags, int priority,
                             struct client_stream **out);

/* ---- modules, libraries, functions */
CUresult client_function_resolve(struct client_context *context, CUfunction handle,
                                 struct client_function **function);
CUresult client_library_module(struct client_library *library, struct client_context *context,
                               struct client_module **module);
/* The same in the current context, or in any if there is none: for what is the same in all. */
/* The library's kernel that the function is; NULL: it is of a module that is in no library. */
CUresult client_library_kernel(const struct client_function *function, CUkernel *kernel);
CUresult client_library_module_anywhere(struct client_library *library,
                                        struct client_module **module);
/* A handle of a program; its own context counts, not the current one. */
CUresult client_module_of(CUmodule handle, struct client_module **module);
CUresult client_module_function(struct client_module *module, const char *name,
                                struct client_function **function);
CUresult client_module_global(struct client_module *module, const char *name, uint64_t *address,
                              uint64_t *bytes);
CUresult client_module_names(struct client_module *module);
void client_module_release(struct client_module *module);
void client_function_release(struct client_function *function);
/* Whether such a launch would be made (launch.c); its stream is not looked at. */
CUresult client_launch_check(struct client_context *context, CUfunction f,
                             const CUlaunchConfig *config);
void client_library_release(struct client_library *library);

/* ---- arrays, textures and surfaces (array.c, texture.c) */
void client_array_release(struct client_array *array);
void client_sampled_release(struct client_sampled *sampled);
/* front_host.array and front_host.sampled. */
CUresult client_array_shape(uint64_t handle, bool mipmapped, struct front_array *front);
CUresult client_sampled_of(uint64_t handle, bool surface, struct front_sampled *sampled);

/* ---- memory pools (mempool.c) */
extern const struct front_mempool_host client_mempool;
struct front_mempool_found;
/* Locked, as the functions of front/mempool/mempool.h want it. */
bool client_mempool_find(uint64_t address, struct front_mempool_found *found);
bool client_mempool_free(uint64_t address);
bool client_mempool_release(CUdevice device);
void client_mempool_reset(CUdevice device);

/* ---- memory (device_memory.c, host_memory.c) */
/* A live allocation, module global, or pinned range. */
struct client_memory {
    struct client_session *session; /* NULL: host memory */
    uint64_t start, bytes;
    uint64_t context;  /* handle; 0: none */
    CUmemoryPool pool; /* NULL: none */
    uint64_t id;       /* 0: `start` is one */
    bool mapped;       /* by the program: with mappings beside it, it is one */
    bool barred;       /* no device may use it */
    bool placed;       /* pinned memory that kernels use by this address */
};
/* front_host.managed_move and front_host.managed_attach (managed.c). */
CUresult client_managed_move(CUstream stream, uint64_t start, uint64_t bytes, bool device);
CUresult client_managed_attach(CUstream stream, uint64_t start, unsigned flags);
/* The library has been loaded in one more context; it goes. */
CUresult client_managed_join(struct client_library *library, struct client_module *module);
void client_managed_release(struct client_library *library);
/* What front/ asks for. */
bool client_pointer(uint64_t address, struct front_pointer *pointer);
bool client_memory_find(uint64_t address, struct client_memory *memory);

bool client_host_find(uint64_t address, struct client_memory *memory, unsigned *flags);
/* The session whose window (or block, without one) holds the address: host memory never lies in
 * one. Only where there is no window it takes a lock, the allocator's. */
struct client_session *client_memory_window(uint64_t address);
/* The session whose window or module global holds the address; NULL: no device memory of ours. */
struct client_session *client_memory_session(uint64_t address);
/* CUDA_ERROR_INVALID_VALUE unless all bytes belong to one live allocation or global. */
CUresult client_memory_check(uint64_t address, uint64_t bytes, struct client_session **session);
void client_global_known(struct client_session *session, uint64_t address, uint64_t bytes,
                         const struct client_module *module);
void client_globals_forget(const struct client_module *module);
/* cuMemAlloc and cuMemFree in that context. */
CUresult client_memory_alloc(struct client_context *context, uint64_t bytes, CUdeviceptr *out);
CUresult client_memory_free(struct client_context *context, uint64_t address,
                            struct client_mirror *mirror);
/* A mapping goes, after the work of the context. */
CUresult client_memory_unmap(struct client_context *context, uint64_t address, uint64_t bytes);
void client_memory_forget(struct client_context *context);
/* Waits until no work uses any more what was freed of the context's memory. */
void client_memory_settle(struct client_context *context);
/* The server has no memory left: gives back what the allocator holds and nobody uses; `wait`: also
 * what nobody will use when the work before has ended. */
void client_memory_trim_session(const struct client_session *session, bool wait);
/* The same with more effort at each step, from 0 on: what pools do not use, too; then what they
 * will not use when the work has ended; from CLIENT_RELIEF_OTHERS on what other programs keep.
 * False: there is nothing more that could be tried. */
#define CLIENT_RELIEF_OTHERS 3u
bool client_memory_reclaim(const struct client_session *session, unsigned step);
/* ---- memory that this program keeps and others lack (reclaim.c) */
/* It goes back, in a thread of its own. */
void client_trim_begin(struct client_conn *conn);
/* Others are asked to give back what they keep; step by step more time passes. False: they have. */
bool client_trim_others(const struct client_session *session, unsigned step);

/* Pinned memory that went with its context. */
void client_host_forget(uint64_t start);
/* A word of 4 or 8 bytes in memory that is pinned meanwhile. False: it is not (any more). */
bool client_host_load(uint64_t address, unsigned bytes, uint64_t *value);
bool client_host_store(uint64_t address, unsigned bytes, uint64_t value);
/* All bytes lie in memory that we pinned. */
bool client_host_pinned(const void *start, uint64_t bytes);
/* The server of the context has all of them, where `place` says, and they are worth it. */
struct client_buffer_place;
bool client_host_place(const void *start, uint64_t bytes, const struct client_context *context,
                       struct client_buffer_place *place);

#endif
