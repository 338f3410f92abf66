/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the host, which is the client, and the GPU, through pinned slots; and copies of
 * rows within the node. Bytes for the GPU go from the socket straight into a slot. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/range.h"
#include "api/server_dispatch.h"
#include "server/app/fault.h"
#include "server/calls/copy.h"
#include "server/calls/memory.h"
#include "server/charge/primary.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/conn/reply.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"
#include "server/objects/driver_events.h"
#include "server/objects/handles.h"

#define COPY_SMALL_BYTES 4096u
#define COPY_SMALL_RUN   16u /* one of so many is watched: what the driver holds has a bound */

/* After a fault it does not matter any more; otherwise the application cannot go on. */
void copy_unwatched(struct server_app *app, CUresult rc)
{
    server_check_fault(app, rc);
    if (!server_is_fault(rc)) {
        server_fail(app, "a copy cannot be watched");
    }
}

/* ---- to the GPU */

CUresult copy_in_end(struct server_app *app, struct staging_slot *slot, uint64_t stream,
                     CUresult rc)
{
    if (rc != CUDA_SUCCESS) {
        staging_give(&conn_of(app)->staging, slot);
        return rc;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn_of(app)->completer, COMPLETER_SLOT, 0, 0);
    CUresult mark = entry != NULL ? stream_mark(app, stream, &entry->event, &entry->base.lane)
                                  : CUDA_ERROR_OUT_OF_MEMORY;
    if (mark != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        copy_unwatched(app, mark);
        return CUDA_SUCCESS;
    }
    entry->slot = slot;
    completer_add(&conn_of(app)->completer, entry);
    return CUDA_SUCCESS;
}

/* The slots are pinned in the GPU's primary context, which may be one more than the tenant may
 * have. */
static CUresult slots_need(struct server_app *app, enum api_engine engine, uint64_t stream)
{
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const struct server_session *session = app->current->session;
    CUresult rc = staging_make(&conn_of(app)->staging, session->real);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY && app->ledger->quota != NULL &&
        !primary_is_held(app->ledger, session->real) && memory_recall(app, session)) {
        rc = gate_enter_again(app, engine, stream) == GA_OK
                 ? staging_make(&conn_of(app)->staging, session->real)
                 : CUDA_ERROR_UNKNOWN;
    }
    return rc;
}

CUresult copy_bulk_take(struct server_app *app, uint64_t stream, uint64_t bytes,
                        struct conn_room *room)
{
    if (!bulk_fits(conn_of(app), bytes)) {
        return SERVER_BROKEN;
    }
    CUresult rc = slots_need(app, API_ENGINE_H2D, stream);
    if (server_is_fault(rc)) {
        server_check_fault(app, rc);
        rc = staging_make_ordinary(&conn_of(app)->staging);
    }
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        return bulk_drop(conn_of(app), bytes) == GA_OK ? rc : SERVER_BROKEN;
    }
    if (rc != CUDA_SUCCESS) {
        server_fail(app, "no pinned memory, or a copy without a context");
        return SERVER_BROKEN;
    }
    rc = conn_room(conn_of(app), stream, bytes, ROOM_IN, room);
    if (rc != CUDA_SUCCESS) {
        bool dropped =
            !atomic_load(&conn_of(app)->ended) && bulk_drop(conn_of(app), bytes) == GA_OK;
        return dropped ? rc : SERVER_BROKEN;
    }
    enum ga_status status =
        bulk_take(conn_of(app), room->aside != NULL ? room->aside->data : room->at, bytes);
    if (status != GA_OK) {
        conn_room_leave(conn_of(app), room);
        return SERVER_BROKEN;
    }
    if (room->aside != NULL) {
        overflow_put(&conn_of(app)->staging, room->slot, room->aside);
    }
    return CUDA_SUCCESS;
}

static CUresult copy_in(struct server_app *app, const struct ga_copy_in_args *args,
                        const uint8_t *from)
{
    CUstream stream;
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    CU_TRY(server_range_check(app, args->dst, args->bytes));
    if (args->bytes == 0) {
        return CUDA_SUCCESS;
    }
    meter_work(&app->meter, app, API_ENGINE_H2D, args->stream);
    CUresult rc = app->driver->cuMemcpyHtoDAsync_v2(args->dst, from, args->bytes, stream);
    meter_copied(app, API_ENGINE_H2D, args->stream, args->bytes);
    return rc;
}

/* For small sources that are not pinned the driver copies the bytes before it returns, so no
 * staging slot has to be held. */
