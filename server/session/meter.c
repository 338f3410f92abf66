/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/meter.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/session/conn.h"
#include "server/session/contexts.h"
#include "server/session/handles.h"
#include "server/session/meter_batch.h"
#include "server/session/meter_gpu.h"
#include "server/session/meter_kernels.h"
#include "server/session/reply.h"

#define TURN_WORKS 1024u  /* between two looks, when calls come without a pause */
#define LOOK_COUNT 16u    /* outstanding batches that are worth a look before a wait */
#define COPY_ENDS  65536u /* bytes: whoever has copied them may wait for more */
/* A batch that runs counts until so long ago: by then its end would have been seen, if it had been
 * before. */
#define SEEN_NS         (200 * GA_NS_PER_MS)
#define PATIENCE_MS_MIN 2u
/* At the end of a session its work has mostly been waited for, so its batches are about to end. */
#define END_NS      (10 * GA_NS_PER_MS)
#define END_LOOK_NS (100 * GA_NS_PER_US)

/* ---- where a batch is recorded */

struct place {
    struct server_context *context;
    struct server_stream *stream; /* NULL: stream 0 */
    struct meter_lane *lane;
};

/* False: nowhere, or what is done there is not measured. */
static bool place_find(struct server_conn *conn, uint64_t wire, struct place *place)
{
    *place = (struct place){.context = conn->current};
    if (wire != 0 && wire != (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
        place->stream = ga_handle_table_find(&conn->objects.streams, wire);
        place->context = place->stream != NULL ? place->stream->context : NULL;
    }
    if (place->context == NULL || conn->replay != NULL) {
        return false;
    }
    place->lane = place->stream != NULL ? &place->stream->meter : &place->context->meter.lane;
    return true;
}

/* Records an event of the context in the stream, whatever is current. */
static CUresult place_record(struct server_conn *conn, const struct server_context *context,
                             const struct server_stream *stream, CUevent event)
{
    const struct cuda_driver *driver = conn->driver;
    CUstream real = stream != NULL ? stream->real : NULL;
    bool special = stream != NULL && stream->special, elsewhere = conn->elsewhere;
    CUcontext before = NULL;
    if (context == conn->current && !elsewhere && !special) {
        return driver->cuEventRecord(event, real);
    }
    (void)driver->cuCtxGetCurrent(&before);
    context_apply(conn, context);
    if (special) {
        stream_apply(conn, stream);
    }
    CUresult rc = driver->cuEventRecord(event, real);
    (void)driver->cuCtxSetCurrent(before);
    conn->elsewhere = elsewhere;
    return rc;
}

/* ---- batches */

/* It is done, or nothing more will be known of it. */
static void batch_drop(struct server_conn *conn, struct meter_batch *batch)
{
    if (conn->meter.batch == batch) {
        meter_forget(&conn->meter);
    }
    ga_list_remove(&batch->link);
    meter_gpu_end(batch->gpu, batch->side);
    conn->meter.outstanding--;
    conn->meter.open -= !batch->closed;
    if (batch->lane != NULL && batch->lane->last == batch) {
        batch->lane->last = NULL;
    }
    ga_list_append(&batch->context->meter.unused, &batch->link);
}

static void batch_close(struct server_conn *conn, struct meter_batch *batch)
{
    if (place_record(conn, batch->context, batch->stream, batch->end) != CUDA_SUCCESS) {
        batch_drop(conn, batch); /* a fault, which the calls report */
        return;
    }
    monitor_settle(&conn->monitor);
    batch->after = batch->gpu->tally;
    batch->closed = true;
    conn->meter.open--;
}

static void lane_close(struct server_conn *conn, const struct meter_lane *lane)
{
    if (lane->last != NULL && !lane->last->closed) {
        batch_close(conn, lane->last);
    }
}

/* Of this context; NULL: of all. */
static void batches_close(struct server_conn *conn, const struct server_context *context)
{
    if (conn->meter.open == 0) {
        return;
    }
    ga_list_each (at, next, &conn->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!batch->closed && (context == NULL || batch->context == context)) {
            batch_close(conn, batch);
        }
    }
}

