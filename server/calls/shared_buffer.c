/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the GPU and memory that the application shares with this process. */
#include <stdlib.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/fault.h"
#include "server/calls/copy.h"
#include "server/calls/rdma_copy.h"
#include "server/conn/conn.h"
#include "server/conn/rate_wait.h"
#include "server/conn/reply.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"
#include "server/objects/driver_events.h"
#include "server/objects/handles.h"

CUresult server_do_ga_shared_buffer_open(struct server_app *app,
                                         const struct ga_shared_buffer_open_args *args)
{
    int fd;
    if (conn_of(app)->transport.ops->receive_fd == NULL ||
        conn_of(app)->transport.ops->receive_fd(&conn_of(app)->transport, &fd) != GA_OK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc =
        shared_buffer_open(&conn_of(app)->shared_buffers, app->driver, app->call.session->real,
                           args->piece, fd, args->bytes, args->inode);
    close(fd);
    return rc;
}

CUresult server_do_ga_shared_buffer_reach(struct server_app *app,
                                          const struct ga_shared_buffer_reach_args *args)
{
    CU_TRY(rdma_copy_prepare(app, app->call.session->real));
    return shared_buffer_reach(&conn_of(app)->shared_buffers, args->piece, args->bytes,
                               args->address, args->key);
}

static CUresult buffer_unpin(const struct cuda_driver *driver, uint64_t closed)
{
    return shared_buffer_unpin(driver, (const struct shared_buffer *)(uintptr_t)closed);
}

static void buffer_unpinned(struct server_app *app, struct completer_entry *entry)
{
    struct shared_buffer *closed = (struct shared_buffer *)(uintptr_t)entry->waits.object;
    shared_buffer_unpinned(&conn_of(app)->shared_buffers, app->driver, closed, entry->rc);
    server_check_fault(app, entry->rc);
    free(closed);
}

/* Memory that a copy uses must not be given up. It stays charged until the driver has let go of
 * it. */
CUresult server_do_ga_shared_buffer_close(struct server_app *app,
                                          const struct ga_shared_buffer_close_args *args)
{
    struct shared_buffer *closed = malloc(sizeof *closed);
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    CUresult rc = closed != NULL && entry != NULL
                      ? shared_buffer_close(&conn_of(app)->shared_buffers, args->piece, closed)
                      : CUDA_ERROR_OUT_OF_MEMORY; /* it stays until the end */
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        free(closed);
        return rc == CUDA_ERROR_ILLEGAL_STATE ? SERVER_BROKEN : rc;
    }
    entry->waits =
        (struct waiting_call){.make = buffer_unpin, .object = (uint64_t)(uintptr_t)closed};
    entry->job = buffer_unpinned;
    waiting_call_make(app, NULL, entry);
    return SERVER_ANSWERED;
}

/* The copy has been submitted, or `rc` says why not: the answer comes when the stream has got so
 * far. `waits`: somebody waits for it. */
static CUresult answer_after(struct server_app *app, uint64_t stream, bool waits,
                             struct shared_buffer *piece, CUresult rc)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_REPLY);
    if (entry == NULL) {
        server_fail(app, "no memory for a reply");
        return SERVER_ANSWERED; /* the piece stays in use: whatever writes there may go on */
    }
    if (rc == CUDA_SUCCESS) {
        rc = stream_mark(app, stream, &entry->event, &entry->base.lane);
        if (rc != CUDA_SUCCESS) {
            completer_entry_free(&conn_of(app)->completer, entry);
            copy_unwatched(app, rc);
            return SERVER_ANSWERED;
        }
    } else {
        server_check_fault(app, rc);
    }
    entry->piece = piece;
    entry->rc = rc;
    completer_add(&conn_of(app)->completer, entry);
    if (waits) {
        conn_flush(conn_of(app)); /* the calls behind it may take long */
    }
    return SERVER_ANSWERED;
}

static CUresult stream_and_range(struct server_app *app, uint64_t wire, uint64_t device,
                                 uint64_t bytes, CUstream *stream)
{
    CU_TRY(server_handle_stream(app, wire, stream));
    return app->current != NULL ? server_range_check(app, device, bytes)
                                : CUDA_ERROR_INVALID_CONTEXT;
}

