/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the GPU and memory that this machine's network card reaches at the client. Their
 * bytes lie in staging slots in between, which the card and the driver read and write: no processor
 * touches them. Note: bytes for the client are stored in order with the answer and need no wait;
 * those from it are fetched here, by the submit thread, several at a time, and submitted in their
 * order. */
#include "server/calls/rdma_copy.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/calls/copy.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"

#define FETCHES_MAX 8u /* of a copy, on their way: the wire stays busy */

CUresult rdma_copy_prepare(struct server_app *app, CUdevice device)
{
    const struct transport_one_sided *reach = conn_of(app)->transport.ops->one_sided;
    size_t bytes;
    if (reach == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (conn_of(app)->unlent) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CU_TRY(staging_make(&conn_of(app)->staging, device));
    if (conn_of(app)->out.lent.state != NULL) {
        return CUDA_SUCCESS;
    }
    void *memory = staging_memory(&conn_of(app)->staging, &bytes);
    enum ga_status status = reach->share(&conn_of(app)->transport, memory, bytes, TRANSPORT_OWN,
                                         &conn_of(app)->out.lent);
    conn_of(app)->unlent = status == GA_NO_MEMORY;
    if (conn_of(app)->unlent) {
        ga_warn("%zu MiB of memory cannot be registered with the network card: %s; copies go "
                "through the connection (is `ulimit -l`, the limit of locked memory, large "
                "enough?)",
                bytes >> 20, strerror(errno));
    }
    return status == GA_OK          ? CUDA_SUCCESS
           : status == GA_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_INVALID_VALUE;
}

/* ---- to the GPU */

struct fetch {
    struct conn_room room;
    uint8_t *at;     /* where the card puts them */
    uint64_t number; /* among those of the connection, from 1 */
    uint64_t offset; /* in the copy */
    uint32_t bytes;
};

struct fetches {
    struct server_app *app;
    const struct ga_shared_buffer_in_args *args;
    const struct shared_buffer *piece;
    CUstream stream;
    struct fetch some[FETCHES_MAX];
    unsigned begun, ended;
    uint64_t asked; /* bytes of all that have begun */
};

/* For one fetch at a time, whose bytes go on into the overflow, which the card does not know. */
static bool scratch_lend(struct server_app *app)
{
    uint8_t *memory = conn_scratch(conn_of(app));
    return conn_of(app)->scratch_lent.state != NULL ||
           (memory != NULL && conn_of(app)->transport.ops->one_sided->share(
                                  &conn_of(app)->transport, memory, WIRE_CHUNK, TRANSPORT_OWN,
                                  &conn_of(app)->scratch_lent) == GA_OK);
}

/* A copy that holds slots never waits for more, because its own may be the last ones. GA_AGAIN:
 * there is none. */
static enum ga_status room_for(struct fetches *fetches, struct fetch *fetch, CUresult *rc)
{
    struct server_app *app = fetches->app;
    if (fetches->begun != fetches->ended) {
        fetch->room.slot = staging_try(&conn_of(app)->staging);
        fetch->room.at = fetch->room.slot != NULL ? fetch->room.slot->bytes : NULL;
        fetch->at = fetch->room.at;
        return fetch->room.slot != NULL ? GA_OK : GA_AGAIN;
    }
    *rc = conn_room(conn_of(app), fetches->args->stream, fetch->bytes, ROOM_IN, &fetch->room);
    if (*rc == CUDA_SUCCESS && fetch->room.slot->of != NULL && !scratch_lend(app)) {
        *rc = CUDA_ERROR_OUT_OF_MEMORY;
        conn_room_leave(conn_of(app), &fetch->room);
    }
    if (*rc != CUDA_SUCCESS) {
        return atomic_load(&conn_of(app)->ended) ? GA_LOST : GA_AGAIN;
    }
    fetch->at = fetch->room.slot->of != NULL ? conn_of(app)->scratch : fetch->room.at;
    return GA_OK;
}

/* GA_AGAIN: not before one that is on its way has ended; or `rc`. GA_LOST. */
static enum ga_status fetch_begin(struct fetches *fetches, CUresult *rc)
{
    struct server_app *app = fetches->app;
    uint64_t left = fetches->args->bytes - fetches->asked;
    struct fetch fetch = {.offset = fetches->asked,
                          .bytes = (uint32_t)(left < WIRE_CHUNK ? left : WIRE_CHUNK)};
    if (fetches->begun - fetches->ended == FETCHES_MAX) {
        return GA_AGAIN;
    }
    GA_TRY(room_for(fetches, &fetch, rc));
    bool lands = fetch.room.slot->of != NULL;
    const struct transport_one_sided_copy copy = {
        .own = lands ? &conn_of(app)->scratch_lent : &conn_of(app)->out.lent,
        .here = fetch.at,
        .there = fetches->piece->address + fetches->args->offset + fetch.offset,
        .key = fetches->piece->key,
        .bytes = fetch.bytes};
    if (conn_of(app)->transport.ops->one_sided->fetch(&conn_of(app)->transport, &copy) != GA_OK) {
        conn_room_leave(conn_of(app), &fetch.room);
        return GA_LOST;
    }
    fetch.number = ++conn_of(app)->fetches;
    fetches->some[fetches->begun++ % FETCHES_MAX] = fetch;
    fetches->asked += fetch.bytes;
    return GA_OK;
}

/* Until as many have ended ever. The other end's processor takes no part, so they come soon. */
static enum ga_status fetched_wait(struct server_app *app, uint64_t number)
{
    uint64_t count, until = ga_clock_ns() + GA_SPIN_NS;
    for (unsigned looks = 0; !atomic_load(&conn_of(app)->ended);) {
        GA_TRY(conn_of(app)->transport.ops->one_sided->fetched(&conn_of(app)->transport, &count));
        if (count >= number) {
            return GA_OK;
        }
        if (++looks % GA_SPIN_LOOKS != 0 || ga_clock_ns() < until) {
            ga_spin_look();
            continue;
        }
        conn_flush(conn_of(app));
        conn_poll(conn_of(app), &conn_of(app)->transport, POLLPRI);
    }
    return GA_LOST;
}

/* The oldest is here: it goes into the GPU if those before it have (`rc`). */
static enum ga_status fetch_end(struct fetches *fetches, CUresult *rc)
{
    struct server_app *app = fetches->app;
    const struct ga_shared_buffer_in_args *args = fetches->args;
    const struct fetch *fetch = &fetches->some[fetches->ended % FETCHES_MAX];
    GA_TRY(fetched_wait(app, fetch->number));
    fetches->ended++;
    ledger_moved(app->ledger, FIGURE_RDMA_IN, fetch->bytes);
    rate_look_soon(&app->rates);
    const struct conn_room *room = &fetch->room;
    uint8_t *to = room->aside != NULL ? room->aside->data : room->at;
    if (fetch->at != to) {
        memcpy(to, fetch->at, fetch->bytes);
    }
    if (room->aside != NULL) {
        overflow_put(&conn_of(app)->staging, room->slot, room->aside);
    }
    if (*rc == CUDA_SUCCESS) {
        GA_TRY(gate_enter_part(app, API_ENGINE_H2D, args->stream, fetch->offset));
        meter_work(&app->meter, app, API_ENGINE_H2D, args->stream);
        *rc = app->driver->cuMemcpyHtoDAsync_v2(args->dst + fetch->offset, room->at, fetch->bytes,
                                                fetches->stream);
        meter_copied(app, API_ENGINE_H2D, args->stream, fetch->bytes);
    }
    if (*rc == CUDA_SUCCESS) {
        (void)copy_in_end(app, room->slot, args->stream, CUDA_SUCCESS);
    } else {
        staging_give(&conn_of(app)->staging, room->slot);
    }
    return atomic_load(&conn_of(app)->ended) ? GA_LOST : GA_OK;
}

CUresult rdma_copy_in(struct server_app *app, const struct ga_shared_buffer_in_args *args,
                      const struct shared_buffer *piece, CUstream stream)
{
    struct fetches fetches = {.app = app, .args = args, .piece = piece, .stream = stream};
    CUresult rc = CUDA_SUCCESS;
    enum ga_status status = GA_OK;
    while (status != GA_LOST && ((rc == CUDA_SUCCESS && fetches.asked < args->bytes) ||
                                 fetches.begun != fetches.ended)) {
        bool more = rc == CUDA_SUCCESS && fetches.asked < args->bytes;
        status = more ? fetch_begin(&fetches, &rc) : GA_AGAIN;
        if (status == GA_AGAIN && fetches.begun != fetches.ended) {
            status = fetch_end(&fetches, &rc);
        }
    }
    if (status == GA_LOST && !atomic_load(&conn_of(app)->ended)) {
        conn_end(
            conn_of(app)); /* the card may still write into the slots: nobody gets them any more */
    }
    return rc;
}

/* ---- from the GPU */

CUresult rdma_copy_out(struct server_app *app, const struct ga_shared_buffer_out_args *args,
                       struct shared_buffer *piece, CUstream stream)
{
    struct copy_out copy = {.app = app,
                            .stream_wire = args->stream,
                            .stream = stream,
                            .total = args->bytes,
                            .piece = piece,
                            .piece_at = args->offset};
    return copy_out_end(&copy, copy_out_linear(&copy, args->src, args->bytes));
}