/* There are too many batches: the last one of the lane goes on, though it may have rested. */
static void batch_reopen(struct server_conn *conn, const struct place *place,
                         enum figure_engine engine)
{
    struct meter *meter = &conn->meter;
    struct meter_batch *batch = place->lane->last;
    if (batch != NULL && batch->closed && batch->engine == engine) {
        batch->closed = false;
        batch->runs_ns = 0;
        meter->open++;
    } else if (!meter->full && !place->context->meter.clock.broken) {
        meter->full = true;
        ga_warn("GPU time is not exact: more than %u batches of work wait for the GPU",
                METER_BATCHES_MAX);
    }
}

static void batch_open(struct server_conn *conn, const struct place *place,
                       enum figure_engine engine)
{
    struct meter *meter = &conn->meter;
    struct meter_gpu *gpu = meter_gpu_find(conn, place->context->session->ordinal);
    struct meter_batch *batch = gpu != NULL ? meter_batch_take(conn, place->context) : NULL;
    if (batch == NULL) {
        batch_reopen(conn, place, engine);
        return;
    }
    if (engine == FIGURE_ENGINE_COMPUTE) {
        monitor_wake(&conn->monitor);
    }
    *batch = (struct meter_batch){.context = place->context,
                                  .stream = place->stream,
                                  .lane = place->lane,
                                  .gpu = gpu,
                                  .engine = engine,
                                  .begin = batch->begin,
                                  .end = batch->end,
                                  .turn = meter->turn,
                                  .before = gpu->tally,
                                  .side = gpu->side};
    if (place_record(conn, batch->context, batch->stream, batch->begin) != CUDA_SUCCESS) {
        ga_list_append(&place->context->meter.unused, &batch->link);
        return;
    }
    ga_list_append(&meter->batches, &batch->link);
    meter_gpu_begin(gpu, engine);
    place->lane->last = batch;
    meter->open++;
    meter->outstanding++;
    meter->patience_ms = PATIENCE_MS_MIN;
}

/* ---- calls */

void meter_forget(struct meter *meter)
{
    if (meter->engine != API_ENGINE_NONE) {
        bool computes = meter->engine == API_ENGINE_COMPUTE || meter->engine == API_ENGINE_BOTH;
        assert(meter->gpu != NULL);
        meter->gpu->works += computes ? meter->from - meter->left : 0;
        meter->batch->works += meter->from - meter->left;
        meter->left += meter->ahead;
        meter->ahead = 0;
        meter->batch = NULL;
        meter->engine = API_ENGINE_NONE;
    }
}

/* The stream goes on with this batch: this work, and more of the kind without another look. */
static void meter_go_on(struct meter *meter, struct meter_batch *batch, enum api_engine engine,
                        uint64_t stream)
{
    batch->turn = meter->turn;
    meter->stream = stream;
    meter->engine = engine;
    meter->batch = batch;
    meter->gpu = batch->gpu;
    meter->left--;
    if (meter_kernels_count(meter, batch->engine)) {
        uint64_t works = batch->works + 1, most = meter_kernels_most(batch->lane);
        uint32_t room = works < most ? (uint32_t)(most - works) : 0;
        meter->ahead = room < meter->left ? meter->left - room : 0;
        meter->left -= meter->ahead;
    }
    meter->from = meter->left + 1;
}

/* Batches that have had no work for a whole turn may be done long since. */
static void meter_turn_over(struct server_conn *conn)
{
    struct meter *meter = &conn->meter;
    ga_list_each (at, next, &meter->batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!batch->closed && batch->turn != meter->turn) {
            batch_close(conn, batch);
        }
    }
    meter->turn++;
    meter_look(conn);
}

