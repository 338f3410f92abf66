/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other processes of the node. */
#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/waits.h"

_Static_assert(sizeof(struct sg_ipc_handle) <= CU_IPC_HANDLE_SIZE, "it travels in a CUDA handle");

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_range *range = sg_range_find(dptr);
    if (pHandle == NULL || range == NULL || range->span.base != dptr || !sg_ipc_capable(range)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_ipc_handle handle;
    rc = sg_ipc_export(range, &handle);
    if (rc == CUDA_SUCCESS) {
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &handle, sizeof handle);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (pdptr == NULL || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_ipc_handle read;
    struct sg_range *range;
    memcpy(&read, &handle, sizeof read);
    rc = sg_ipc_import(context, &read, &range);
    if (rc == CUDA_SUCCESS) {
        *pdptr = range->span.base;
    }
    return sg_leave(rc);
}

/* Waits for work that may use the memory, as cuMemFree does. */
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_range *range = sg_range_find(dptr);
    if (range == NULL || range->kind != SG_RANGE_IMPORTED || range->pooled ||
        range->span.base != dptr) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->opens > 1) {
        range->opens--;
        return sg_leave(CUDA_SUCCESS);
    }
    uint64_t id = range->id;
    rc = sg_context_wait_users(range->context);
    range = sg_range_find(dptr); /* another thread may have closed it meanwhile */
    if (rc == CUDA_SUCCESS && (range == NULL || range->id != id)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && --range->opens == 0) {
        sg_heap_free(range);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct sg_context *context;
    struct sg_event *found;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pHandle == NULL ? CUDA_ERROR_INVALID_VALUE : sg_call_event(event, &found);
    if (rc == CUDA_SUCCESS && found->shared == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) {
        const struct sg_ipc_handle handle = {.kind = SG_IPC_EVENT,
                                             .index = sg_node_event_index(found->shared),
                                             .node = sg_node_id(),
                                             .process = sg_node_process(),
                                             .key = found->shared_id};
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &handle, sizeof handle);
    }
    return sg_leave(rc);
}

static CUresult event_open(struct sg_context *context, const struct sg_ipc_handle *handle,
                           CUevent *event)
{
    if (handle->kind != SG_IPC_EVENT || handle->node != sg_node_id()) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (handle->process == sg_node_process()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct sg_node_event *shared = sg_node_event_at(handle->index, handle->key);
    if (shared == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct sg_event *made;
    CUresult rc = sg_event_make(context, CU_EVENT_DISABLE_TIMING, &made);
    if (rc == CUDA_SUCCESS) {
        made->shared = shared;
        made->shared_id = handle->key;
        *event = (CUevent)(uintptr_t)made->handle;
    }
    return rc;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    struct sg_ipc_handle read;
    memcpy(&read, &handle, sizeof read);
    return sg_leave(phEvent == NULL ? CUDA_ERROR_INVALID_VALUE
                                    : event_open(context, &read, phEvent));
}
