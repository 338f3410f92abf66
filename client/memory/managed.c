/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory: mirrors (mirror.h) as CUDA offers them. */
#include "client/memory/managed.h"

#include "api/calls.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/memory/mirror.h"
#include "front/front.h"

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct client_context *context;
    struct client_mirror *mirror;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (dptr == NULL || bytesize == 0 ||
                               (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_mirror_make(context, 0, bytesize, flags, &mirror);
    }
    if (rc == CUDA_SUCCESS) {
        *dptr = mirror->host;
    }
    return rc;
}

/* To the device: what the program has changed goes now. To the host everything comes when the
 * program waits. */
CUresult client_managed_move(CUstream stream, uint64_t start, uint64_t bytes, bool device)
{
    struct client_call call;
    uint64_t wire;
    (void)start, (void)bytes;
    CUresult rc = client_call_enter_handle(&call, API_OP_ga_copy_in);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, stream, &wire);
    }
    return rc == CUDA_SUCCESS && device ? client_mirrors_send(call.context) : rc;
}

CUresult client_managed_attach(CUstream stream, uint64_t start, unsigned flags)
{
    struct client_call call;
    uint64_t wire;
    CU_TRY(client_call_enter_handle(&call, API_OP_ga_copy_in));
    CU_TRY(client_stream_check(&call, stream, &wire));
    client_mirror_attach(start, flags == CU_MEM_ATTACH_SINGLE ? wire
                                : flags == CU_MEM_ATTACH_HOST ? MIRROR_HOST_ONLY
                                                              : 0);
    return CUDA_SUCCESS;
}