void meter_turn(struct server_conn *conn, enum api_engine engine, uint64_t stream)
{
    struct meter *meter = &conn->meter;
    struct place place;
    enum figure_engine of = engine == API_ENGINE_H2D   ? FIGURE_ENGINE_H2D
                            : engine == API_ENGINE_D2H ? FIGURE_ENGINE_D2H
                                                       : FIGURE_ENGINE_COMPUTE;
    meter_forget(meter);
    if (!place_find(conn, stream, &place) ||
        (place.stream != NULL && place.stream->build != NULL)) {
        return;
    }
    const struct meter_batch *last = place.lane->last;
    if (last == NULL || last->closed || last->engine != of ||
        (meter_kernels_count(meter, of) && last->works >= meter_kernels_most(place.lane))) {
        lane_close(conn, place.lane);
        if (place.stream == NULL) { /* it waits for the others, and they for it */
            batches_close(conn, place.context);
        } else {
            lane_close(conn, &place.context->meter.lane);
        }
        batch_open(conn, &place, of);
    }
    struct meter_batch *now = place.lane->last;
    if (meter->left == 0) {
        meter->left = TURN_WORKS;
        if (now != NULL) {
            now->turn = meter->turn; /* it has work, this one */
        }
        meter_turn_over(conn);
        now = place.lane->last;
    }
    if (now != NULL && !now->closed) {
        meter_go_on(meter, now, engine, stream);
        if (conn->monitor.gpu != now->gpu) {
            monitor_wake(&conn->monitor);
        }
    }
}

void meter_copied(struct server_conn *conn, enum api_engine engine, uint64_t stream, uint64_t bytes)
{
    struct meter_gpu *gpu = conn->meter.gpu;
    if (gpu != NULL) {
        gpu->copies[engine == API_ENGINE_D2H]++;
        gpu->tally.copied_bytes[engine == API_ENGINE_D2H] += bytes;
    }
    if (bytes >= COPY_ENDS && conn->meter.open != 0) {
        struct place place;
        meter_forget(&conn->meter);
        if (place_find(conn, stream, &place)) {
            lane_close(conn, place.lane);
        }
        if (conn->meter.outstanding >= LOOK_COUNT) {
            meter_look(conn);
        }
    }
}

void meter_rest(struct server_conn *conn, uint64_t stream)
{
    struct place place;
    meter_forget(&conn->meter);
    if (!place_find(conn, stream, &place)) {
        return;
    }
    if (place.stream == NULL) {
        batches_close(conn, place.context);
    } else {
        lane_close(conn, place.lane);
        lane_close(conn, &place.context->meter.lane);
    }
}

void meter_rest_all(struct server_conn *conn)
{
    meter_forget(&conn->meter);
    batches_close(conn, NULL);
}

/* ---- what is done */

/* The driver says nothing more of events after a fault. */
static void batch_look(struct server_conn *conn, struct meter_batch *batch, uint64_t now_ns)
{
    struct meter_clock *clock = &batch->context->meter.clock;
    uint64_t end_ns;
    CUresult rc = CUDA_SUCCESS;
    if (batch->begin_ns == 0) {
        rc = meter_clock_read(clock, conn->driver, &batch->begin, &batch->begin_ns);
    }
    if (rc == CUDA_SUCCESS) {
        rc = batch->closed ? meter_clock_read(clock, conn->driver, &batch->end, &end_ns)
                           : CUDA_ERROR_NOT_READY;
    }
    if (rc == CUDA_SUCCESS) {
        meter_kernels_learn(&conn->meter, batch, end_ns - batch->begin_ns);
        meter_clock_seen(clock, end_ns, ga_clock_ns());
        uint64_t shift = (uint64_t)clock->shift_ns;
        meter_gpu_done(batch->gpu, batch->engine, batch->begin_ns + shift, end_ns + shift,
                       &batch->before, &batch->after);
        batch_drop(conn, batch);
    } else if (rc != CUDA_ERROR_NOT_READY) {
        batch_drop(conn, batch);
    } else if (batch->begin_ns != 0) {
        uint64_t begin_ns = batch->begin_ns + (uint64_t)clock->shift_ns;
        meter_gpu_busy(batch->gpu, batch->engine, begin_ns, now_ns - SEEN_NS);
        if (meter_kernels_over(&conn->meter, batch, now_ns)) {
            server_kernel_over(conn);
        }
    }
}

