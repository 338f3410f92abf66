/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other programs on the same server (server/sharing/sharing_registry.h). A
 * handle is the key that gpuaasd has made for what is shared, and which part of its mapping an
 * allocation is.
 *
 * Opened memory lies in the session's window where the allocator reserves room for the mapping, at
 * one address on both ends as all memory does; the allocator itself knows nothing of it. */
#include "client/memory/ipc.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/event_call.h"
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/context/object.h"
#include "client/memory/address.h"
#include "client/memory/device_free.h"
#include "client/session/session.h"
#include "front/front.h"

#define MAGIC_MEMORY UINT32_C(0x4d495047)
#define MAGIC_EVENT  UINT32_C(0x45495047)

/* The contents of a CUipcMemHandle or a CUipcEventHandle. */
struct handle {
    uint32_t magic, zero;
    uint64_t key[API_KEY_WORDS];
    uint64_t bytes, offset, mapping_bytes; /* of memory */
};
_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "it travels in a CUDA handle");

/* An allocation that is exported, or one that has been imported: in the address map, too. */
struct shared {
    uint64_t start;         /* of the allocation */
    uint64_t room_at, room; /* what is reserved for the mapping; 0: nothing, it is exported */
    uint64_t context;       /* handle */
    struct client_session *session;
    struct handle handle;
    unsigned opens;
    struct shared *next;
};

/* Under client_state_lock, in which records also go. */
static struct shared *imports, *exports;

/* False: no memory, or it is there already. */
static bool ipc_enter(enum client_address_kind kind, struct shared *shared)
{
    const struct client_address at = {.kind = kind,
                                      .start = shared->start,
                                      .bytes = shared->handle.bytes,
                                      .session = shared->session,
                                      .context = shared->context,
                                      .record = shared};
    struct shared **list = kind == CLIENT_ADDRESS_IMPORT ? &imports : &exports;
    if (client_address_enter(&at) != GA_OK) {
        return false;
    }
    shared->next = *list;
    *list = shared;
    return true;
}

/* Takes out what `at` points to. */
static struct shared *ipc_leave(enum client_address_kind kind, struct shared **at)
{
    struct shared *shared = *at;
    *at = shared->next;
    client_address_leave(kind, shared->start, shared);
    return shared;
}

static struct shared *shared_at(enum client_address_kind kind, uint64_t start)
{
    struct client_address at;
    return client_address_find(start, 1u << kind, &at) && at.start == start ? at.record : NULL;
}

static void shared_leave(enum client_address_kind kind, const struct shared *shared)
{
    struct shared **at = kind == CLIENT_ADDRESS_IMPORT ? &imports : &exports;
    while (*at != shared) {
        at = &(*at)->next;
    }
    (void)ipc_leave(kind, at);
}

/* ---- sharing */

static CUresult share(struct client_context *context, const struct client_memory *memory,
                      struct handle *handle)
{
    struct client_call call;
    struct ga_ipc_share_args args = {.address = memory->start, .bytes = memory->bytes};
    struct ga_ipc_share_results results;
    client_copy_expose(NULL);
    CU_TRY(client_call_enter_in(&call, API_OP_ga_ipc_share, context));
    CU_TRY(client_wait_ga_ipc_share(&call, &args, true, &results));
    *handle = (struct handle){.magic = MAGIC_MEMORY,
                              .bytes = memory->bytes,
                              .offset = results.offset,
                              .mapping_bytes = results.mapping_bytes};
    memcpy(handle->key, results.key, sizeof handle->key);
    return CUDA_SUCCESS;
}

/* Finds the handle that the memory has already. */
static bool ipc_known(uint64_t start, struct handle *handle)
{
    pthread_mutex_lock(&client_state_lock);
    const struct shared *shared = shared_at(CLIENT_ADDRESS_EXPORT, start);
    if (shared != NULL) {
        *handle = shared->handle;
    }
    pthread_mutex_unlock(&client_state_lock);
    return shared != NULL;
}

