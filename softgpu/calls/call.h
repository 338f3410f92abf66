/* SPDX-License-Identifier: Apache-2.0 */
/* What every exported function does first and last. */
#ifndef SOFTGPU_CALLS_CALL_H
#define SOFTGPU_CALLS_CALL_H

#include "api/cuda_names.h"

#include "front/front.h"
#include "softgpu/module/print.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/queue.h"

/* Checks that the driver is initialised and not condemned, and takes the lock on CUDA_SUCCESS (only
 * then). */
CUresult sg_enter_process(void);
/* The same, and the current context, which is alive. */
CUresult sg_enter(struct sg_context **context);
/* The same as sg_enter_process, also in a condemned process: for what gives things back. */
CUresult sg_enter_teardown(void);

/* Releases the lock; `return sg_leave(rc);`. Prints what kernels have printed and is due. */
static inline CUresult sg_leave(CUresult rc)
{
    sg_unlock();
    front_output_write();
    return rc;
}

/* The stream that the handle means, as seen from the current context: 0 and CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD, or one that was created. */
CUresult sg_call_stream(struct sg_context *context, CUstream handle, struct sg_stream **stream);
/* Enters and finds the stream; the lock is held on success. A stream that was created brings its
 * context: none need be current. */
CUresult sg_enter_stream(CUstream handle, struct sg_stream **stream);
/* A stream with a handle, in a green context or (NULL) in none. */
CUresult sg_call_stream_make(struct sg_context *context, struct sg_green *green, unsigned flags,
                             int priority, CUstream *handle);
/* front_host.green_make and front_host.green_end. */
CUresult sg_call_green_make(struct front_green *front);
CUresult sg_call_green_end(const struct front_green *front);
/* front_host.host_call. */
CUresult sg_call_host_function(CUstream handle, const struct front_host_call *call);
/* front_host.stream_values. */
CUresult sg_call_stream_values(CUstream handle, const struct front_value *values, unsigned count);
/* CUDA_ERROR_INVALID_HANDLE: not an event. */
CUresult sg_call_event(CUevent handle, struct sg_event **event);
/* CUDA_ERROR_INVALID_DEVICE. */
CUresult sg_call_device(CUdevice ordinal, struct sg_device **device);

/* What is at the address, for front/; takes the lock itself. */
bool sg_call_pointer(uint64_t address, struct front_pointer *pointer);
CUresult sg_call_sync_memops(uint64_t address, bool on);
bool sg_call_settles(uint64_t address, bool written);
/* front_host.mempool. */
extern const struct front_mempool_host sg_call_mempool;
/* front_host.managed_move and front_host.managed_attach. */
CUresult sg_call_managed_move(CUstream handle, uint64_t start, uint64_t bytes, bool device);
CUresult sg_call_managed_attach(CUstream handle, uint64_t start, unsigned flags);
/* front_host.array and front_host.sampled. */
CUresult sg_call_array(uint64_t handle, bool mipmapped, struct front_array *array);
CUresult sg_call_sampled(uint64_t handle, bool surface, struct front_sampled *sampled);

#endif
