/* SPDX-License-Identifier: Apache-2.0 */
/* Linear copies. No call keeps a reference to the program's memory after it has returned, except to
 * pinned memory that is copied into. */
#include "client/copy/copy.h"

#include <string.h>

#include "api/calls.h"
#include "client/call/bulk_open.h"
#include "client/call/payload.h"
#include "client/call/stream_call.h"
#include "client/conn/conn_list.h"
#include "client/context/context.h"
#include "client/copy/shared_buffer.h"
#include "client/memory/address.h"
#include "client/memory/host_memory.h"
#include "client/memory/mirror.h"
#include "client/memory/range_check.h"
#include "client/memory/sync_memops.h"
#include "client/process/trace.h"
#include "client/session/session.h"

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

static CUresult piece_in(struct client_call *call, const struct ga_copy_in_args *args,
                         const void *from, struct conn_apart *apart)
{
    struct client_payload piece = {
        .at = from, .width = args->bytes, .pitch = args->bytes, .rows = 1};
    CUresult rc = client_payload_begin(call, sizeof *args, &piece);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    ga_copy_in_args_write(&call->writer, args);
    return client_payload_post(call, &piece, apart);
}

/* Routes of the program's memory itself. */
#define IN_PLACE (1u << CLIENT_ROUTE_SHARED | 1u << CLIENT_ROUTE_ONE_SIDED)

static bool is_in_place(enum client_copy_route route)
{
    return (IN_PLACE >> route & 1) != 0;
}

static CUresult copy_in_large(struct client_call *call, uint64_t to, const uint8_t *at,
                              uint64_t bytes, uint64_t stream)
{
    struct conn_apart apart = {0};
    CUresult rc = CUDA_SUCCESS;
    client_bulk_prepare(call, bytes);
    struct client_copy_facts facts = {
        .to_device = true, .can = client_copy_abilities(call->conn), .tried = IN_PLACE};
    while (bytes != 0 && rc == CUDA_SUCCESS) {
        uint64_t copied = 0;
        facts.bytes = bytes;
        if (client_copy_route(&facts) == CLIENT_ROUTE_BOUNCE) {
            rc = client_copy_slots_in(call, to, at, bytes, stream, &copied);
        }
        at += copied;
        to += copied;
        bytes -= copied;
        if (rc != CUDA_SUCCESS || bytes == 0) {
            break;
        }
        call->op = API_OP_ga_copy_in;
        uint64_t part = bytes < WIRE_CHUNK ? bytes : WIRE_CHUNK;
        const struct ga_copy_in_args args = {.dst = to, .bytes = part, .stream = stream};
        rc = piece_in(call, &args, at, &apart);
        at += part;
        to += part;
        bytes -= part;
    }
    client_payload_wait(call, &apart);
    return rc;
}

/* After a call that was waited for: the work of its stream is done, or all of the context's. */
static CUresult waited(const struct client_call *call, uint64_t stream, CUresult rc)
{
    if (rc == CUDA_SUCCESS && stream == 0 && !call->context->streamed) {
        client_context_quiet(call->context, call->sequence); /* there is no other stream */
    } else if (rc == CUDA_SUCCESS) {
        client_stream_waited(call, stream);
    }
    return rc;
}

CUresult client_copy_from_host(struct client_call *call, uint64_t to, const void *from,
                               uint64_t bytes, uint64_t stream, bool wait)
{
    struct client_buffer_place place;
    if (bytes < CLIENT_ROUTE_LARGE) {
        return client_copy_in(call, to, from, bytes, stream);
    }
    const struct client_copy_facts facts = {.to_device = true,
                                            .bytes = bytes,
                                            .pinned = client_host_pinned(from, bytes),
                                            .waits = wait,
                                            .can = client_copy_abilities(call->conn)};
    if (!is_in_place(client_copy_route(&facts)) ||
        !client_host_place(from, bytes, call->context, &place)) {
        return client_copy_in(call, to, from, bytes, stream);
    }
    CUresult rc =
        client_copy_shared(call, place, (void *)(uintptr_t)from, to, bytes, stream, true, wait);
    return wait ? waited(call, stream, rc) : rc;
}

