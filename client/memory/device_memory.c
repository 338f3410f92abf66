/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: the allocator picks the address, the server maps it. */
#include "client/memory/device_memory.h"

#include <stdlib.h>

#include "api/calls.h"
#include "base/log.h"
#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/graph/graph.h"
#include "client/memory/device_free.h"
#include "client/memory/host_memory.h"
#include "client/memory/ipc.h"
#include "client/memory/mappings.h"
#include "client/memory/mempool.h"
#include "client/memory/mirror.h"
#include "client/memory/vmm.h"
#include "client/module/module.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

#define ASKED_MAX 8u /* pieces of memory tried where there is no window */

/* ---- module globals: addresses that the server gave */

struct global_range {
    struct client_range range;
    struct client_session *session;
    const struct client_module *module;
    struct global_range *next;
};

static struct client_ranges globals;
static struct global_range *global_list;

void client_global_known(struct client_session *session, uint64_t address, uint64_t bytes,
                         const struct client_module *module)
{
    struct global_range *global = bytes != 0 ? calloc(1, sizeof *global) : NULL;
    if (global == NULL) {
        return;
    }
    global->range.start = address;
    global->range.bytes = bytes;
    global->session = session;
    global->module = module;
    pthread_mutex_lock(&client_state_lock);
    if (client_ranges_insert(&globals, &global->range)) {
        global->next = global_list;
        global_list = global;
        global = NULL;
    }
    pthread_mutex_unlock(&client_state_lock);
    free(global);
}

void client_globals_forget(const struct client_module *module)
{
    pthread_mutex_lock(&client_state_lock);
    for (struct global_range **at = &global_list; *at != NULL;) {
        struct global_range *global = *at;
        if (global->module == module) {
            client_ranges_remove(&globals, &global->range);
            *at = global->next;
            free(global);
        } else {
            at = &global->next;
        }
    }
    pthread_mutex_unlock(&client_state_lock);
}

/* ---- what an address is */

struct client_session *client_memory_window(uint64_t address)
{
    for (int i = 0; i < client_device_count; i++) {
        struct client_session *session = atomic_load(&client_devices[i]->session);
        if (session != NULL &&
            (session->window_bytes != 0 ? address - session->window_base < session->window_bytes
                                        : client_allocator_holds(&session->allocator, address))) {
            return session;
        }
    }
    return client_mappings_session(address);
}

/* Memory of a pool belongs to no context. */
static bool pooled(struct client_session *session, uint64_t address, struct client_memory *memory)
{
    struct front_mempool_found found;
    bool known = client_mempool_find(address, &found);
    if (known) {
        *memory = (struct client_memory){.session = session,
                                         .start = found.start,
                                         .bytes = found.bytes,
                                         .pool = found.pool,
                                         .id = found.id | UINT64_C(1) << 63};
    }
    return known;
}

bool client_memory_find(uint64_t address, struct client_memory *memory)
{
    struct client_mirror mirror;
    if (client_mirror_on_device(address, &mirror)) {
        *memory = (struct client_memory){.session = mirror.session,
                                         .start = mirror.device,
                                         .bytes = mirror.bytes,
                                         .context = mirror.context};
        return true;
    }
    if (client_mappings_find(address, memory)) {
        return true;
    }
    struct client_session *session = client_memory_window(address);
    if (session != NULL) {
        struct client_allocation allocation;
        if (!client_allocator_find(&session->allocator, address, &allocation)) {
            return pooled(session, address, memory) || client_ipc_find(address, memory);
        }
        *memory = (struct client_memory){.session = session,
                                         .start = allocation.address,
                                         .bytes = allocation.bytes,
                                         .context = allocation.owner};
        return true;
    }
    pthread_mutex_lock(&client_state_lock);
    struct client_range *range = client_ranges_find(&globals, address);
    if (range != NULL) {
        struct global_range *global = ga_container(range, struct global_range, range);
        *memory = (struct client_memory){.session = global->session,
                                         .start = range->start,
                                         .bytes = range->bytes,
                                         .context = global->module->object.context->object.handle};
    }
    pthread_mutex_unlock(&client_state_lock);
    return range != NULL;
}

struct client_session *client_memory_session(uint64_t address)
{
    struct client_session *session = client_memory_window(address);
    struct client_memory memory;
    if (session == NULL && client_memory_find(address, &memory)) {
        session = memory.session;
    }
    return session;
}

CUresult client_memory_check(uint64_t address, uint64_t bytes, struct client_session **session)
{
    struct client_memory memory;
    if (bytes == 0) {
        *session = NULL;
        return CUDA_SUCCESS;
    }
    if (!client_memory_find(address, &memory) || memory.barred) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *session = memory.session;
    uint64_t room = memory.bytes - (address - memory.start);
    while (room < bytes) {
        if (!memory.mapped || !client_mappings_find(address + room, &memory) || memory.barred ||
            client_session_conn(memory.session) != client_session_conn(*session)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        room += memory.bytes;
    }
    return CUDA_SUCCESS;
}

/* ---- allocating and freeing */

static CUresult map(struct client_context *context, uint64_t address, uint64_t bytes)
{
    struct client_call call;
    struct ga_memory_map_args args = {.address = address, .bytes = bytes};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_memory_map, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_SIMPLE(&call, ga_memory_map, &args, true, rc);
    }
    return rc;
}

