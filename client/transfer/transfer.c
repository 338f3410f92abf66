/* SPDX-License-Identifier: Apache-2.0 */
/* No call keeps a reference to the program's memory after it has returned, except to pinned memory
 * that is copied into. */
#include "client/transfer/transfer.h"

#include "api/calls.h"
#include "client/call/bulk_open.h"
#include "client/call/copy_route.h"
#include "client/call/payload.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/transfer/copy_shared.h"
#include "client/transfer/pinned.h"

static CUresult piece_in(struct client_call *call, const struct ga_copy_in_args *args,
                         const void *from, struct conn_out_of_band *out_of_band)
{
    struct client_payload piece = {
        .at = from, .width = args->bytes, .pitch = args->bytes, .rows = 1};
    CU_TRY(client_payload_begin(call, &piece));
    ga_copy_in_args_write(&call->writer, args);
    return client_payload_post(call, &piece, out_of_band);
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
    struct conn_out_of_band out_of_band = {0};
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
        rc = piece_in(call, &args, at, &out_of_band);
        at += part;
        to += part;
        bytes -= part;
    }
    client_payload_wait(call, &out_of_band);
    return rc;
}

/* After a call that was waited for: the work of its stream is done, or all of the context's. */
static CUresult waited(const struct client_call *call, uint64_t stream, CUresult rc)
{
    if (rc == CUDA_SUCCESS && stream == 0 && !atomic_load(&call->context->nonblocking)) {
        client_context_quiet(call->context, call->sequence); /* it waits for all streams */
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
    CU_TRY(client_call_begin(call, ga_copy_out_args_bound(&args)));
    ga_copy_out_args_write(&call->writer, &args);
    if (!wait && pinned) {
        return client_call_post_expect(call, &want);
    }
    struct ga_reader reader;
    CUresult rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    return waited(call, stream, rc);
}
