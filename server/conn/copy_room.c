/* SPDX-License-Identifier: Apache-2.0 */
/* Room for the bytes of copies. As a rule it is a staging slot, and a call that finds none waits
 * for one: the wire is faster than the GPU, or the other way round. But a stream may stand still
 * until the program makes a later call, and then the submit thread must read on: so when nothing
 * has gone on for a moment, its copies go by the overflow. */
#include "server/conn/copy_room.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/wire.h"
#include "base/clock.h"
#include "server/conn/conn.h"
#include "server/conn/rate_wait.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"
#include "server/objects/driver_events.h"
#include "server/objects/handles.h"

#define SMALL_BYTES 16384u              /* pieces up to this share staging slots */
#define STILL_NS    (10 * GA_NS_PER_MS) /* what takes longer is no matter of wire and GPU in turn */

uint8_t *conn_scratch(struct server_conn *conn)
{
    if (conn->scratch == NULL) {
        conn->scratch = aligned_alloc(16, WIRE_CHUNK);
    }
    return conn->scratch;
}

/* ---- staging slots, without waiting */

/* Many small copies behind a long kernel must not use up all slots: they share one. */
static struct staging_slot *copy_room_share(struct server_conn *conn, uint32_t bytes, uint8_t **at)
{
    struct staging *staging = &conn->staging;
    if (conn->shared != NULL && staging_leases(staging, conn->shared) == 1) {
        conn->shared_used = 0; /* nobody uses what was put there */
    }
    if (conn->shared != NULL && conn->shared_used + bytes > WIRE_CHUNK) {
        staging_give(staging, conn->shared);
        conn->shared = NULL;
    }
    if (conn->shared == NULL) {
        conn->shared = staging_try(&conn->staging);
        conn->shared_used = 0;
    }
    if (conn->shared != NULL) {
        staging_share(staging, conn->shared);
        *at = conn->shared->bytes + conn->shared_used;
        conn->shared_used += bytes;
    }
    return conn->shared;
}

static bool slot_find(struct server_conn *conn, uint64_t bytes, struct conn_room *room)
{
    uint32_t part = (uint32_t)(bytes < WIRE_CHUNK ? bytes : WIRE_CHUNK);
    *room = (struct conn_room){.bytes = part};
    if (part <= SMALL_BYTES) {
        room->slot = copy_room_share(conn, wire_padded(part), &room->at);
    } else {
        room->slot = staging_try(&conn->staging);
        room->at = room->slot != NULL ? room->slot->bytes : NULL;
    }
    return room->slot != NULL;
}

void conn_room_leave(struct server_conn *conn, struct conn_room *room)
{
    if (room->aside != NULL) {
        overflow_put_not(&conn->staging, room->aside);
    }
    staging_give(&conn->staging, room->slot);
    room->slot = NULL;
}

/* ---- the overflow */

/* Registers the slot with the network card, which stores from it. */
static bool turn_lend(struct server_conn *conn, struct overflow_slot *slot)
{
    return slot->lent.state != NULL ||
           conn->transport.ops->one_sided->share(&conn->transport, slot->memory, OVERFLOW_BYTES,
                                                 TRANSPORT_OWN, &slot->lent) == GA_OK;
}

static CUresult turn_await(struct server_app *app, uint64_t stream,
                           const struct overflow_room *turn)
{
    CUstream real;
    meter_rest(app, stream);
    CU_TRY(server_handle_stream(app, stream, &real));
    CU_TRY(app->driver->cuStreamWaitValue32_v2(real, turn->address, turn->number,
                                               CU_STREAM_WAIT_VALUE_GEQ));
    overflow_awaited(turn->turn);
    return CUDA_SUCCESS;
}