static CUresult copy_in_small(struct server_app *app, const struct ga_copy_in_args *args)
{
    uint8_t from[COPY_SMALL_BYTES];
    if (!bulk_fits(conn_of(app), args->bytes)) {
        return SERVER_BROKEN;
    }
    if (app->current == NULL) {
        server_fail(app, "a copy without a context");
        return SERVER_BROKEN;
    }
    return bulk_take(conn_of(app), from, args->bytes) == GA_OK ? copy_in(app, args, from)
                                                               : SERVER_BROKEN;
}

CUresult server_do_ga_copy_in(struct server_app *app, const struct ga_copy_in_args *args)
{
    struct conn_room room;
    if (args->bytes <= COPY_SMALL_BYTES && !conn_of(app)->bulk.next.said &&
        ++conn_of(app)->small_copies % COPY_SMALL_RUN != 0) {
        return copy_in_small(app, args);
    }
    CU_TRY(copy_bulk_take(app, args->stream, args->bytes, &room));
    return copy_in_end(app, room.slot, args->stream, copy_in(app, args, room.at));
}

static CUresult copy_in_2d(struct server_app *app, const struct ga_copy_in_2d_args *args,
                           const uint8_t *from)
{
    CUstream stream;
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    CU_TRY(server_range_check(app, args->dst,
                              api_range_pitched(args->pitch, args->width, args->rows)));
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = from,
                                .srcPitch = args->width,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = args->dst,
                                .dstPitch = args->pitch,
                                .WidthInBytes = args->width,
                                .Height = args->rows};
    if (args->width == 0 || args->rows == 0) {
        return CUDA_SUCCESS;
    }
    meter_work(&app->meter, app, API_ENGINE_H2D, args->stream);
    CUresult rc = app->driver->cuMemcpy2DAsync_v2(&copy, stream);
    meter_copied(app, API_ENGINE_H2D, args->stream, args->width * args->rows);
    return rc;
}

CUresult server_do_ga_copy_in_2d(struct server_app *app, const struct ga_copy_in_2d_args *args)
{
    struct conn_room room;
    CU_TRY(copy_bulk_take(app, args->stream, api_range_times(args->width, args->rows), &room));
    return copy_in_end(app, room.slot, args->stream, copy_in_2d(app, args, room.at));
}

/* ---- from the GPU */

static CUresult piece_start(const struct copy_out *copy, const struct copy_piece *piece, void *to,
                            uint32_t bytes)
{
    const struct cuda_driver *driver = copy->app->driver;
    if (piece->rows != NULL) {
        CUDA_MEMCPY2D rows = *piece->rows;
        rows.dstHost = to;
        return driver->cuMemcpy2DAsync_v2(&rows, copy->stream);
    }
    if (piece->slice != NULL) {
        CUDA_MEMCPY3D slice = *piece->slice;
        slice.dstHost = to;
        return driver->cuMemcpy3DAsync_v2(&slice, copy->stream);
    }
    return driver->cuMemcpyDtoHAsync_v2(to, piece->src, bytes, copy->stream);
}

CUresult copy_piece_submit(struct copy_out *copy, const struct copy_piece *piece)
{
    struct server_app *app = copy->app;
    struct conn_room room;
    bool stores = copy->piece != NULL;
    if (gate_enter_part(app, API_ENGINE_D2H, copy->stream_wire, copy->sent) != GA_OK) {
        return CUDA_ERROR_UNKNOWN;
    }
    CU_TRY(conn_room(conn_of(app), copy->stream_wire, piece->bytes, stores ? ROOM_STORE : ROOM_OUT,
                     &room));
    struct completer_entry *entry =
        completer_entry_make(&conn_of(app)->completer, stores ? COMPLETER_STORE : COMPLETER_DATA,
                             app->call.header->session, app->call.header->sequence);
    if (entry == NULL) {
        server_fail(app, "no memory for a copy");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    meter_work(&app->meter, app, API_ENGINE_D2H, copy->stream_wire);
    CUresult rc = piece_start(copy, piece, room.at, room.bytes);
    meter_copied(app, API_ENGINE_D2H, copy->stream_wire, room.bytes);
    if (rc == CUDA_SUCCESS) {
        rc = stream_mark(app, copy->stream_wire, &entry->event, &entry->base.lane);
        if (rc != CUDA_SUCCESS) {
            completer_entry_free(&conn_of(app)->completer, entry);
            copy_unwatched(app, rc);
            return rc;
        }
    }
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        staging_give(&conn_of(app)->staging, room.slot);
        return rc;
    }
    entry->slot = room.slot;
    entry->bulk = room.at;
    entry->piece = copy->piece;
    entry->offset = copy->piece_at + copy->sent;
    entry->bytes = room.bytes;
    copy->sent += room.bytes;
    entry->last = copy->sent == copy->total;
    completer_add(&conn_of(app)->completer, entry);
    return CUDA_SUCCESS;
}