/* ---- without a window: the server's driver picks addresses */

static CUresult ask_block(struct client_context *context, uint64_t bytes, uint64_t *address)
{
    struct client_call call;
    struct ga_memory_allocate_args args = {.bytes = bytes};
    struct ga_memory_allocate_results results;
    CUresult rc = client_call_enter_in(&call, API_OP_ga_memory_allocate, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_RESULTS(&call, ga_memory_allocate, &args, true, &results, rc);
    }
    if (rc == CUDA_SUCCESS && results.address == 0) {
        rc = client_call_broken(&call);
    }
    if (rc == CUDA_SUCCESS) {
        *address = results.address;
    }
    return rc;
}

/* Where the program itself has something, the memory is of no use: another piece is asked for, and
 * the useless ones are given back when one is found. */
static CUresult ask_blocks(struct client_context *context, uint64_t bytes, uint64_t *address)
{
    uint64_t useless[ASKED_MAX] = {0};
    unsigned count = 0;
    CUresult rc;
    do {
        rc = ask_block(context, bytes, &useless[count]);
    } while (rc == CUDA_SUCCESS &&
             !client_window_reserve(
                 &(struct handshake_window){.base = useless[count], .bytes = bytes}) &&
             ++count < ASKED_MAX);
    if (rc == CUDA_SUCCESS && count < ASKED_MAX) {
        *address = useless[count];
    } else if (rc == CUDA_SUCCESS) {
        ga_warn("device memory of the server lies where this program has memory of its own");
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)client_memory_unmap(context, useless[i], bytes);
    }
    return rc;
}

struct taking {
    struct client_context *context;
    bool looked; /* what drains has been looked at */
};

static int map_block(void *user, uint64_t *address, uint64_t bytes)
{
    struct taking *taking = user;
    if (!taking->looked) {
        taking->looked = true;
        if (memory_settle_more(taking->context)) {
            return ALLOCATOR_AGAIN;
        }
    }
    return (int)(*address != 0 ? map(taking->context, *address, bytes)
                               : ask_blocks(taking->context, bytes, address));
}

static int take(struct client_context *context, uint64_t bytes, uint64_t *address)
{
    struct taking taking = {.context = context};
    int rc;
    (void)memory_settle(context);
    while ((rc = client_allocator_take(&context->session->allocator, bytes, context->object.handle,
                                       map_block, &taking, address)) == ALLOCATOR_AGAIN) {
    }
    return rc;
}

CUresult client_memory_alloc(struct client_context *context, uint64_t bytes, CUdeviceptr *out)
{
    uint64_t address;
    int rc = take(context, bytes, &address);
    if (rc == ALLOCATOR_FULL) {
        client_graph_memory_tidy();
        client_vmm_relieve();
    }
    for (unsigned step = 0; rc == ALLOCATOR_FULL && client_memory_reclaim(context->session, step);
         step++) {
        rc = take(context, bytes, &address);
    }
    if (rc == ALLOCATOR_OK) {
        *out = address;
    }
    return (CUresult)rc;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (dptr == NULL || bytesize == 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? client_memory_alloc(context, bytesize, dptr) : rc;
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    if (dptr == NULL || pPitch == NULL || WidthInBytes == 0 || Height == 0 || !element) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t align = (size_t)context->device->attributes[CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT];
    align = align < ALLOCATOR_UNIT ? ALLOCATOR_UNIT : align;
    size_t pitch = (WidthInBytes + align - 1) / align * align;
    if (pitch < WidthInBytes || pitch > SIZE_MAX / Height) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    rc = client_memory_alloc(context, pitch * Height, dptr);
    if (rc == CUDA_SUCCESS) {
        *pPitch = pitch;
    }
    return rc;
}

/* ---- asking */

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct client_call call;
    client_vmm_relieve();
    CUresult rc = client_call_enter(&call, API_OP_ga_memory_info);
    if (rc == CUDA_SUCCESS && (free_bytes == NULL || total == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, 0);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct ga_reader reader;
    struct ga_memory_info_results results;
    rc = client_call_wait(&call, &reader);
    if (rc == CUDA_SUCCESS) {
        ga_memory_info_results_read(&reader, &results);
        if (reader.failed) {
            rc = client_call_broken(&call);
        } else {
            /* Unused memory of the allocator counts as free. */
            *free_bytes =
                results.free_bytes + client_allocator_free_bytes(&call.context->session->allocator);
            *total = results.total_bytes;
        }
    }
    client_call_end(&call);
    return rc;
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct client_context *context;
    struct client_memory memory;
    CUresult rc = client_context_current(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    unsigned flags;
    if (!client_memory_find(dptr, &memory) && !client_host_find(dptr, &memory, &flags)) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (pbase != NULL) {
        *pbase = memory.start;
    }
    if (psize != NULL) {
        *psize = memory.bytes;
    }
    return CUDA_SUCCESS;
}