/* Another thread may have been quicker: then its handle it is. */
static CUresult ipc_remember(const struct client_memory *memory, struct handle *handle)
{
    struct shared *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct shared){.start = memory->start,
                            .context = memory->context,
                            .session = memory->session,
                            .handle = *handle};
    pthread_mutex_lock(&client_state_lock);
    bool entered = ipc_enter(CLIENT_ADDRESS_EXPORT, made);
    pthread_mutex_unlock(&client_state_lock);
    if (entered) {
        return CUDA_SUCCESS;
    }
    free(made);
    return ipc_known(memory->start, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool client_ipc_capable(const struct client_memory *memory)
{
    return memory->kind == CLIENT_ADDRESS_SESSION;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct client_context *context;
    struct client_memory memory;
    struct handle handle;
    CUresult rc = client_context_current(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (pHandle == NULL || !client_memory_find(dptr, &memory) || !client_ipc_capable(&memory) ||
        memory.start != dptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!ipc_known(dptr, &handle)) {
        struct client_context *owner = client_object_find(GA_HANDLE_CONTEXT, memory.context);
        rc = share(owner != NULL ? owner : context, &memory, &handle);
        if (rc == CUDA_SUCCESS) {
            rc = ipc_remember(&memory, &handle);
        }
    }
    if (rc == CUDA_SUCCESS) {
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &handle, sizeof handle);
    } else if (rc == CUDA_ERROR_NOT_SUPPORTED) {
        (void)front_unsupported("cuIpcGetMemHandle of memory that the driver maps by itself");
    }
    return rc;
}

bool client_ipc_withdraw(struct client_context *context, uint64_t start)
{
    struct client_call call;
    struct ga_ipc_withdraw_args args = {.address = start};
    if (shared_at(CLIENT_ADDRESS_EXPORT, start) == NULL) {
        return false;
    }
    pthread_mutex_lock(&client_state_lock);
    struct shared *shared = shared_at(CLIENT_ADDRESS_EXPORT, start);
    if (shared != NULL) {
        shared_leave(CLIENT_ADDRESS_EXPORT, shared);
    }
    pthread_mutex_unlock(&client_state_lock);
    if (shared == NULL) {
        return false;
    }
    free(shared);
    if (client_call_enter_in(&call, API_OP_ga_ipc_withdraw, context) == CUDA_SUCCESS) {
        (void)client_wait_ga_ipc_withdraw(&call, &args, true);
    }
    return true;
}

/* ---- opening */

static CUresult ipc_map(struct client_context *context, const struct handle *handle,
                        uint64_t address)
{
    struct client_call call;
    struct ga_ipc_open_args args = {.address = address,
                                    .bytes = handle->bytes,
                                    .offset = handle->offset,
                                    .mapping_bytes = handle->mapping_bytes};
    memcpy(args.key, handle->key, sizeof args.key);
    client_copy_expose(NULL);
    CU_TRY(client_call_enter_in(&call, API_OP_ga_ipc_open, context));
    return client_wait_ga_ipc_open(&call, &args, true);
}

/* The room is the caller's again. */
static void ipc_unreserve(struct client_session *session, const struct shared *shared)
{
    (void)client_allocator_unreserve(&session->allocator, shared->room_at, shared->room);
}

static CUresult open_new(struct client_context *context, const struct handle *handle,
                         CUdeviceptr *out)
{
    struct client_session *session = context->session;
    struct shared *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct shared){.room = handle->mapping_bytes,
                            .context = context->object.handle,
                            .session = session,
                            .handle = *handle,
                            .opens = 1};
    int reserved =
        client_allocator_reserve(&session->allocator, 0, handle->mapping_bytes, 0, &made->room_at);
    if (reserved != ALLOCATOR_OK) {
        free(made);
        return reserved == ALLOCATOR_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = ipc_map(context, handle, made->room_at);
    if (rc != CUDA_SUCCESS) {
        ipc_unreserve(session, made);
        free(made);
        return rc;
    }
    made->start = made->room_at + handle->offset;
    const uint64_t start = made->start;
    pthread_mutex_lock(&client_state_lock);
    bool entered = ipc_enter(CLIENT_ADDRESS_IMPORT, made);
    pthread_mutex_unlock(&client_state_lock);
    if (!entered) { /* no memory: its addresses are nobody else's */
        (void)client_memory_unmap(context, made->room_at, made->room);
        ipc_unreserve(session, made);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = start;
    return CUDA_SUCCESS;
}

static bool key_in(struct shared *list, const struct handle *handle, uint64_t context,
                   struct shared **found)
{
    for (*found = list; *found != NULL; *found = (*found)->next) {
        if (memcmp((*found)->handle.key, handle->key, sizeof handle->key) == 0 &&
            (context == 0 || (*found)->context == context)) {
            return true;
        }
    }
    return false;
}

static bool plausible(const struct handle *handle, uint64_t window_bytes)
{
    return handle->magic == MAGIC_MEMORY && handle->zero == 0 && handle->mapping_bytes != 0 &&
           handle->mapping_bytes <= window_bytes && handle->offset < handle->mapping_bytes &&
           handle->bytes != 0 && handle->bytes <= handle->mapping_bytes - handle->offset;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    struct client_context *context;
    struct handle read;
    CU_TRY(client_context_current(&context));
    if (pdptr == NULL || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(&read, &handle, sizeof read);
    if (context->session->window_bytes == 0) {
        return front_unsupported("cuIpcOpenMemHandle without an address window");
    }
    if (!plausible(&read, context->session->window_bytes)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct shared *found;
    pthread_mutex_lock(&client_state_lock);
    bool own = key_in(exports, &read, 0, &found);
    bool again = !own && key_in(imports, &read, context->object.handle, &found) &&
                 memcmp(&found->handle, &read, sizeof read) == 0;
    if (again) {
        found->opens++;
        *pdptr = found->start;
    }
    pthread_mutex_unlock(&client_state_lock);
    return own     ? CUDA_ERROR_INVALID_CONTEXT
           : again ? CUDA_SUCCESS
                   : open_new(context, &read, pdptr);
}

/* Takes it out of the list when nobody else has opened it; `*last` NULL: somebody has. */
static CUresult close_one(uint64_t start, struct shared **last)
{
    CUresult rc = CUDA_SUCCESS;
    *last = NULL;
    pthread_mutex_lock(&client_state_lock);
    struct shared *shared = shared_at(CLIENT_ADDRESS_IMPORT, start);
    if (shared == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else if (--shared->opens == 0) {
        shared_leave(CLIENT_ADDRESS_IMPORT, shared);
        *last = shared;
    }
    pthread_mutex_unlock(&client_state_lock);
    return rc;
}

/* Waits for the work that may use it, as cuMemFree does. */
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct client_context *context;
    struct shared *last;
    CU_TRY(client_context_current(&context));
    CU_TRY(close_one(dptr, &last));
    if (last == NULL) {
        return CUDA_SUCCESS;
    }
    struct client_context *owner = client_object_find(GA_HANDLE_CONTEXT, last->context);
    CUresult rc = client_memory_unmap(owner != NULL ? owner : context, last->room_at, last->room);
    ipc_unreserve(last->session, last);
    free(last);
    return rc;
}

static void ipc_forget(enum client_address_kind kind, struct shared **list, uint64_t context)
{
    for (struct shared **at = list; *at != NULL;) {
        if ((*at)->context != context) {
            at = &(*at)->next;
            continue;
        }
        struct shared *shared = ipc_leave(kind, at);
        if (shared->room != 0) {
            ipc_unreserve(shared->session, shared);
        }
        free(shared);
    }
}

void client_ipc_forget(const struct client_context *context)
{
    pthread_mutex_lock(&client_state_lock);
    ipc_forget(CLIENT_ADDRESS_IMPORT, &imports, context->object.handle);
    ipc_forget(CLIENT_ADDRESS_EXPORT, &exports, context->object.handle);
    pthread_mutex_unlock(&client_state_lock);
}

/* ---- events */

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct client_call call;
    struct ga_ipc_share_event_args args;
    struct ga_ipc_share_event_results results;
    struct handle handle = {.magic = MAGIC_EVENT};
    CU_TRY(client_call_enter(&call, API_OP_ga_ipc_share_event));
    if (pHandle == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_event_check(&call, event, &args.event));
    if (!client_event_shared(args.event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(client_wait_ga_ipc_share_event(&call, &args, false, &results));
    memcpy(handle.key, results.key, sizeof handle.key);
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &handle, sizeof handle);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct client_call call;
    struct ga_ipc_open_event_args args;
    struct handle read;
    CU_TRY(client_call_enter(&call, API_OP_ga_ipc_open_event));
    memcpy(&read, &handle, sizeof read);
    if (phEvent == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (read.magic != MAGIC_EVENT || read.zero != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    memcpy(args.key, read.key, sizeof args.key);
    CUresult rc = client_event_make(&call, true, &args.event);
    if (rc == CUDA_SUCCESS) {
        const uint64_t event = args.event;
        rc = client_wait_ga_ipc_open_event(&call, &args, true);
        if (rc == CUDA_SUCCESS) {
            *phEvent = (CUevent)(uintptr_t)event;
        } else {
            client_handle_drop(event);
        }
    }
    return rc;
}