/* CUDA_ERROR_NOT_READY: not now. */
static CUresult turn_find(struct server_conn *conn, uint64_t stream, uint64_t lane, uint64_t bytes,
                          enum conn_use use, struct conn_room *room)
{
    struct overflow_room turn;
    uint32_t most = use == ROOM_IN ? WIRE_CHUNK : OVERFLOW_BYTES;
    uint32_t part = (uint32_t)(bytes < most ? bytes : most);
    if (conn->app->overflows_not || conn->app->current == NULL) {
        return CUDA_ERROR_NOT_READY;
    }
    CUresult rc = overflow_room(&conn->staging, conn->app->current->session->real, lane, part,
                                use == ROOM_IN, &turn);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *room =
        (struct conn_room){.slot = turn.turn, .at = turn.at, .bytes = part, .aside = turn.aside};
    if (use == ROOM_STORE && !turn_lend(conn, turn.turn->of)) {
        conn->app->overflows_not = true;
        rc = CUDA_ERROR_NOT_READY;
    } else if (turn.waits) {
        rc = turn_await(conn->app, stream, &turn);
        conn->app->overflows_not = rc == CUDA_ERROR_NOT_SUPPORTED;
        rc = conn->app->overflows_not ? CUDA_ERROR_NOT_READY : rc;
    }
    if (rc != CUDA_SUCCESS) {
        conn_room_leave(conn, room);
    }
    return rc;
}

/* ---- both */

/* Values are waited for in the driver's queues, and nobody sees when: a call that has used them may
 * again. */
bool conn_awaits_program(struct server_conn *conn)
{
    return conn->app->waits_for_values || host_calls_run(&conn->host_calls);
}

/* The user is told, and so is the log: what goes to stdio's stderr is both (kernel_output.h). */
static CUresult copy_room_give_up(struct server_conn *conn, struct staging_moves seen)
{
    if (conn->hopeless != seen.all) {
        (void)fprintf(stderr,
                      "gpuaasd: copies get error 2 (out of memory): what waits behind streams that "
                      "stand still takes all that it may (copy_overflow, or %u MiB of copies to "
                      "the host), and nothing has gone on for %llu s\n",
                      OVERFLOW_TURNS_MAX * (OVERFLOW_BYTES >> 20),
                      (unsigned long long)(conn->overflow_wait_ns / GA_NS_PER_S));
    }
    conn->hopeless = seen.all;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* None is there. */
static CUresult copy_room_wait(struct server_conn *conn, uint64_t stream, uint64_t bytes,
                               enum conn_use use, struct conn_room *room)
{
    meter_rest_all(conn->app); /* the stream waits for room, too */
    conn_flush(conn);          /* what is not sent may hold all of them */
    if (send_queue_is_storing(&conn->out)) {
        completer_wake(&conn->completer); /* it looks when they are free */
    }
    uint64_t lane = stream_lane(conn->app, stream);
    while (!atomic_load(&conn->ended)) {
        struct staging_moves seen = staging_moves(&conn->staging);
        if (slot_find(conn, bytes, room)) {
            return CUDA_SUCCESS;
        }
        bool still = lane != 0 && (seen.slots == conn->still || overflow_has(&conn->staging, lane));
        if (still) {
            CUresult rc = turn_find(conn, stream, lane, bytes, use, room);
            if (rc != CUDA_ERROR_NOT_READY) {
                return rc;
            }
            if (seen.all == conn->hopeless) {
                return copy_room_give_up(conn, seen);
            }
        }
        if (conn_wait_moves(conn, seen, still ? conn->overflow_wait_ns : STILL_NS)) {
            continue;
        }
        if (!still) {
            conn->still = seen.slots;
        } else if (conn_awaits_program(conn) && send_queue_held_ns(&conn->out) == 0) {
            return copy_room_give_up(conn, seen);
        }
    }
    return CUDA_ERROR_UNKNOWN;
}

CUresult conn_room(struct server_conn *conn, uint64_t stream, uint64_t bytes, enum conn_use use,
                   struct conn_room *room)
{
    enum api_engine engine = use == ROOM_IN ? API_ENGINE_H2D : API_ENGINE_D2H;
    if (rate_is_due(&conn->app->rates, conn->app->ledger->quota) && rate_wait(conn) &&
        gate_enter_again(conn->app, engine, stream) != GA_OK) {
        return CUDA_ERROR_UNKNOWN; /* the turn that the call had may be another's */
    }
    if (slot_find(conn, bytes, room)) {
        return CUDA_SUCCESS;
    }
    CU_TRY(copy_room_wait(conn, stream, bytes, use, room));
    if (gate_enter_again(conn->app, engine, stream) !=
        GA_OK) { /* nobody else waits for this room */
        conn_room_leave(conn, room);
        return CUDA_ERROR_UNKNOWN;
    }
    return CUDA_SUCCESS;
}
