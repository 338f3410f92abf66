/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions and stream callbacks. The library decides where and in which order they run
 * (front_host.host_call). */
#include "front/front.h"

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    const struct front_host_call call = {.function = fn, .data = userData};
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && fn == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.host_call(hStream, &call) : rc;
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                     unsigned int flags)
{
    const struct front_host_call call = {.callback = callback, .stream = hStream, .data = userData};
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && (callback == NULL || flags != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.host_call(hStream, &call) : rc;
}
