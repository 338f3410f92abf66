/* SPDX-License-Identifier: Apache-2.0 */
/* Linear copies between devices. A server copies between its own devices by itself; copies between
 * two servers are those of copy_cross_node.c. */
#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/copy/copy.h"
#include "client/memory/range_check.h"
#include "front/front.h"

/* Checks that the call's server reaches the bytes of both sides. */
static CUresult copy_device_inside(struct client_call *call, CUdeviceptr to, CUdeviceptr from,
                                   uint64_t bytes)
{
    CU_TRY(client_range_check(call, to, 1, bytes));
    return client_range_check(call, from, 1, bytes);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    struct client_call call;
    const struct cuMemcpyDtoD_v2_args args = {
        .dstDevice = dstDevice, .srcDevice = srcDevice, .ByteCount = ByteCount};
    const struct front_box line = client_copy_line(dstDevice, true, srcDevice, true, ByteCount);
    CUresult rc = client_call_enter(&call, API_OP_cuMemcpyDtoD_v2);
    if (rc == CUDA_SUCCESS && client_copy_leaves(&call, &line)) {
        return client_copy_cross_node(&call, &line, 0);
    }
    if (rc == CUDA_SUCCESS) {
        rc = copy_device_inside(&call, dstDevice, srcDevice, ByteCount);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_post_cuMemcpyDtoD_v2(&call, &args);
    }
    return front_settle(rc, NULL, dstDevice, srcDevice);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream)
{
    struct client_call call;
    struct cuMemcpyDtoDAsync_v2_args args = {
        .dstDevice = dstDevice, .srcDevice = srcDevice, .ByteCount = ByteCount};
    const struct front_box line = client_copy_line(dstDevice, true, srcDevice, true, ByteCount);
    CU_TRY(client_call_enter_handle(&call, API_OP_cuMemcpyDtoDAsync_v2));
    CU_TRY(client_stream_check(&call, hStream, &args.hStream));
    if (client_copy_leaves(&call, &line)) {
        return client_copy_cross_node(&call, &line, args.hStream);
    }
    CU_TRY(copy_device_inside(&call, dstDevice, srcDevice, ByteCount));
    return client_post_cuMemcpyDtoDAsync_v2(&call, &args);
}

static bool far(const struct client_call *call, CUcontext handle)
{
    struct client_context *context;
    return client_context_find(handle, &context) != CUDA_SUCCESS ||
           client_session_conn(context->session) != call->conn;
}

/* The driver checks the contexts of a copy that stays on one server. For other copies they add
 * nothing to the addresses. */
static CUresult peers(struct client_call *call, CUcontext to, CUcontext from, uint64_t wire[2])
{
    CUresult rc = client_copy_contexts(to, from);
    if (rc == CUDA_SUCCESS && !far(call, to) && !far(call, from)) {
        rc = client_context_check(call, to, &wire[0]);
        return rc == CUDA_SUCCESS ? client_context_check(call, from, &wire[1]) : rc;
    }
    wire[0] = wire[1] = call->context->object.handle;
    return rc;
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount)
{
    struct client_call call;
    uint64_t wire[2];
    const struct front_box line = client_copy_line(dstDevice, true, srcDevice, true, ByteCount);
    CU_TRY(client_call_enter(&call, API_OP_cuMemcpyPeer));
    CU_TRY(peers(&call, dstContext, srcContext, wire));
    if (client_copy_leaves(&call, &line)) {
        return client_copy_cross_node(&call, &line, 0);
    }
    CU_TRY(copy_device_inside(&call, dstDevice, srcDevice, ByteCount));
    const struct cuMemcpyPeer_args args = {.dstDevice = dstDevice,
                                           .dstContext = wire[0],
                                           .srcDevice = srcDevice,
                                           .srcContext = wire[1],
                                           .ByteCount = ByteCount};
    CUresult rc = client_post_cuMemcpyPeer(&call, &args);
    return front_settle(rc, NULL, dstDevice, srcDevice);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream)
{
    struct client_call call;
    uint64_t wire[2], stream;
    const struct front_box line = client_copy_line(dstDevice, true, srcDevice, true, ByteCount);
    CU_TRY(client_call_enter(&call, API_OP_cuMemcpyPeerAsync));
    CU_TRY(client_stream_check(&call, hStream, &stream));
    CU_TRY(peers(&call, dstContext, srcContext, wire));
    if (client_copy_leaves(&call, &line)) {
        return client_copy_cross_node(&call, &line, stream);
    }
    CU_TRY(copy_device_inside(&call, dstDevice, srcDevice, ByteCount));
    const struct cuMemcpyPeerAsync_args args = {.dstDevice = dstDevice,
                                                .dstContext = wire[0],
                                                .srcDevice = srcDevice,
                                                .srcContext = wire[1],
                                                .ByteCount = ByteCount,
                                                .hStream = stream};
    return client_post_cuMemcpyPeerAsync(&call, &args);
}
