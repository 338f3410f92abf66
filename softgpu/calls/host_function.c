/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions in streams. */
#include "softgpu/calls/host_function.h"

#include "softgpu/calls/call.h"
#include "softgpu/stream/host_function.h"

CUresult sg_call_host_function(CUstream handle, const struct front_host_call *call)
{
    struct sg_stream *stream;
    CU_TRY(sg_enter_stream(handle, &stream));
    struct sg_item *made = sg_host_function_make(call);
    if (made == NULL) {
        return sg_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    sg_submit(stream, made);
    return sg_leave(CUDA_SUCCESS);
}
