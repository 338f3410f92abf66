/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the host, which is the client, and the GPU, through pinned slots; and copies of
 * rows within the node. Bytes for the GPU go from the socket straight into a slot. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/range.h"
#include "api/server_dispatch.h"
#include "server/calls/copy.h"
#include "server/session/conn.h"

#define COPY_SMALL_BYTES 4096u
#define COPY_SMALL_RUN   16u /* one of so many is watched: what the driver holds has a bound */

/* After a fault it does not matter any more; otherwise the application cannot go on. */
void copy_unwatched(struct server_conn *conn, CUresult rc)
{
    server_check_fault(conn, rc);
    if (!server_is_fault(rc)) {
        server_fail(conn, "a copy cannot be watched");
    }
}

/* ---- to the GPU */

void copy_in_end(struct server_conn *conn, const struct wire_header *header,
                 struct staging_slot *slot, uint64_t stream, CUresult rc)
{
    struct completer_entry *entry = NULL;
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    } else {
        entry = completer_entry_make(&conn->completer, COMPLETER_SLOT, 0, 0);
        rc = entry != NULL ? stream_mark(conn, stream, &entry->event, &entry->base.lane)
                           : CUDA_ERROR_OUT_OF_MEMORY;
        if (rc != CUDA_SUCCESS) {
            completer_entry_free(&conn->completer, entry);
            copy_unwatched(conn, rc);
            return;
        }
    }
    if (entry == NULL) {
        staging_give(&conn->staging, slot);
        return;
    }
    entry->slot = slot;
    completer_add(&conn->completer, entry);
}

bool copy_bulk_take(struct server_conn *conn, const struct wire_header *header, size_t values,
                    uint64_t stream, uint64_t bytes, struct conn_room *room)
{
    room->slot = NULL;
    if (!bulk_fits(conn, header, values, bytes)) {
        return false;
    }
    CUresult rc = conn->current != NULL ? staging_make(&conn->staging, conn->current->session->real)
                                        : CUDA_ERROR_INVALID_CONTEXT;
    if (server_is_fault(rc)) {
        server_check_fault(conn, rc);
        rc = staging_make_ordinary(&conn->staging);
    }
    if (rc != CUDA_SUCCESS) {
        server_fail(conn, "no pinned memory, or a copy without a context");
        return false;
    }
    rc = conn_room(conn, stream, bytes, ROOM_IN, room);
    if (rc != CUDA_SUCCESS) {
        room->slot = NULL;
        if (atomic_load(&conn->ended)) {
            return false;
        }
        server_async_error(conn, header, rc);
        return bulk_drop(conn, values, bytes) == GA_OK;
    }
    enum ga_status status =
        bulk_take(conn, values, room->aside != NULL ? room->aside->data : room->at, bytes);
    if (status == GA_OK && room->aside != NULL) {
        overflow_put(&conn->staging, room->slot, room->aside);
    } else if (status != GA_OK) {
        conn_room_leave(conn, room);
    }
    return status == GA_OK;
}

static CUresult copy_in(struct server_conn *conn, const struct ga_copy_in_args *args,
                        const uint8_t *from)
{
    CUstream stream;
    CUresult rc = server_handle_stream(conn, args->stream, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = server_range_check(conn, args->dst, args->bytes);
    }
    return rc == CUDA_SUCCESS && args->bytes != 0
               ? conn->driver->cuMemcpyHtoDAsync_v2(args->dst, from, args->bytes, stream)
               : rc;
}

/* For small sources that are not pinned the driver copies the bytes before it returns, so no
 * staging slot has to be held. */
