/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous memory operations. Calls without Async in their names may return before they are
 * complete if they write device memory only, unless the memory has the attribute SYNC_MEMOPS or
 * the context has the flag. Calls with Async are not affected. */
#include "front/memory/sync_memops.h"

#include <string.h>

#include "front/front.h"
#include "front/memory/pointer.h"

CUresult front_settle(CUresult rc, CUstream stream, CUdeviceptr to, CUdeviceptr from)
{
    bool settles = rc == CUDA_SUCCESS && ((to != 0 && front_host.settles(to, true)) ||
                                          (from != 0 && front_host.settles(from, false)));
    return settles ? cuStreamSynchronize(stream) : rc;
}

/* Waits for earlier calls that returned before they were complete, in both streams that they
 * use. Without a current context there are none. */
static CUresult pending(void)
{
    if (front_context_current() == NULL ||
        front_host.context_check(front_context_current()) != CUDA_SUCCESS) {
        return CUDA_SUCCESS;
    }
    CUresult rc = cuStreamSynchronize(CU_STREAM_LEGACY);
    return rc == CUDA_SUCCESS ? cuStreamSynchronize(CU_STREAM_PER_THREAD) : rc;
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr)
{
    struct front_pointer pointer;
    unsigned wish;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && (value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
                               !front_host.pointer(ptr, &pointer) || !pointer.device)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    memcpy(&wish, value, sizeof wish);
    rc = front_host.sync_memops(ptr, wish != 0);
    return rc == CUDA_SUCCESS && wish != 0 ? pending() : rc;
}
