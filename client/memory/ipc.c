/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other programs on the same server (server/control/sharing.h). A handle is
 * the key that gpuaasd has made for what is shared, and which part of its mapping an allocation is.
 *
 * Opened memory lies in the session's window where the allocator reserves room for the mapping, at
 * one address on both ends as all memory does; the allocator itself knows nothing of it. */
#include "client/memory/ipc.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/event_call.h"
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/context/object.h"
#include "client/memory/device_free.h"
#include "client/memory/device_memory.h"
#include "client/memory/mirror.h"
#include "client/session/session.h"
#include "front/front.h"

#define MAGIC_MEMORY UINT32_C(0x4d495047)
#define MAGIC_EVENT  UINT32_C(0x45495047)

/* What a CUipcMemHandle or a CUipcEventHandle holds. */
struct handle {
    uint32_t magic, zero;
    uint64_t key[4];
    uint64_t bytes, offset, mapping_bytes; /* of memory */
};
_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "it travels in a CUDA handle");

/* An allocation that is shared, or a mapping that has been opened. */
struct shared {
    struct client_range range;
    uint64_t context; /* handle */
    struct client_session *session;
    struct handle handle;
    unsigned opens;
    struct shared *next;
};

/* Under client_state_lock. */
static struct client_ranges opened, exported;
static struct shared *opened_list, *exported_list;

static struct shared *shared_at(const struct client_ranges *ranges, uint64_t address)
{
    struct client_range *range = client_ranges_find(ranges, address);
    return range != NULL ? ga_container(range, struct shared, range) : NULL;
}

static void leave(struct client_ranges *ranges, struct shared **list, struct shared *shared)
{
    struct shared **at = list;
    while (*at != shared) {
        at = &(*at)->next;
    }
    *at = shared->next;
    client_ranges_remove(ranges, &shared->range);
}

static bool enter(struct client_ranges *ranges, struct shared **list, struct shared *shared)
{
    bool entered = client_ranges_insert(ranges, &shared->range);
    if (entered) {
        shared->next = *list;
        *list = shared;
    }
    return entered;
}

bool client_ipc_find(uint64_t address, struct client_memory *memory)
{
    pthread_mutex_lock(&client_state_lock);
    const struct shared *shared = shared_at(&opened, address);
    bool found = shared != NULL;
    if (found) {
        const uint64_t start = shared->range.start + shared->handle.offset;
        found = address - start < shared->handle.bytes;
        if (found) {
            *memory = (struct client_memory){.session = shared->session,
                                             .start = start,
                                             .bytes = shared->handle.bytes,
                                             .context = shared->context};
        }
    }
    pthread_mutex_unlock(&client_state_lock);
    return found;
}

/* ---- sharing */

static CUresult share(struct client_context *context, const struct client_memory *memory,
                      struct handle *handle)
{
    struct client_call call;
    struct ga_ipc_share_args args = {.address = memory->start, .bytes = memory->bytes};
    struct ga_ipc_share_results results;
    client_copy_expose(NULL);
    CUresult rc = client_call_enter_in(&call, API_OP_ga_ipc_share, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_RESULTS(&call, ga_ipc_share, &args, true, &results, rc);
    }
    if (rc == CUDA_SUCCESS) {
        *handle = (struct handle){.magic = MAGIC_MEMORY,
                                  .bytes = memory->bytes,
                                  .offset = results.offset,
                                  .mapping_bytes = results.mapping_bytes};
        memcpy(handle->key, results.key, sizeof handle->key);
    }
    return rc;
}

/* It has a handle already. */
static bool known(uint64_t address, struct handle *handle)
{
    pthread_mutex_lock(&client_state_lock);
    const struct shared *shared = shared_at(&exported, address);
    if (shared != NULL) {
        *handle = shared->handle;
    }
    pthread_mutex_unlock(&client_state_lock);
    return shared != NULL;
}

