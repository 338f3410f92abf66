/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: the allocator picks the address, the server maps it. */
#include "client/memory/device_memory.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/log.h"
#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/memory/address.h"
#include "client/memory/device_free.h"
#include "client/memory/graph_memory.h"
#include "client/memory/host_memory.h"
#include "client/memory/vmm.h"

#define ASKED_MAX 8u /* pieces of memory tried where there is no window */

/* ---- blocks */

static CUresult device_memory_map(struct client_context *context, uint64_t address, uint64_t bytes)
{
    struct client_call call;
    struct ga_memory_map_args args = {.address = address, .bytes = bytes};
    CU_TRY(client_call_enter_in(&call, API_OP_ga_memory_map, context));
    return client_wait_ga_memory_map(&call, &args, true);
}

/* ---- without a window: the server's driver picks addresses */

static CUresult ask_block(struct client_context *context, uint64_t bytes, uint64_t *address)
{
    struct client_call call;
    struct ga_memory_allocate_args args = {.bytes = bytes};
    struct ga_memory_allocate_results results;
    CU_TRY(client_call_enter_in(&call, API_OP_ga_memory_allocate, context));
    CU_TRY(client_wait_ga_memory_allocate(&call, &args, true, &results));
    if (results.address == 0) {
        CU_TRY(client_call_broken(&call));
    }
    *address = results.address;
    return CUDA_SUCCESS;
}

/* False: the program itself has something there. */
static bool block_enter(const struct client_context *context, uint64_t address, uint64_t bytes)
{
    const struct handshake_window room = {.base = address, .bytes = bytes};
    const struct client_address block = {.kind = CLIENT_ADDRESS_SESSION,
                                         .start = address,
                                         .bytes = bytes,
                                         .session = context->session};
    bool reserved = client_window_reserve(&room);
    if (reserved && client_address_enter(&block) != GA_OK) {
        client_window_release(&room);
        return false;
    }
    return reserved;
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
    } while (rc == CUDA_SUCCESS && !block_enter(context, useless[count], bytes) &&
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
    return (int)(*address != 0 ? device_memory_map(taking->context, *address, bytes)
                               : ask_blocks(taking->context, bytes, address));
}

static int device_memory_take(struct client_context *context, uint64_t bytes, uint64_t *address)
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
    int rc = device_memory_take(context, bytes, &address);
    if (rc == ALLOCATOR_FULL) {
        client_graph_memory_tidy();
        client_vmm_relieve();
    }
    for (unsigned step = 0; rc == ALLOCATOR_FULL && client_memory_reclaim(context->session, step);
         step++) {
        rc = device_memory_take(context, bytes, &address);
    }
    if (rc == ALLOCATOR_OK) {
        *out = address;
    }
    return (CUresult)rc;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    if (dptr == NULL || bytesize == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return client_memory_alloc(context, bytesize, dptr);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
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
    CU_TRY(client_memory_alloc(context, pitch * Height, dptr));
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

/* ---- asking */

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct client_call call;
    client_vmm_relieve();
    CU_TRY(client_call_enter(&call, API_OP_ga_memory_info));
    if (free_bytes == NULL || total == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_call_begin(&call, 0));
    struct ga_reader reader;
    struct ga_memory_info_results results;
    CUresult rc = client_call_wait(&call, &reader);
    if (rc == CUDA_SUCCESS) {
        ga_memory_info_results_read(&reader, &results);
        if (reader.failed) {
            rc = client_call_broken(&call);
        } else {
            /* Unused memory of the allocator counts as free. */
            size_t all =
                results.free_bytes + client_allocator_free_bytes(&call.context->session->allocator);
            *total = results.total_bytes; /* as it was at first; a limit may have been raised */
            *free_bytes = all < *total ? all : *total;
        }
    }
    client_call_end(&call);
    return rc;
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct client_context *context;
    struct client_memory memory;
    CU_TRY(client_context_current(&context));
    if (!client_memory_find(dptr, &memory) && !client_host_find(dptr, &memory)) {
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
