/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that memory pools call in the client (front/mempool/mempool.h): chunks are mapped
 * by the server at addresses that the client's allocator picks. Work has passed if the client knows
 * it: the program has waited for it. Finding out more costs round trips, so that is done only when
 * memory is used up. */
#include "client/memory/mempool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/clock.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/mark.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/memory/context_wait.h"
#include "client/memory/device_free.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

#define RELEASE_MS 1000u /* less than a server waits for those that shall give back */

struct mark {
    uint64_t context, stream; /* handles; stream 0: the legacy one */
    uint64_t mark;            /* of the last call that may have left work: a wait that finds none
                               * left has passed it, and need not ask the server */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult pool_enter(void)
{
    CU_TRY(front_ready());
    pthread_mutex_lock(&lock);
    return CUDA_SUCCESS;
}

static void pool_leave(void)
{
    pthread_mutex_unlock(&lock);
}

static CUresult pool_enter_stream(CUstream handle, struct front_stream *stream)
{
    struct client_call call;
    struct client_stream *found;
    uint64_t wire;
    CU_TRY(client_call_enter_handle(&call, 0));
    CU_TRY(client_stream_check(&call, handle, &wire));
    CU_TRY(client_stream_find(call.context, handle, &found, &wire));
    *stream = (struct front_stream){.id = client_stream_id(call.context, found),
                                    .device = call.context->device->ordinal,
                                    .context = call.context,
                                    .stream = found};
    pthread_mutex_lock(&lock);
    return CUDA_SUCCESS;
}

/* ---- chunks */

static void chunk_unreserve(struct client_session *session, uint64_t start, uint64_t bytes)
{
    client_address_leave(CLIENT_ADDRESS_CHUNK, start, NULL);
    (void)client_allocator_unreserve(&session->allocator, start, bytes);
}

/* ALLOCATOR_*. */
static int chunk_reserve(struct client_session *session, uint64_t bytes, uint64_t *start)
{
    int rc = client_allocator_reserve(&session->allocator, 0, bytes, 0, start);
    if (rc != ALLOCATOR_OK) {
        return rc;
    }
    const struct client_address at = {
        .kind = CLIENT_ADDRESS_CHUNK, .start = *start, .bytes = bytes, .session = session};
    if (client_address_enter(&at) != GA_OK) {
        chunk_unreserve(session, *start, bytes);
        return ALLOCATOR_FULL;
    }
    return ALLOCATOR_OK;
}

static CUresult mempool_map(struct client_session *session, uint64_t address, uint64_t bytes)
{
    struct client_call call;
    struct ga_space_map_args args = {.address = address, .bytes = bytes};
    CU_TRY(client_call_enter_session(&call, API_OP_ga_space_map, session));
    return client_wait_ga_space_map(&call, &args, true);
}

static CUresult pool_map(CUdevice device, uint64_t bytes, uint64_t *address)
{
    struct client_session *session;
    uint64_t start;
    CU_TRY(client_session_need(device, &session));
    if (session->window_bytes == 0) {
        return front_unsupported("a memory pool without an address window");
    }
    if (chunk_reserve(session, bytes, &start) != ALLOCATOR_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = mempool_map(session, start, bytes);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        client_memory_trim_session(session, true);
        rc = mempool_map(session, start, bytes);
    }
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) { /* before others are asked for what they keep */
        (void)front_mempool_release(device);
        rc = mempool_map(session, start, bytes);
    }
    for (unsigned step = CLIENT_RELIEF_OTHERS;
         rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(session, step); step++) {
        rc = mempool_map(session, start, bytes);
    }
    if (rc != CUDA_SUCCESS) {
        chunk_unreserve(session, start, bytes);
        return rc;
    }
    *address = start;
    return CUDA_SUCCESS;
}

/* Nobody waits: the address is used again by calls that come later. */
static void pool_unmap(CUdevice device, uint64_t address, uint64_t bytes)
{
    struct client_call call;
    struct client_session *session = atomic_load(&client_devices[device]->session);
    struct ga_space_unmap_args args = {.address = address, .bytes = bytes};
    client_copy_complete();
    if (client_call_enter_session(&call, API_OP_ga_space_unmap, session) == CUDA_SUCCESS) {
        (void)client_post_ga_space_unmap(&call, &args);
    }
    chunk_unreserve(session, address, bytes);
}

