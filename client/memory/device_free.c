/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing device memory. The program goes on at once: freed memory is retired until the server has
 * told that the work before has ended, and is then used again. The client asks the server to tell
 * that (a watch), once for everything that was freed meanwhile. */
#include "client/memory/device_free.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/address.h"
#include "client/memory/context_wait.h"
#include "client/memory/graph_memory.h"
#include "client/memory/ipc.h"
#include "client/memory/mempool.h"
#include "client/memory/mirror.h"
#include "client/memory/reclaim.h"
#include "client/memory/sync_memops.h"
#include "client/process/process.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

/* Up to which call all work is known to be done that may use memory of the context. */
static uint64_t device_free_unused(const struct client_context *context)
{
    return atomic_load(&context->session->reached) ? atomic_load(&context->unused)
                                                   : client_context_done(context);
}

/* ---- the server's half */

void memory_reservation_end(const struct client_context *context, uint64_t address, uint64_t bytes)
{
    if (context->session->window_bytes == 0) {
        client_address_leave(CLIENT_ADDRESS_SESSION, address, NULL);
        client_window_release(&(struct handshake_window){.base = address, .bytes = bytes});
    }
}

/* Waits for the work that may use the memory, then unmaps. `bytes` 0: waits only. `wait`:
 * API_WAIT_FOR_*. */
static CUresult device_free_give_back(struct client_context *context, uint64_t address,
                                      uint64_t bytes, uint32_t wait)
{
    struct client_call call;
    const struct ga_memory_unmap_args args = {
        .address = address, .bytes = bytes, .wait_for_work = wait};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_memory_unmap, context);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_memory_unmap(&call, &args, true);
        if (rc == CUDA_SUCCESS) {
            client_conn_raise(&context->unused, call.sequence);
        }
    }
    return rc;
}

/* Unmaps without waiting. With `device_free_watch` the server tells when the work before is done.
 */
static CUresult device_free_post(struct client_context *context,
                                 const struct ga_memory_unmap_args *args, bool watch)
{
    struct client_call call;
    struct reply_action want = {0};
    CU_TRY(client_call_enter_in(&call, API_OP_ga_memory_unmap, context));
    CU_TRY(client_call_begin(&call, ga_memory_unmap_args_bound(args)));
    if (watch) {
        want.watched = &context->unused;
        want.watch_value = client_conn_next(call.conn);
        atomic_store(&context->watch, want.watch_value);
    }
    ga_memory_unmap_args_write(&call.writer, args);
    return client_call_post_expect(&call, &want);
}

int memory_unmap_idle(void *user, uint64_t address, uint64_t bytes)
{
    const struct ga_memory_unmap_args args = {.address = address, .bytes = bytes};
    CUresult rc = device_free_post(user, &args, false);
    memory_reservation_end(user, address, bytes);
    return (int)rc;
}

CUresult client_memory_unmap(struct client_context *context, uint64_t address, uint64_t bytes)
{
    return device_free_give_back(context, address, bytes, API_WAIT_FOR_USERS);
}

/* ---- what drains */

/* Reads what is there. */
static void device_free_look(struct client_conn *conn)
{
    if (client_conn_unwaited(conn)) {
        client_conn_read(conn);
    }
}

/* The server tells when what has been sent up to now has ended, unless it is going to tell
 * something of the kind anyway. */
static void device_free_watch(struct client_context *context)
{
    const struct ga_memory_unmap_args args = {.wait_for_work = API_WAIT_FOR_USERS};
    if (atomic_load(&context->watch) <= atomic_load(&context->unused)) {
        (void)device_free_post(context, &args, true);
    }
}

bool memory_settle(struct client_context *context)
{
    return client_allocator_settle(&context->session->allocator, context->object.handle,
                                   device_free_unused(context), memory_unmap_idle, context);
}

bool memory_settle_more(struct client_context *context)
{
    if (!client_allocator_drains(&context->session->allocator, context->object.handle)) {
        return false;
    }
    device_free_look(client_session_conn(context->session));
    bool any = memory_settle(context);
    if (!any) {
        device_free_watch(context);
    }
    return any;
}

void client_memory_settle(struct client_context *context)
{
    (void)memory_settle(context);
    if (client_allocator_drains(&context->session->allocator, context->object.handle)) {
        (void)device_free_give_back(context, 0, 0, API_WAIT_FOR_USERS);
        (void)memory_settle(context);
    }
}

void client_memory_trim_session(const struct client_session *session, bool wait)
{
    uint32_t index = 0;
    struct client_context *context, *any = NULL;
    while ((context = client_context_next_of(session, &index)) != NULL) {
        if (wait) {
            client_memory_settle(context);
        } else {
            (void)memory_settle(context);
        }
        any = context;
    }
    if (any != NULL) { /* any context will do: all of the session is given back */
        client_allocator_trim(&any->session->allocator, memory_unmap_idle, any);
    }
}

static CUdevice device_of(const struct client_session *session)
{
    int at = 0;
    while (atomic_load(&client_devices[at]->session) != session) {
        at++;
    }
    return at;
}