CUresult client_copy_in(struct client_call *call, uint64_t to, const void *from, uint64_t bytes,
                        uint64_t stream)
{
    const struct ga_copy_in_args args = {.dst = to, .bytes = bytes, .stream = stream};
    if (bytes >= CLIENT_ROUTE_LARGE) {
        return copy_in_large(call, to, from, bytes, stream);
    }
    call->op = API_OP_ga_copy_in;
    return bytes != 0 ? piece_in(call, &args, from, NULL) : CUDA_SUCCESS;
}

CUresult client_copy_out(struct client_call *call, void *to, uint64_t from, uint64_t bytes,
                         uint64_t stream, bool wait)
{
    struct client_buffer_place place;
    bool pinned = client_host_pinned(to, bytes);
    struct client_copy_facts facts = {.bytes = bytes,
                                      .pinned = pinned,
                                      .waits = wait || !pinned,
                                      .can = client_copy_abilities(call->conn)};
    enum client_copy_route route = client_copy_route(&facts);
    if (is_in_place(route) && client_host_place(to, bytes, call->context, &place)) {
        CUresult rc = client_copy_shared(call, place, to, from, bytes, stream, false, wait);
        return wait ? waited(call, stream, rc) : rc;
    }
    if (is_in_place(route)) {
        facts.tried = IN_PLACE;
        route = client_copy_route(&facts);
    }
    uint64_t copied = 0;
    if (route == CLIENT_ROUTE_BOUNCE) {
        CUresult shared = client_copy_slots_out(call, to, from, bytes, stream, &copied);
        if (shared != CUDA_SUCCESS || copied == bytes) {
            return copied != 0 ? waited(call, stream, shared) : shared;
        }
        to = (uint8_t *)to + copied;
        from += copied;
        bytes -= copied;
    }
    struct ga_copy_out_args args = {.src = from, .bytes = bytes, .stream = stream};
    struct reply_action want = {.context = call->context->object.handle,
                                .to = to,
                                .bytes = bytes,
                                .width = bytes,
                                .pitch = bytes};
    client_bulk_prepare(call, bytes);
    call->op = API_OP_ga_copy_out;
    CUresult rc = client_call_begin(call, ga_copy_out_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    ga_copy_out_args_write(&call->writer, &args);
    if (!wait && pinned) {
        return client_call_post_expect(call, &want);
    }
    struct ga_reader reader;
    rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    return waited(call, stream, rc);
}

/* Enters and checks the stream. */
static CUresult enter(struct client_call *call, CUstream stream, uint64_t bytes, const void *host,
                      uint64_t *wire)
{
    CUresult rc = client_call_enter_handle(call, API_OP_ga_copy_in);
    if (rc == CUDA_SUCCESS && bytes != 0 && !client_copy_host_side(host)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(call, stream, wire);
    }
    return rc;
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
    CUresult rc = enter(&call, stream, bytes, from, &wire);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    client_copy_source(from, bytes);
    if (client_conn_at_index(1) != NULL) {
        const struct front_box line = client_copy_line(to, true, device, false, bytes);
        if (client_copy_leaves(&call, &line)) {
            return client_copy_cross_node(&call, &line, wire);
        }
    }
    rc = client_range_check(&call, to, 1, bytes);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = client_copy_from_host(&call, to, from, bytes, wire, wait);
    return rc == CUDA_SUCCESS && wait && bytes != 0 ? client_copy_defer(&call, wire) : rc;
}

static CUresult device_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream, bool wait)
{
    struct client_call call;
    uint64_t wire, device = (uint64_t)(uintptr_t)to, mark = client_mirrors_mark();
    if (client_mirror_translate(&device)) {
        return device_to_device(device, from, bytes, stream, wait);
    }
    CUresult rc = enter(&call, stream, bytes, to, &wire);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (client_conn_at_index(1) != NULL) {
        const struct front_box line = client_copy_line(device, false, from, true, bytes);
        if (client_copy_leaves(&call, &line)) {
            return client_copy_cross_node(&call, &line, wire);
        }
    }
    rc = client_range_check(&call, from, 1, bytes);
    if (rc != CUDA_SUCCESS || bytes == 0) {
        return rc;
    }
    rc = client_copy_out(&call, to, from, bytes, wire, wait);
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