static void copy_out_reply(struct copy_out *copy, CUresult rc)
{
    struct server_app *app = copy->app;
    struct completer_entry *entry = server_entry_make(app, COMPLETER_REPLY);
    if (entry == NULL) {
        server_fail(app, "no memory for a reply");
        return;
    }
    server_check_fault(app, rc);
    entry->rc = rc;
    entry->piece = copy->piece;
    if (copy->sent != 0 &&
        stream_mark(app, copy->stream_wire, &entry->event, &entry->base.lane) != CUDA_SUCCESS) {
        entry->event = NULL; /* a fault: all that is outstanding is told with it */
    }
    completer_add(&conn_of(app)->completer, entry);
}

CUresult copy_out_end(struct copy_out *copy, CUresult rc)
{
    if ((rc != CUDA_SUCCESS || copy->total == 0) && !atomic_load(&conn_of(copy->app)->ended)) {
        copy_out_reply(copy, rc);
    }
    return SERVER_ANSWERED;
}

CUresult copy_out_begin(struct copy_out *copy)
{
    struct server_app *app = copy->app;
    CU_TRY(server_handle_stream(app, copy->stream_wire, &copy->stream));
    return slots_need(app, API_ENGINE_D2H, copy->stream_wire);
}

CUresult copy_out_linear(struct copy_out *copy, uint64_t src, uint64_t bytes)
{
    CUresult rc = CUDA_SUCCESS;
    uint64_t before = copy->sent, at;
    while ((at = copy->sent - before) < bytes && rc == CUDA_SUCCESS) {
        const struct copy_piece piece = {.src = src + at, .bytes = bytes - at};
        rc = copy_piece_submit(copy, &piece);
    }
    return rc;
}

static CUresult copy_out_memory(struct copy_out *copy, const struct ga_copy_out_args *args)
{
    CU_TRY(copy_out_begin(copy));
    CU_TRY(server_range_check(copy->app, args->src, args->bytes));
    return copy_out_linear(copy, args->src, args->bytes);
}

CUresult server_do_ga_copy_out(struct server_app *app, const struct ga_copy_out_args *args)
{
    struct copy_out copy = {.app = app, .stream_wire = args->stream, .total = args->bytes};
    return copy_out_end(&copy, copy_out_memory(&copy, args));
}

/* Rows that are longer than a slot go piece by piece, others several at once. */
static CUresult copy_out_rows(struct copy_out *copy, const struct ga_copy_out_2d_args *args)
{
    if (args->width > WIRE_CHUNK) {
        for (uint64_t row = 0; row < args->rows; row++) {
            CU_TRY(copy_out_linear(copy, args->src + row * args->pitch, args->width));
        }
        return CUDA_SUCCESS;
    }
    uint64_t at_once = WIRE_CHUNK / args->width;
    for (uint64_t row = 0; row < args->rows; row += at_once) {
        uint64_t left = args->rows - row;
        const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .srcDevice = args->src + row * args->pitch,
                                    .srcPitch = args->pitch,
                                    .dstMemoryType = CU_MEMORYTYPE_HOST,
                                    .dstPitch = args->width,
                                    .WidthInBytes = args->width,
                                    .Height = left < at_once ? left : at_once};
        const struct copy_piece piece = {.rows = &rows, .bytes = rows.Height * args->width};
        CU_TRY(copy_piece_submit(copy, &piece));
    }
    return CUDA_SUCCESS;
}

static CUresult copy_out_2d(struct copy_out *copy, const struct ga_copy_out_2d_args *args)
{
    CU_TRY(copy_out_begin(copy));
    CU_TRY(server_range_check(copy->app, args->src,
                              api_range_pitched(args->pitch, args->width, args->rows)));
    if (args->rows > 1 && args->pitch < args->width) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy->total != 0 ? copy_out_rows(copy, args) : CUDA_SUCCESS;
}

CUresult server_do_ga_copy_out_2d(struct server_app *app, const struct ga_copy_out_2d_args *args)
{
    struct copy_out copy = {
        .app = app, .stream_wire = args->stream, .total = api_range_times(args->width, args->rows)};
    return copy_out_end(&copy, copy_out_2d(&copy, args));
}

/* ---- within the node */

CUresult server_do_ga_copy_2d(struct server_app *app, const struct ga_copy_2d_args *args)
{
    CUstream stream;
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    if (args->width == 0 || args->rows == 0) {
        return CUDA_SUCCESS;
    }
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = args->src,
                                .srcPitch = args->src_pitch,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = args->dst,
                                .dstPitch = args->dst_pitch,
                                .WidthInBytes = args->width,
                                .Height = args->rows};
    return app->driver->cuMemcpy2DAsync_v2(&copy, stream);
}
