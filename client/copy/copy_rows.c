/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows. Rows travel without gaps; the pitch stays where the memory is. */
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/bulk_open.h"
#include "client/call/payload.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/copy/copy.h"
#include "client/transfer/pinned.h"
#include "client/transfer/transfer.h"

static const uint8_t *host_row(const struct copy_side *side, uint64_t row)
{
    return (const uint8_t *)(uintptr_t)(side->at + row * side->pitch);
}

/* Sends `count` rows, which fit in one chunk. */
static CUresult send_rows(struct client_call *call, const struct copy_rows *rows, uint64_t first,
                          uint64_t count, struct conn_out_of_band *out_of_band)
{
    const struct ga_copy_in_2d_args args = {.dst = rows->to.at + first * rows->to.pitch,
                                            .pitch = rows->to.pitch,
                                            .width = rows->width,
                                            .rows = count,
                                            .stream = rows->stream};
    struct client_payload piece = {.at = host_row(&rows->from, first),
                                   .width = rows->width,
                                   .pitch = rows->from.pitch,
                                   .rows = count};
    CU_TRY(client_payload_begin(call, &piece));
    ga_copy_in_2d_args_write(&call->writer, &args);
    return client_payload_post(call, &piece, out_of_band);
}

static CUresult rows_in(struct client_call *call, const struct copy_rows *rows)
{
    struct conn_out_of_band out_of_band = {0};
    CUresult rc = CUDA_SUCCESS;
    if (rows->width > WIRE_CHUNK) {
        for (uint64_t row = 0; row < rows->count && rc == CUDA_SUCCESS; row++) {
            rc = client_copy_from_host(call, rows->to.at + row * rows->to.pitch,
                                       host_row(&rows->from, row), rows->width, rows->stream,
                                       rows->wait);
        }
        return rc;
    }
    client_bulk_prepare(call, rows->width * rows->count);
    call->op = API_OP_ga_copy_in_2d;
    uint64_t most = WIRE_CHUNK / rows->width;
    for (uint64_t row = 0; row < rows->count && rc == CUDA_SUCCESS; row += most) {
        uint64_t left = rows->count - row;
        rc = send_rows(call, rows, row, left < most ? left : most, &out_of_band);
    }
    client_payload_wait(call, &out_of_band);
    return rc;
}

static CUresult rows_out(struct client_call *call, const struct copy_rows *rows)
{
    struct ga_copy_out_2d_args args = {.src = rows->from.at,
                                       .pitch = rows->from.pitch,
                                       .width = rows->width,
                                       .rows = rows->count,
                                       .stream = rows->stream};
    uint8_t *to = (uint8_t *)(uintptr_t)rows->to.at;
    struct reply_action want = {.context = call->context->object.handle,
                                .to = to,
                                .bytes = rows->width * rows->count,
                                .width = rows->width,
                                .pitch = rows->to.pitch};
    uint64_t extent = (rows->count - 1) * rows->to.pitch + rows->width;
    client_bulk_prepare(call, rows->width * rows->count);
    call->op = API_OP_ga_copy_out_2d;
    CU_TRY(client_call_begin(call, ga_copy_out_2d_args_bound(&args)));
    ga_copy_out_2d_args_write(&call->writer, &args);
    if (!rows->wait && client_host_pinned(to, extent)) {
        return client_call_post_expect(call, &want);
    }
    struct ga_reader reader;
    CUresult rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    return rc;
}

static CUresult rows_inside(struct client_call *call, const struct copy_rows *rows)
{
    struct ga_copy_2d_args args = {.dst = rows->to.at,
                                   .dst_pitch = rows->to.pitch,
                                   .src = rows->from.at,
                                   .src_pitch = rows->from.pitch,
                                   .width = rows->width,
                                   .rows = rows->count,
                                   .stream = rows->stream};
    call->op = API_OP_ga_copy_2d;
    return client_post_ga_copy_2d(call, &args);
}

static CUresult rows_on_host(struct client_call *call, const struct copy_rows *rows)
{
    CUresult rc = client_stream_wait(call, rows->stream);
    for (uint64_t row = 0; row < rows->count && rc == CUDA_SUCCESS; row++) {
        memmove((uint8_t *)(uintptr_t)host_row(&rows->to, row), host_row(&rows->from, row),
                rows->width);
    }
    return rc;
}

CUresult client_copy_rows(struct client_call *call, const struct copy_rows *rows)
{
    bool contiguous = rows->from.pitch == rows->width && rows->to.pitch == rows->width;
    uint64_t bytes = rows->width * rows->count;
    if (rows->from.device && rows->to.device) {
        return rows_inside(call, rows);
    }
    if (rows->to.device) {
        client_copy_source(host_row(&rows->from, 0),
                           (rows->count - 1) * rows->from.pitch + rows->width);
        return contiguous || rows->count == 1
                   ? client_copy_from_host(call, rows->to.at, host_row(&rows->from, 0), bytes,
                                           rows->stream, rows->wait)
                   : rows_in(call, rows);
    }
    if (rows->from.device) {
        return contiguous || rows->count == 1
                   ? client_copy_out(call, (void *)(uintptr_t)rows->to.at, rows->from.at, bytes,
                                     rows->stream, rows->wait)
                   : rows_out(call, rows);
    }
    return rows_on_host(call, rows);
}
