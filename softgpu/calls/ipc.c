/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other processes of the node. */
#include "softgpu/calls/ipc.h"

#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/stream/shared_events.h"
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
    struct sg_ipc_handle handle;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pHandle == NULL ? CUDA_ERROR_INVALID_VALUE : sg_call_event(event, &found);
    if (rc == CUDA_SUCCESS) {
        rc = sg_event_share(found, &handle);
    }
    if (rc == CUDA_SUCCESS) {
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &handle, sizeof handle);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct sg_context *context;
    struct sg_event *made;
    struct sg_ipc_handle read;
    CU_TRY(sg_enter(&context));
    memcpy(&read, &handle, sizeof read);
    CUresult rc = phEvent == NULL ? CUDA_ERROR_INVALID_VALUE : sg_event_open(context, &read, &made);
    if (rc == CUDA_SUCCESS) {
        *phEvent = (CUevent)(uintptr_t)made->handle;
    }
    return sg_leave(rc);
}

CUresult sg_call_event_export(CUevent event, int *fd)
{
    struct sg_context *context;
    struct sg_event *found;
    CU_TRY(sg_enter(&context));
    CUresult rc = sg_call_event(event, &found);
    return sg_leave(rc == CUDA_SUCCESS ? sg_event_share_file(found, fd) : rc);
}

CUresult sg_call_event_import(int fd, CUevent *event)
{
    struct sg_context *context;
    struct sg_event *made;
    CU_TRY(sg_enter(&context));
    CUresult rc = sg_event_open_file(context, fd, &made);
    if (rc == CUDA_SUCCESS) {
        *event = (CUevent)(uintptr_t)made->handle;
    }
    return sg_leave(rc);
}