static bool copy_in_small(struct server_conn *conn, const struct wire_header *header, size_t values,
                          const struct ga_copy_in_args *args)
{
    uint8_t from[COPY_SMALL_BYTES];
    if (!bulk_fits(conn, header, values, args->bytes)) {
        return false;
    }
    if (conn->current == NULL) {
        server_fail(conn, "a copy without a context");
        return false;
    }
    if (bulk_take(conn, values, from, args->bytes) != GA_OK) {
        return false;
    }
    CUresult rc = copy_in(conn, args, from);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

bool server_call_ga_copy_in(struct server_conn *conn, const struct wire_header *header,
                            struct ga_reader *reader)
{
    const struct wire_header kept = *header;
    size_t values = reader->size;
    struct ga_copy_in_args args;
    ga_copy_in_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    if (args.bytes <= COPY_SMALL_BYTES && !conn->bulk.next.said &&
        ++conn->small_copies % COPY_SMALL_RUN != 0) {
        return copy_in_small(conn, &kept, values, &args);
    }
    struct conn_room room;
    bool good = copy_bulk_take(conn, &kept, values, args.stream, args.bytes, &room);
    if (good && room.slot != NULL) {
        copy_in_end(conn, &kept, room.slot, args.stream, copy_in(conn, &args, room.at));
    }
    return good;
}

bool server_call_ga_copy_in_2d(struct server_conn *conn, const struct wire_header *header,
                               struct ga_reader *reader)
{
    const struct wire_header kept = *header;
    size_t values = reader->size;
    struct ga_copy_in_2d_args args;
    ga_copy_in_2d_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct conn_room room;
    bool good = copy_bulk_take(conn, &kept, values, args.stream,
                               api_range_times(args.width, args.rows), &room);
    if (!good || room.slot == NULL) {
        return good;
    }
    CUstream stream;
    CUresult rc = server_handle_stream(conn, args.stream, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = server_range_check(conn, args.dst,
                                api_range_pitched(args.pitch, args.width, args.rows));
    }
    if (rc == CUDA_SUCCESS && args.width != 0 && args.rows != 0) {
        const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                    .srcHost = room.at,
                                    .srcPitch = args.width,
                                    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .dstDevice = args.dst,
                                    .dstPitch = args.pitch,
                                    .WidthInBytes = args.width,
                                    .Height = args.rows};
        rc = conn->driver->cuMemcpy2DAsync_v2(&copy, stream);
    }
    copy_in_end(conn, &kept, room.slot, args.stream, rc);
    return true;
}

/* ---- from the GPU */

static CUresult piece_start(const struct copy_out *copy, const struct copy_piece *piece, void *to,
                            uint32_t bytes)
{
    const struct cuda_driver *driver = copy->conn->driver;
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
    struct server_conn *conn = copy->conn;
    struct conn_room room;
    bool stores = copy->piece != NULL;
    CUresult rc =
        conn_room(conn, copy->stream_wire, piece->bytes, stores ? ROOM_STORE : ROOM_OUT, &room);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn->completer, stores ? COMPLETER_STORE : COMPLETER_DATA,
                             copy->header->session, copy->header->sequence);
    if (entry == NULL) {
        server_fail(conn, "no memory for a copy");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    rc = piece_start(copy, piece, room.at, room.bytes);
    if (rc == CUDA_SUCCESS) {
        rc = stream_mark(conn, copy->stream_wire, &entry->event, &entry->base.lane);
        if (rc != CUDA_SUCCESS) {
            completer_entry_free(&conn->completer, entry);
            copy_unwatched(conn, rc);
            return rc;
        }
    }
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        staging_give(&conn->staging, room.slot);
        return rc;
    }
    entry->slot = room.slot;
    entry->bulk = room.at;
    entry->piece = copy->piece;
    entry->offset = copy->piece_at + copy->sent;
    entry->bytes = room.bytes;
    copy->sent += room.bytes;
    entry->last = copy->sent == copy->total;
    completer_add(&conn->completer, entry);
    return CUDA_SUCCESS;
}

void copy_out_reply(struct copy_out *copy, CUresult rc)
{
    struct server_conn *conn = copy->conn;
    struct completer_entry *entry = completer_entry_make(
        &conn->completer, COMPLETER_REPLY, copy->header->session, copy->header->sequence);
    if (entry == NULL) {
        server_fail(conn, "no memory for a reply");
        return;
    }
    server_check_fault(conn, rc);
    entry->rc = rc;
    entry->piece = copy->piece;
    if (copy->sent != 0 &&
        stream_mark(conn, copy->stream_wire, &entry->event, &entry->base.lane) != CUDA_SUCCESS) {
        entry->event = NULL; /* a fault: all that is outstanding is told with it */
    }
    completer_add(&conn->completer, entry);
}

CUresult copy_out_begin(struct copy_out *copy)
{
    struct server_conn *conn = copy->conn;
    CUresult rc = server_handle_stream(conn, copy->stream_wire, &copy->stream);
    if (rc == CUDA_SUCCESS && conn->current == NULL) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    return rc == CUDA_SUCCESS ? staging_make(&conn->staging, conn->current->session->real) : rc;
}