/* Another thread may have been quicker: then its handle it is. */
static CUresult remember(const struct client_memory *memory, struct handle *handle)
{
    struct shared *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct shared){.range = {.start = memory->start, .bytes = memory->bytes},
                            .context = memory->context,
                            .session = memory->session,
                            .handle = *handle};
    pthread_mutex_lock(&client_state_lock);
    bool entered = enter(&exported, &exported_list, made);
    pthread_mutex_unlock(&client_state_lock);
    if (entered) {
        return CUDA_SUCCESS;
    }
    free(made);
    return known(memory->start, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool client_ipc_capable(uint64_t address)
{
    struct client_allocation allocation;
    struct client_mirror mirror;
    struct client_session *session = client_memory_window(address);
    return session != NULL && client_allocator_find(&session->allocator, address, &allocation) &&
           !client_mirror_on_device(address, &mirror);
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
    if (pHandle == NULL || !client_ipc_capable(dptr) || !client_memory_find(dptr, &memory) ||
        memory.start != dptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!known(dptr, &handle)) {
        struct client_context *owner = client_object_find(GA_HANDLE_CONTEXT, memory.context);
        rc = share(owner != NULL ? owner : context, &memory, &handle);
        if (rc == CUDA_SUCCESS) {
            rc = remember(&memory, &handle);
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

bool client_ipc_withdraw(struct client_context *context, uint64_t address)
{
    struct client_call call;
    struct ga_ipc_withdraw_args args = {.address = address};
    pthread_mutex_lock(&client_state_lock);
    struct shared *shared = shared_at(&exported, address);
    if (shared != NULL) {
        leave(&exported, &exported_list, shared);
    }
    pthread_mutex_unlock(&client_state_lock);
    if (shared == NULL) {
        return false;
    }
    free(shared);
    CUresult rc = client_call_enter_in(&call, API_OP_ga_ipc_withdraw, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_SIMPLE(&call, ga_ipc_withdraw, &args, true, rc);
    }
    return true;
}

/* ---- opening */

static CUresult map(struct client_context *context, const struct handle *handle, uint64_t address)
{
    struct client_call call;
    struct ga_ipc_open_args args = {.address = address,
                                    .bytes = handle->bytes,
                                    .offset = handle->offset,
                                    .mapping_bytes = handle->mapping_bytes};
    memcpy(args.key, handle->key, sizeof args.key);
    client_copy_expose(NULL);
    CUresult rc = client_call_enter_in(&call, API_OP_ga_ipc_open, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_SIMPLE(&call, ga_ipc_open, &args, true, rc);
    }
    return rc;
}

/* The room is the caller's again. */
static void unreserve(struct client_session *session, const struct shared *shared)
{
    (void)client_allocator_unreserve(&session->allocator, shared->range.start, shared->range.bytes);
}

static CUresult open_new(struct client_context *context, const struct handle *handle,
                         CUdeviceptr *out)
{
    struct client_session *session = context->session;
    struct shared *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct shared){.range = {.bytes = handle->mapping_bytes},
                            .context = context->object.handle,
                            .session = session,
                            .handle = *handle,
                            .opens = 1};
    int reserved = client_allocator_reserve(&session->allocator, 0, handle->mapping_bytes, 0,
                                            &made->range.start);
    if (reserved != ALLOCATOR_OK) {
        free(made);
        return reserved == ALLOCATOR_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = map(context, handle, made->range.start);
    if (rc != CUDA_SUCCESS) {
        unreserve(session, made);
        free(made);
        return rc;
    }
    *out = made->range.start + handle->offset;
    pthread_mutex_lock(&client_state_lock);
    (void)enter(&opened, &opened_list, made); /* its addresses are nobody else's */
    pthread_mutex_unlock(&client_state_lock);
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
    CUresult rc = client_context_current(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
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
    bool own = key_in(exported_list, &read, 0, &found);
    bool again = !own && key_in(opened_list, &read, context->object.handle, &found) &&
                 memcmp(&found->handle, &read, sizeof read) == 0;
    if (again) {
        found->opens++;
        *pdptr = found->range.start + found->handle.offset;
    }
    pthread_mutex_unlock(&client_state_lock);
    return own     ? CUDA_ERROR_INVALID_CONTEXT
           : again ? CUDA_SUCCESS
                   : open_new(context, &read, pdptr);
}

/* Takes it out of the list when nobody else has opened it; `*last` NULL: somebody has. */
static CUresult close_one(uint64_t address, struct shared **last)
{
    CUresult rc = CUDA_SUCCESS;
    *last = NULL;
    pthread_mutex_lock(&client_state_lock);
    struct shared *shared = shared_at(&opened, address);
    if (shared == NULL || shared->range.start + shared->handle.offset != address) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else if (--shared->opens == 0) {
        leave(&opened, &opened_list, shared);
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
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS) {
        rc = close_one(dptr, &last);
    }
    if (rc != CUDA_SUCCESS || last == NULL) {
        return rc;
    }
    struct client_context *owner = client_object_find(GA_HANDLE_CONTEXT, last->context);
    rc = client_memory_unmap(owner != NULL ? owner : context, last->range.start, last->range.bytes);
    unreserve(last->session, last);
    free(last);
    return rc;
}

static void forget(struct client_ranges *ranges, struct shared **list, uint64_t context,
                   bool reserved)
{
    for (struct shared **at = list; *at != NULL;) {
        struct shared *shared = *at;
        if (shared->context != context) {
            at = &shared->next;
            continue;
        }
        *at = shared->next;
        client_ranges_remove(ranges, &shared->range);
        if (reserved) {
            unreserve(shared->session, shared);
        }
        free(shared);
    }
}

void client_ipc_forget(const struct client_context *context)
{
    pthread_mutex_lock(&client_state_lock);
    forget(&opened, &opened_list, context->object.handle, true);
    forget(&exported, &exported_list, context->object.handle, false);
    pthread_mutex_unlock(&client_state_lock);
}

/* ---- events */

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct client_call call;
    struct ga_ipc_share_event_args args;
    struct ga_ipc_share_event_results results;
    struct handle handle = {.magic = MAGIC_EVENT};
    CUresult rc = client_call_enter(&call, API_OP_ga_ipc_share_event);
    if (rc == CUDA_SUCCESS && pHandle == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_event_check(&call, event, &args.event);
    }
    if (rc == CUDA_SUCCESS && !client_event_shared(args.event)) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_RESULTS(&call, ga_ipc_share_event, &args, false, &results, rc);
    }
    if (rc == CUDA_SUCCESS) {
        memcpy(handle.key, results.key, sizeof handle.key);
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &handle, sizeof handle);
    }
    return rc;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct client_call call;
    struct ga_ipc_open_event_args args;
    struct handle read;
    CUresult rc = client_call_enter(&call, API_OP_ga_ipc_open_event);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    memcpy(&read, &handle, sizeof read);
    if (phEvent == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (read.magic != MAGIC_EVENT || read.zero != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    memcpy(args.key, read.key, sizeof args.key);
    rc = client_event_make(&call, true, &args.event);
    if (rc == CUDA_SUCCESS) {
        const uint64_t event = args.event;
        CLIENT_CALL_SIMPLE(&call, ga_ipc_open_event, &args, true, rc);
        if (rc == CUDA_SUCCESS) {
            *phEvent = (CUevent)(uintptr_t)event;
        } else {
            client_handle_drop(event);
        }
    }
    return rc;
}
