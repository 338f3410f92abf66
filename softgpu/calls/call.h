/* SPDX-License-Identifier: Apache-2.0 */
/* The first and the last step of every exported function. */
#ifndef SOFTGPU_CALLS_CALL_H
#define SOFTGPU_CALLS_CALL_H

#include "api/cuda_names.h"

#include "front/front.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"

struct sg_event;

/* Checks that the driver is initialised and not condemned, and takes the lock on CUDA_SUCCESS (only
 * then). */
CUresult sg_enter_process(void);

/* As sg_enter_process, and the current context, which is alive. */
CUresult sg_enter(struct sg_context **context);

/* As sg_enter_process, but also in a condemned process, for calls that free resources. */
CUresult sg_enter_teardown(void);

/* Releases the lock, then writes kernel output that is due: `return sg_leave(rc);`. */
static inline CUresult sg_leave(CUresult rc)
{
    sg_unlock();
    front_output_write();
    return rc;
}

/* The stream that the handle names in the current context: 0 and CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD, or one that was created. */
CUresult sg_call_stream(struct sg_context *context, CUstream handle, struct sg_stream **stream);

/* Enters and finds the stream; the lock is held on success. A stream that was created has its own
 * context, so none need be current. */
CUresult sg_enter_stream(CUstream handle, struct sg_stream **stream);

/* CUDA_ERROR_INVALID_HANDLE: it names no event. */
CUresult sg_call_event(CUevent handle, struct sg_event **event);

/* CUDA_ERROR_INVALID_DEVICE. */
CUresult sg_call_device(CUdevice ordinal, struct sg_device **device);

#endif