void meter_look(struct server_conn *conn)
{
    struct meter *meter = &conn->meter;
    uint64_t now_ns = ga_clock_ns();
    const struct server_context *current = conn->current;
    CUcontext before = NULL;
    bool here = !conn->elsewhere, moved = false;
    if (meter->outstanding == 0) {
        return;
    }
    meter->looked_ns = now_ns;
    ga_list_each (at, next, &meter->batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!here || batch->context != current) {
            if (!moved) {
                (void)conn->driver->cuCtxGetCurrent(&before);
            }
            here = moved = true;
            current = batch->context;
            context_apply(conn, current);
        }
        batch_look(conn, batch, now_ns);
    }
    if (moved) {
        (void)conn->driver->cuCtxSetCurrent(before);
    }
    ga_list_each (at, next, &meter->gpus) {
        meter_gpu_tell(ga_container(at, struct meter_gpu, link));
    }
}

bool meter_runs(const struct server_conn *conn, const struct meter_gpu *gpu)
{
    ga_list_each (at, next, &conn->meter.batches) {
        const struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->gpu == gpu && batch->begin_ns != 0) {
            return true;
        }
    }
    return false;
}

int meter_sleep_ms(struct server_conn *conn)
{
    struct meter *meter = &conn->meter;
    if (meter->outstanding == 0) {
        return -1;
    }
    if (meter->open != 0) {
        meter_rest_all(conn);
    }
    uint32_t patience = meter->patience_ms;
    meter->patience_ms = patience < METER_PATIENCE_MS ? patience * 2 : patience;
    return (int)patience;
}

/* ---- ends */

void meter_stream_end(struct server_conn *conn, struct server_stream *stream)
{
    struct meter_lane *lane = &stream->meter;
    if (conn->meter.outstanding == 0) {
        return;
    }
    meter_forget(&conn->meter);
    lane_close(conn, lane);
    ga_list_each (at, next, &conn->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->lane == lane) {
            batch->lane = NULL;
            batch->stream = NULL;
        }
    }
}

void meter_end(struct server_conn *conn)
{
    const struct timespec between = {.tv_nsec = END_LOOK_NS};
    const uint64_t until = ga_clock_ns() + END_NS;
    meter_rest_all(conn);
    meter_look(conn);
    while (conn->meter.outstanding != 0 && ga_clock_ns() < until) {
        (void)nanosleep(&between, NULL);
        meter_look(conn);
    }
}

void meter_context_end(struct server_conn *conn, struct server_context *context)
{
    meter_forget(&conn->meter);
    if (!context->meter.clock.runs) {
        return;
    }
    batches_close(conn, context);
    meter_look(conn);
    ga_list_each (at, next, &conn->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->context == context) {
            batch_drop(conn, batch);
        }
    }
    ga_list_each (at, next, &context->meter.unused) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        ga_list_remove(&batch->link);
        meter_batch_destroy(conn, batch);
    }
    meter_clock_end(&context->meter.clock, conn->driver);
}

void meter_context_init(struct meter_context *context)
{
    ga_list_init(&context->unused);
}

void meter_init(struct meter *meter, bool on, bool records)
{
    *meter = (struct meter){
        .on = on, .records = records, .left = TURN_WORKS, .patience_ms = PATIENCE_MS_MIN};
    ga_list_init(&meter->batches);
    ga_list_init(&meter->gpus);
}

void meter_fini(struct meter *meter)
{
    ga_list_each (at, next, &meter->gpus) {
        free(ga_container(at, struct meter_gpu, link));
    }
}
