/* SPDX-License-Identifier: Apache-2.0 */
/* Entering and leaving calls, and the objects that handles name. */
#include "softgpu/calls/call.h"

#include "base/failpoint.h"
#include "front/front.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/shared_events.h"
#include "softgpu/stream/streams.h"

/* After an execution fault every call makes the output due that kernels have printed before it.
 * With the lock. */
static void call_print_all(void)
{
    uint32_t index = 0;
    uint64_t handle;
    const struct sg_context *context;
    while ((context = ga_handle_table_next(&sg_process.contexts, &index, &handle)) != NULL) {
        sg_print_due(context->print);
    }
}

/* Condemnation is checked under the lock: failed work is marked as done together with its fault,
 * and a call must see both or neither. */
static CUresult call_enter(CUresult rc)
{
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    (void)GA_FAILPOINT("softgpu: before the lock");
    sg_lock();
    rc = sg_process_state();
    if (rc != CUDA_SUCCESS) {
        call_print_all();
        return sg_leave(rc);
    }
    return CUDA_SUCCESS;
}

CUresult sg_enter_process(void)
{
    return call_enter(front_ready());
}

CUresult sg_enter_teardown(void)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        sg_lock();
    }
    return rc;
}

CUresult sg_enter(struct sg_context **context)
{
    CUcontext current = NULL;
    CUresult rc = front_context_need(&current);
    rc = call_enter(rc);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_context *found = sg_context_find(current);
    if (found == NULL || !found->alive) {
        return sg_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    *context = found;
    return CUDA_SUCCESS;
}

CUresult sg_call_stream(struct sg_context *context, CUstream handle, struct sg_stream **stream)
{
    bool legacy = handle == NULL || handle == CU_STREAM_LEGACY;
    if (legacy || handle == CU_STREAM_PER_THREAD) {
        struct sg_green *green = sg_green_current(context);
        if (!legacy) {
            return sg_stream_of_thread(context, green, stream);
        }
        *stream = green != NULL ? green->legacy : context->legacy;
        return CUDA_SUCCESS;
    }
    struct sg_stream *found =
        ga_handle_table_find(&sg_process.streams, (uint64_t)(uintptr_t)handle);
    if (found == NULL || !found->context->alive) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (found->green != NULL && found->green->dead) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *stream = found;
    return CUDA_SUCCESS;
}

CUresult sg_enter_stream(CUstream handle, struct sg_stream **stream)
{
    struct sg_context *context = NULL;
    bool is_name = handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    CUresult rc = is_name ? sg_enter(&context) : sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_stream(context, handle, stream);
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

CUresult sg_call_event(CUevent handle, struct sg_event **event)
{
    struct sg_event *found = ga_handle_table_find(&sg_process.events, (uint64_t)(uintptr_t)handle);
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    sg_event_refresh(found);
    *event = found;
    return CUDA_SUCCESS;
}

CUresult sg_call_device(CUdevice ordinal, struct sg_device **device)
{
    *device = sg_device_at(ordinal);
    return *device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
