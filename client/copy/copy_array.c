/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of boxes with arrays, slice by slice: an array's rows are named by their place in it,
 * linear memory by addresses. Everything has been checked when the first bytes travel. */

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/bulk_open.h"
#include "client/call/payload.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/copy/copy.h"
#include "client/texture/array.h"
#include "client/transfer/pinned.h"

/* One side, at the slice that is being copied. */
struct end {
    bool device;               /* device memory; else the host's. Not for arrays */
    uint64_t array;            /* handle; 0: linear memory */
    uint64_t x, y, z;          /* of an array */
    uint64_t at, pitch, slice; /* of linear memory */
};

struct slices {
    struct end from, to;
    uint64_t width, rows;
    uint64_t stream;
    bool wait;
};

static CUresult array_end(struct client_call *call, const struct front_box *box,
                          const struct front_side *said, struct end *end)
{
    const struct client_array *array =
        client_object_find(GA_HANDLE_ARRAY, (uint64_t)(uintptr_t)said->array);
    CU_TRY(array != NULL ? front_array_holds(&array->front, box, said) : CUDA_ERROR_INVALID_VALUE);
    *end = (struct end){
        .array = array->object.handle, .device = true, .x = said->x, .y = said->y, .z = said->z};
    return client_session_conn(array->object.context->session) == call->conn
               ? CUDA_SUCCESS
               : client_call_between_nodes("a copy");
}

static CUresult end_of(struct client_call *call, const struct front_box *box,
                       const struct front_side *said, struct end *end)
{
    if (said->place == FRONT_ARRAY) {
        return array_end(call, box, said, end);
    }
    *end = (struct end){.at = said->start, .pitch = said->pitch, .slice = said->slice};
    return client_copy_side(call, box, said, &end->device);
}

CUresult client_copy_check(struct client_call *call, const struct front_box *box)
{
    struct end end;
    CUresult rc = box->width != 0 ? end_of(call, box, &box->from, &end) : CUDA_SUCCESS;
    return rc == CUDA_SUCCESS && box->width != 0 ? end_of(call, box, &box->to, &end) : rc;
}

/* ---- from the host */

static const uint8_t *host_at(const struct end *end, uint64_t x, uint64_t row)
{
    return (const uint8_t *)(uintptr_t)(end->at + row * end->pitch + x);
}

/* A part of a slice that fits in a chunk. */
static CUresult send_part(struct client_call *call, const struct slices *slices, uint64_t x,
                          uint64_t width, uint64_t first, uint64_t rows,
                          struct conn_out_of_band *out_of_band)
{
    const struct ga_copy_in_array_args args = {.array = slices->to.array,
                                               .x = slices->to.x + x,
                                               .y = slices->to.y + first,
                                               .z = slices->to.z,
                                               .width = width,
                                               .rows = rows,
                                               .stream = slices->stream};
    struct client_payload piece = {.at = host_at(&slices->from, x, first),
                                   .width = width,
                                   .pitch = slices->from.pitch,
                                   .rows = rows};
    CU_TRY(client_payload_begin(call, &piece));
    ga_copy_in_array_args_write(&call->writer, &args);
    return client_payload_post(call, &piece, out_of_band);
}

static CUresult slice_in(struct client_call *call, const struct slices *slices)
{
    struct conn_out_of_band out_of_band = {0};
    CUresult rc = CUDA_SUCCESS;
    uint64_t at_once = slices->width < WIRE_CHUNK ? WIRE_CHUNK / slices->width : 1;
    client_copy_source(host_at(&slices->from, 0, 0),
                       (slices->rows - 1) * slices->from.pitch + slices->width);
    client_bulk_prepare(call, slices->width * slices->rows);
    call->op = API_OP_ga_copy_in_array;
    for (uint64_t row = 0; row < slices->rows && rc == CUDA_SUCCESS; row += at_once) {
        uint64_t left = slices->rows - row, rows = left < at_once ? left : at_once;
        for (uint64_t x = 0; x < slices->width && rc == CUDA_SUCCESS; x += WIRE_CHUNK) {
            uint64_t more = slices->width - x, width = more < WIRE_CHUNK ? more : WIRE_CHUNK;
            rc = send_part(call, slices, x, width, row, rows, &out_of_band);
        }
    }
    client_payload_wait(call, &out_of_band);
    return rc;
}

/* ---- to the host */

/* Columns of a slice, as wide as a chunk at most. */
static CUresult columns_out(struct client_call *call, const struct slices *slices, uint64_t x,
                            uint64_t width)
{
    const struct ga_copy_out_array_args args = {.array = slices->from.array,
                                                .x = slices->from.x + x,
                                                .y = slices->from.y,
                                                .z = slices->from.z,
                                                .width = width,
                                                .rows = slices->rows,
                                                .stream = slices->stream};
    uint8_t *to = (uint8_t *)(uintptr_t)(slices->to.at + x);
    const struct reply_action want = {.context = call->context->object.handle,
                                      .to = to,
                                      .bytes = width * slices->rows,
                                      .width = width,
                                      .pitch = slices->to.pitch};
    uint64_t extent = (slices->rows - 1) * slices->to.pitch + width;
    client_bulk_prepare(call, width * slices->rows);
    call->op = API_OP_ga_copy_out_array;
    CU_TRY(client_call_begin(call, ga_copy_out_array_args_bound(&args)));
    ga_copy_out_array_args_write(&call->writer, &args);
    if (!slices->wait && client_host_pinned(to, extent)) {
        return client_call_post_expect(call, &want);
    }
    struct ga_reader reader;
    CUresult rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    return rc;
}

static CUresult slice_out(struct client_call *call, const struct slices *slices)
{
    CUresult rc = CUDA_SUCCESS;
    for (uint64_t x = 0; x < slices->width && rc == CUDA_SUCCESS; x += WIRE_CHUNK) {
        uint64_t more = slices->width - x;
        rc = columns_out(call, slices, x, more < WIRE_CHUNK ? more : WIRE_CHUNK);
    }
    return rc;
}

/* ---- within the node */

static CUresult slice_inside(struct client_call *call, const struct slices *slices)
{
    const struct end *from = &slices->from, *to = &slices->to;
    const struct ga_copy_array_args args = {.dst_array = to->array,
                                            .dst = to->at,
                                            .dst_pitch = to->pitch,
                                            .dst_at = {to->x, to->y, to->z},
                                            .src_array = from->array,
                                            .src = from->at,
                                            .src_pitch = from->pitch,
                                            .src_at = {from->x, from->y, from->z},
                                            .width = slices->width,
                                            .rows = slices->rows,
                                            .stream = slices->stream};
    call->op = API_OP_ga_copy_array;
    return client_post_ga_copy_array(call, &args);
}

/* To the next slice. */
static void end_next(struct end *end)
{
    end->at += end->slice;
    end->z += end->array != 0;
}

CUresult client_copy_array(struct client_call *call, const struct front_box *box, uint64_t stream,
                           bool wait)
{
    struct slices slices = {
        .width = box->width, .rows = box->height, .stream = stream, .wait = wait};
    CUresult rc = end_of(call, box, &box->from, &slices.from);
    if (rc == CUDA_SUCCESS) {
        rc = end_of(call, box, &box->to, &slices.to);
    }
    for (uint64_t z = 0; z < box->depth && rc == CUDA_SUCCESS; z++) {
        rc = !slices.from.device ? slice_in(call, &slices)
             : !slices.to.device ? slice_out(call, &slices)
                                 : slice_inside(call, &slices);
        end_next(&slices.from);
        end_next(&slices.to);
    }
    return rc;
}