bool client_memory_reclaim(const struct client_session *session, unsigned step)
{
    switch (step) {
    case 0:
        client_memory_trim_session(session, true);
        return true;
    case 1:
        (void)client_mempool_release(device_of(session));
        return true;
    case 2:
        if (client_mempool_release(device_of(session)) &&
            client_session_wait(session) == CUDA_SUCCESS) {
            (void)client_mempool_release(device_of(session));
        }
        return true;
    default:
        return client_trim_others(session, step - CLIENT_RELIEF_OTHERS);
    }
}

/* ---- freeing */

static CUresult free_pooled(const struct client_session *session, uint64_t address)
{
    CUresult rc = client_session_wait(session);
    if (rc == CUDA_SUCCESS && !client_mempool_free(address)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

/* Without waiting. When as much drains as may, what is known by then to be done is used again. */
static int free_later(struct client_context *owner, struct client_allocator *allocator,
                      uint64_t address)
{
    uint64_t mark = client_conn_worked(client_session_conn(owner->session));
    int rc = client_allocator_free(allocator, address, mark, memory_unmap_idle, owner);
    if (rc == ALLOCATOR_FULL && memory_settle_more(owner)) {
        rc = client_allocator_free(allocator, address, mark, memory_unmap_idle, owner);
    }
    if (rc == ALLOCATOR_OK && device_free_unused(owner) < mark) {
        device_free_watch(owner);
    }
    return rc;
}

/* Frees in the allocator's two blocking steps: retire, wait for the work before, release. */
static CUresult free_now(struct client_context *owner, struct client_allocator *allocator,
                         uint64_t address, struct client_mirror *mirror)
{
    CUresult rc = CUDA_SUCCESS;
    uint64_t bytes;
    if (client_allocator_drain(allocator, address, &bytes) != ALLOCATOR_OK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    /* Managed memory may be used in any context: only the server knows whether one is busy. */
    uint32_t wait = mirror != NULL ? API_WAIT_FOR_ALL : API_WAIT_FOR_USERS;
    if (bytes != 0 || mirror != NULL ||
        device_free_unused(owner) < client_conn_worked(client_session_conn(owner->session))) {
        rc = device_free_give_back(owner, bytes != 0 ? address : 0, bytes, wait);
    }
    client_mirror_end(mirror);
    client_allocator_drained(allocator, address, memory_unmap_idle, owner);
    if (bytes != 0) { /* last: another thread may get the same address from now on */
        memory_reservation_end(owner, address, bytes);
    }
    (void)memory_settle(owner);
    return rc;
}

/* `memory`: an allocation. */
static CUresult free_allocation(struct client_context *context, const struct client_memory *memory,
                                struct client_mirror *mirror)
{
    struct client_allocator *allocator = &memory->session->allocator;
    /* Work of the context that allocated it may use it; the current one is as good when that is
     * gone, for then its work is, too. */
    struct client_context *owner = client_object_find(GA_HANDLE_CONTEXT, memory->context);
    owner = owner != NULL && atomic_load(&owner->active) ? owner : context;
    bool shared = client_ipc_withdraw(owner, memory->start);
    /* Memory that other programs use, too, is not cached. */
    return !shared && mirror == NULL && free_later(owner, allocator, memory->start) == ALLOCATOR_OK
               ? CUDA_SUCCESS
               : free_now(owner, allocator, memory->start, mirror);
}

CUresult client_memory_free_mirror(struct client_context *context, struct client_mirror *mirror)
{
    const struct client_memory block = {
        .session = mirror->session, .start = mirror->block, .context = mirror->context};
    return free_allocation(context, &block, mirror);
}

static CUresult free_managed(struct client_context *context, uint64_t start)
{
    struct client_mirror *mirror = client_mirror_take(start, true);
    if (mirror == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    client_sync_memops_forget(start);
    return client_memory_free_mirror(context, mirror);
}

/* Other memory is given back by other calls, or with the memory that it is part of. */
static CUresult free_at(struct client_context *context, uint64_t start)
{
    struct client_memory memory;
    if (!client_memory_find(start, &memory) || memory.start != start) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (memory.kind) {
    case CLIENT_ADDRESS_SESSION:
        client_sync_memops_forget(start);
        return free_allocation(context, &memory, NULL);
    case CLIENT_ADDRESS_CHUNK:
        client_sync_memops_forget(start);
        return free_pooled(memory.session, start);
    case CLIENT_ADDRESS_MIRROR:
        return free_managed(context, start);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    if (dptr == 0 || atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    return client_graph_memory_known(dptr) ? client_graph_memory_free(dptr)
                                           : free_at(context, dptr);
}

/* The server has freed it already. */
static int device_free_forget(void *user, uint64_t address, uint64_t bytes)
{
    memory_reservation_end(user, address, bytes);
    return ALLOCATOR_OK;
}

void client_memory_forget(struct client_context *context)
{
    client_ipc_forget(context);
    client_allocator_drop(&context->session->allocator, context->object.handle, device_free_forget,
                          context);
}