static CUresult send_queue_begin(struct copy_out *copy, uint64_t src, uint64_t bytes)
{
    CUresult rc = copy_out_begin(copy);
    return rc == CUDA_SUCCESS ? server_range_check(copy->conn, src, bytes) : rc;
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

bool server_call_ga_copy_out(struct server_conn *conn, const struct wire_header *header,
                             struct ga_reader *reader)
{
    const struct wire_header kept = *header;
    struct ga_copy_out_args args;
    ga_copy_out_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct copy_out copy = {
        .conn = conn, .header = &kept, .stream_wire = args.stream, .total = args.bytes};
    CUresult rc = send_queue_begin(&copy, args.src, args.bytes);
    if (rc == CUDA_SUCCESS) {
        rc = copy_out_linear(&copy, args.src, args.bytes);
    }
    if ((rc != CUDA_SUCCESS || args.bytes == 0) && !atomic_load(&conn->ended)) {
        copy_out_reply(&copy, rc);
    }
    return true;
}

/* Rows that are longer than a slot go piece by piece, others several at once. */
static CUresult copy_out_rows(struct copy_out *copy, const struct ga_copy_out_2d_args *args)
{
    CUresult rc = CUDA_SUCCESS;
    if (args->width > WIRE_CHUNK) {
        for (uint64_t row = 0; row < args->rows && rc == CUDA_SUCCESS; row++) {
            rc = copy_out_linear(copy, args->src + row * args->pitch, args->width);
        }
        return rc;
    }
    uint64_t at_once = WIRE_CHUNK / args->width;
    for (uint64_t row = 0; row < args->rows && rc == CUDA_SUCCESS; row += at_once) {
        uint64_t left = args->rows - row;
        const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .srcDevice = args->src + row * args->pitch,
                                    .srcPitch = args->pitch,
                                    .dstMemoryType = CU_MEMORYTYPE_HOST,
                                    .dstPitch = args->width,
                                    .WidthInBytes = args->width,
                                    .Height = left < at_once ? left : at_once};
        const struct copy_piece piece = {.rows = &rows, .bytes = rows.Height * args->width};
        rc = copy_piece_submit(copy, &piece);
    }
    return rc;
}

bool server_call_ga_copy_out_2d(struct server_conn *conn, const struct wire_header *header,
                                struct ga_reader *reader)
{
    const struct wire_header kept = *header;
    struct ga_copy_out_2d_args args;
    ga_copy_out_2d_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct copy_out copy = {.conn = conn,
                            .header = &kept,
                            .stream_wire = args.stream,
                            .total = api_range_times(args.width, args.rows)};
    CUresult rc =
        send_queue_begin(&copy, args.src, api_range_pitched(args.pitch, args.width, args.rows));
    if (rc == CUDA_SUCCESS && args.rows > 1 && args.pitch < args.width) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && copy.total != 0) {
        rc = copy_out_rows(&copy, &args);
    }
    if ((rc != CUDA_SUCCESS || copy.total == 0) && !atomic_load(&conn->ended)) {
        copy_out_reply(&copy, rc);
    }
    return true;
}

/* ---- within the node */

static CUresult copy_2d(struct server_conn *conn, const struct ga_copy_2d_args *args)
{
    CUstream stream;
    CUresult rc = server_handle_stream(conn, args->stream, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = server_range_check(conn, args->dst,
                                api_range_pitched(args->dst_pitch, args->width, args->rows));
    }
    if (rc == CUDA_SUCCESS) {
        rc = server_range_check(conn, args->src,
                                api_range_pitched(args->src_pitch, args->width, args->rows));
    }
    if (rc != CUDA_SUCCESS || args->width == 0 || args->rows == 0) {
        return rc;
    }
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = args->src,
                                .srcPitch = args->src_pitch,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = args->dst,
                                .dstPitch = args->dst_pitch,
                                .WidthInBytes = args->width,
                                .Height = args->rows};
    return conn->driver->cuMemcpy2DAsync_v2(&copy, stream);
}

bool server_call_ga_copy_2d(struct server_conn *conn, const struct wire_header *header,
                            struct ga_reader *reader)
{
    struct ga_copy_2d_args args;
    ga_copy_2d_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = copy_2d(conn, &args);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}