/* Finds the bytes of a copy, which keeps its piece. */
static CUresult piece_keep(struct server_app *app, uint32_t number, uint64_t offset, uint64_t bytes,
                           struct shared_buffer **piece)
{
    *piece = shared_buffer_find(&conn_of(app)->shared_buffers, number, offset, bytes);
    if (*piece == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    shared_buffer_keep(*piece);
    return CUDA_SUCCESS;
}

static CUresult part_copy(struct server_app *app, enum api_engine engine, CUstream stream,
                          uint64_t device, uint8_t *shared, uint64_t bytes)
{
    const struct cuda_driver *driver = app->driver;
    return engine == API_ENGINE_H2D ? driver->cuMemcpyHtoDAsync_v2(device, shared, bytes, stream)
                                    : driver->cuMemcpyDtoHAsync_v2(shared, device, bytes, stream);
}

/* Part by part where others wait for the GPU. An error with conn->ended: the connection ends. */
static CUresult parts_copy(struct server_app *app, enum api_engine engine, uint64_t wire,
                           CUstream stream, uint64_t device, uint8_t *shared, uint64_t bytes)
{
    uint64_t most = app->gated ? GATE_PART_BYTES : bytes, part;
    for (uint64_t at = 0; at < bytes; at += part) {
        part = bytes - at < most ? bytes - at : most;
        bool waited = engine == API_ENGINE_D2H && rate_wait_out(conn_of(app));
        if ((waited ? gate_enter_again(app, engine, wire)
                    : gate_enter_part(app, engine, wire, at)) != GA_OK) {
            return CUDA_ERROR_UNKNOWN;
        }
        meter_work(&app->meter, app, engine, wire);
        CU_TRY(part_copy(app, engine, stream, device + at, shared + at, part));
        meter_copied(app, engine, wire, part);
        ledger_moved(app->ledger, engine == API_ENGINE_H2D ? FIGURE_SHARED_IN : FIGURE_SHARED_OUT,
                     part);
        rate_look_soon(&app->rates);
    }
    return CUDA_SUCCESS;
}

CUresult server_do_ga_shared_buffer_in(struct server_app *app,
                                       const struct ga_shared_buffer_in_args *args)
{
    CUstream stream;
    struct shared_buffer *piece = NULL;
    CUresult rc = stream_and_range(app, args->stream, args->dst, args->bytes, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = piece_keep(app, args->piece, args->offset, args->bytes, &piece);
    }
    if (rc == CUDA_SUCCESS && piece->memory == NULL) {
        rc = rdma_copy_in(app, args, piece, stream);
    } else if (rc == CUDA_SUCCESS) {
        rc = parts_copy(app, API_ENGINE_H2D, args->stream, stream, args->dst,
                        piece->memory + args->offset, args->bytes);
    }
    if (piece != NULL && atomic_load(&conn_of(app)->ended)) {
        return SERVER_BROKEN; /* the piece stays in use: a part of the copy may go on */
    }
    return answer_after(app, args->stream, args->waits != 0, piece, rc);
}

CUresult server_do_ga_shared_buffer_out(struct server_app *app,
                                        const struct ga_shared_buffer_out_args *args)
{
    CUstream stream;
    struct shared_buffer *piece = NULL;
    CUresult rc = stream_and_range(app, args->stream, args->src, args->bytes, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = piece_keep(app, args->piece, args->offset, args->bytes, &piece);
    }
    if (rc == CUDA_SUCCESS && piece->memory == NULL) {
        return rdma_copy_out(app, args, piece, stream);
    }
    if (rc == CUDA_SUCCESS) {
        rc = parts_copy(app, API_ENGINE_D2H, args->stream, stream, args->src,
                        piece->memory + args->offset, args->bytes);
    }
    if (piece != NULL && atomic_load(&conn_of(app)->ended)) {
        return SERVER_BROKEN;
    }
    return answer_after(app, args->stream, args->waits != 0, piece, rc);
}
