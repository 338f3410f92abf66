/* SPDX-License-Identifier: Apache-2.0 */
/* Linear copies. */
#include "client/copy/copy.h"

#include <string.h>

#include "api/calls.h"
#include "client/call/stream_call.h"
#include "client/conn/conn_list.h"
#include "client/memory/address.h"
#include "client/memory/mirror.h"
#include "client/memory/range_check.h"
#include "client/memory/sync_memops.h"
#include "client/transfer/pinned.h"
#include "client/transfer/transfer.h"

bool client_copy_host_side(const void *host)
{
    return host != NULL && client_memory_window((uint64_t)(uintptr_t)host) == NULL;
}

void client_copy_source(const void *from, uint64_t bytes)
{
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        client_conn_wait_range(conn, from, bytes, false);
    }
}

/* Enters and checks the stream. */
static CUresult copy_enter(struct client_call *call, CUstream stream, uint64_t bytes,
                           const void *host, uint64_t *wire)
{
    CU_TRY(client_call_enter_handle(call, API_OP_ga_copy_in));
    if (bytes != 0 && !client_copy_host_side(host)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return client_stream_check(call, stream, wire);
}

/* If `wait` is set the copy is over when this returns, and visible in the host's mirror, too. */
static CUresult device_to_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                                 bool wait)
{
    CUresult rc = cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
    return rc == CUDA_SUCCESS && wait ? cuStreamSynchronize(stream) : rc;
}

static CUresult host_to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream,
                               bool wait)
{
    struct client_call call;
    uint64_t wire, device = (uint64_t)(uintptr_t)from;
    if (client_mirror_translate(&device)) {
        return device_to_device(to, device, bytes, stream, wait);
    }
    CU_TRY(copy_enter(&call, stream, bytes, from, &wire));
    client_copy_source(from, bytes);
    if (client_conn_at_index(1) != NULL) {
        const struct front_box line = client_copy_line(to, true, device, false, bytes);
        if (client_copy_leaves(&call, &line)) {
            return client_copy_cross_node(&call, &line, wire);
        }
    }
    CU_TRY(client_range_check(&call, to, 1, bytes));
    CUresult rc = client_copy_from_host(&call, to, from, bytes, wire, wait);
    return rc == CUDA_SUCCESS && wait && bytes != 0 ? client_copy_defer(&call, wire) : rc;
}

static CUresult device_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream, bool wait)
{
    struct client_call call;
    uint64_t wire, device = (uint64_t)(uintptr_t)to, mark = client_mirrors_mark();
    if (client_mirror_translate(&device)) {
        return device_to_device(device, from, bytes, stream, wait);
    }
    CU_TRY(copy_enter(&call, stream, bytes, to, &wire));
    if (client_conn_at_index(1) != NULL) {
        const struct front_box line = client_copy_line(device, false, from, true, bytes);
        if (client_copy_leaves(&call, &line)) {
            return client_copy_cross_node(&call, &line, wire);
        }
    }
    CU_TRY(client_range_check(&call, from, 1, bytes));
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_copy_out(&call, to, from, bytes, wire, wait);
    bool waited = wait || (client_mirrors_some() && !client_host_pinned(to, bytes));
    return rc == CUDA_SUCCESS && waited ? client_mirrors_after(call.context, wire, mark) : rc;
}

static CUresult host_to_host(void *to, const void *from, size_t bytes, CUstream stream)
{
    struct client_call call;
    uint64_t wire;
    CUresult rc = client_call_enter_handle(&call, API_OP_ga_stream_synchronize);
    if (rc == CUDA_SUCCESS && bytes != 0 && (to == NULL || from == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, stream, &wire);
    }
    if (rc == CUDA_SUCCESS) {
        uint64_t mark = client_mirrors_mark();
        rc = client_stream_wait(&call, wire); /* what came before may write `from` */
        rc = rc == CUDA_SUCCESS ? client_mirrors_after(call.context, wire, mark) : rc;
    }
    if (rc == CUDA_SUCCESS && bytes != 0) {
        memmove(to, from, bytes);
    }
    return rc;
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return host_to_device(dstDevice, srcHost, ByteCount, NULL, true);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return host_to_device(dstDevice, srcHost, ByteCount, hStream, false);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return device_to_host(dstHost, srcDevice, ByteCount, NULL, true);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return device_to_host(dstHost, srcDevice, ByteCount, hStream, false);
}

/* Unified addressing: the addresses say what they are. */
static CUresult unified(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream, bool wait)
{
    bool from_device = client_memory_session(src) != NULL;
    bool to_device = client_memory_session(dst) != NULL;
    if (from_device && to_device) {
        return device_to_device(dst, src, bytes, stream,
                                wait && (client_settles(dst, true) || client_settles(src, false)));
    }
    if (to_device) {
        return host_to_device(dst, (const void *)(uintptr_t)src, bytes, stream, wait);
    }
    if (from_device) {
        return device_to_host((void *)(uintptr_t)dst, src, bytes, stream, wait);
    }
    return host_to_host((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes, stream);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return unified(dst, src, ByteCount, NULL, true);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return unified(dst, src, ByteCount, hStream, false);
}