static CUresult pool_access(CUdevice device, uint64_t address, uint64_t bytes, CUdevice by,
                            CUmemAccess_flags flags)
{
    struct client_call call;
    struct client_session *session = atomic_load(&client_devices[device]->session), *other;
    CUresult rc = client_session_need(by, &other);
    if (rc == CUDA_SUCCESS && client_session_conn(other) != client_session_conn(session)) {
        rc = client_call_between_nodes("access to memory");
    }
    struct ga_space_access_args args = {.address = address,
                                        .bytes = bytes,
                                        .device = (int32_t)client_devices[by]->index,
                                        .flags = flags};
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        client_copy_complete();
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_call_enter_session(&call, API_OP_ga_space_access, session);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_space_access(&call, &args, true);
    }
    return rc;
}

/* ---- where streams are */

static void *pool_mark(const struct front_stream *stream)
{
    const struct client_context *context = stream->context;
    const struct client_stream *made = stream->stream;
    struct mark *mark = malloc(sizeof *mark);
    if (mark != NULL) {
        const struct client_conn *conn = client_session_conn(context->session);
        *mark = (struct mark){.context = context->object.handle,
                              .stream = made != NULL ? made->object.handle : 0,
                              .mark = client_mark_of(conn, client_conn_worked(conn))};
    }
    return mark;
}

static bool pool_passed(const void *at)
{
    const struct mark *mark = at;
    struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, mark->context);
    /* A context ends when its work has ended. */
    return context == NULL || !atomic_load(&context->active) ||
           client_stream_passed(context, mark->stream, mark->mark);
}

/* That the stream has nothing left to do says more than need be. */
static bool pool_ask(const void *at)
{
    const struct mark *mark = at;
    struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, mark->context);
    if (!pool_passed(at) &&
        (mark->stream == 0 || client_object_find(GA_HANDLE_STREAM, mark->stream) != NULL)) {
        client_stream_ask(context, mark->stream);
    }
    return pool_passed(at);
}

static CUresult wait_by_event(const struct front_stream *stream, const struct mark *mark)
{
    const struct client_stream *made = stream->stream;
    const struct client_context *context = stream->context;
    CUevent event;
    CU_TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUresult rc = cuEventRecord(event, (CUstream)(uintptr_t)mark->stream);
    if (rc == CUDA_SUCCESS) {
        rc = front_context_push((CUcontext)(uintptr_t)context->object.handle);
    }
    if (rc == CUDA_SUCCESS) {
        rc = cuStreamWaitEvent(made != NULL ? (CUstream)(uintptr_t)made->object.handle : NULL,
                               event, CU_EVENT_WAIT_DEFAULT);
        (void)cuCtxPopCurrent_v2(NULL);
    }
    (void)cuEventDestroy_v2(event);
    return rc;
}

/* An event now is later than the mark, and as good. A stream that is gone has left nothing to
 * record behind; nor has another server's: then the program waits. */
static CUresult pool_wait(const struct front_stream *stream, void *at)
{
    const struct mark *mark = at;
    const struct client_context *context = stream->context;
    struct client_context *other = client_object_find(GA_HANDLE_CONTEXT, mark->context);
    if (pool_passed(mark)) {
        return CUDA_SUCCESS;
    }
    bool there = mark->stream == 0 || client_object_find(GA_HANDLE_STREAM, mark->stream) != NULL;
    bool near = client_session_conn(other->session) == client_session_conn(context->session);
    CUresult rc = front_context_push((CUcontext)(uintptr_t)mark->context);
    if (rc == CUDA_SUCCESS) {
        rc = there && near ? wait_by_event(stream, mark) : client_context_synchronize(other);
        (void)cuCtxPopCurrent_v2(NULL);
    }
    return rc;
}

static void pool_drop(void *mark)
{
    free(mark);
}

/* ---- for other programs: by the key that gpuaasd makes */

struct shared {
    uint64_t key[API_KEY_WORDS];
    uint64_t bytes;
};
_Static_assert(sizeof(struct shared) == FRONT_MEMPOOL_SHARED, "it travels so");

static CUresult pool_share(CUdevice device, uint64_t address, uint64_t bytes,
                           uint8_t out[FRONT_MEMPOOL_SHARED])
{
    struct client_call call;
    struct client_session *session = atomic_load(&client_devices[device]->session);
    struct ga_ipc_share_args args = {.address = address, .bytes = bytes};
    struct ga_ipc_share_results results;
    struct shared shared = {.bytes = bytes};
    client_copy_expose(NULL);
    CU_TRY(client_call_enter_session(&call, API_OP_ga_ipc_share, session));
    CU_TRY(client_wait_ga_ipc_share(&call, &args, true, &results));
    memcpy(shared.key, results.key, sizeof shared.key);
    memcpy(out, &shared, sizeof shared);
    return CUDA_SUCCESS;
}

static CUresult mempool_ask_open(struct client_session *session, const struct shared *shared,
                                 uint64_t address)
{
    struct client_call call;
    struct ga_pool_open_args args = {.address = address, .bytes = shared->bytes};
    memcpy(args.key, shared->key, sizeof args.key);
    client_copy_expose(NULL);
    CUresult rc = client_call_enter_session(&call, API_OP_ga_pool_open, session);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_pool_open(&call, &args, true);
    }
    bool none = rc == CUDA_ERROR_INVALID_HANDLE || rc == CUDA_ERROR_INVALID_CONTEXT;
    return none ? CUDA_ERROR_INVALID_VALUE : rc;
}

static CUresult pool_open(CUdevice device, const uint8_t in[FRONT_MEMPOOL_SHARED],
                          uint64_t *address, uint64_t *bytes)
{
    struct client_session *session;
    struct shared shared;
    uint64_t start;
    memcpy(&shared, in, sizeof shared);
    CU_TRY(client_session_need(device, &session));
    if (session->window_bytes == 0) {
        return front_unsupported("a memory pool without an address window");
    }
    if (shared.bytes == 0 || shared.bytes > session->window_bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int reserved = chunk_reserve(session, shared.bytes, &start);
    if (reserved != ALLOCATOR_OK) {
        return (CUresult)reserved;
    }
    CUresult rc = mempool_ask_open(session, &shared, start);
    if (rc != CUDA_SUCCESS) {
        chunk_unreserve(session, start, shared.bytes);
        return rc;
    }
    *address = start;
    *bytes = shared.bytes;
    return CUDA_SUCCESS;
}

const struct front_mempool_host client_mempool = {
    .enter = pool_enter,
    .enter_stream = pool_enter_stream,
    .leave = pool_leave,
    .map = pool_map,
    .unmap = pool_unmap,
    .access = pool_access,
    .mark = pool_mark,
    .passed = pool_passed,
    .ask = pool_ask,
    .wait = pool_wait,
    .drop = pool_drop,
    .share = pool_share,
    .open = pool_open,
};

/* ---- what the client asks */

bool client_mempool_find(uint64_t address, struct front_mempool_found *found)
{
    pthread_mutex_lock(&lock);
    bool known = front_mempool_find(address, found);
    pthread_mutex_unlock(&lock);
    return known;
}

bool client_mempool_free(uint64_t address)
{
    pthread_mutex_lock(&lock);
    bool known = front_mempool_free(address);
    pthread_mutex_unlock(&lock);
    return known;
}

bool client_mempool_release(CUdevice device)
{
    pthread_mutex_lock(&lock);
    bool pending = front_mempool_release(device);
    pthread_mutex_unlock(&lock);
    return pending;
}

bool client_mempool_release_soon(CUdevice device)
{
    for (unsigned waited_ms = 0; pthread_mutex_trylock(&lock) != 0; waited_ms++) {
        const struct timespec ms = {.tv_nsec = GA_NS_PER_MS};
        if (waited_ms == RELEASE_MS) {
            return false;
        }
        (void)nanosleep(&ms, NULL);
    }
    (void)front_mempool_release(device);
    pthread_mutex_unlock(&lock);
    return true;
}

void client_mempool_reset(CUdevice device)
{
    pthread_mutex_lock(&lock);
    front_mempool_reset(device);
    pthread_mutex_unlock(&lock);
}
