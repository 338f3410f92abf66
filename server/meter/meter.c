/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/meter/meter_batch.h"
#include "server/meter/meter_clock.h"
#include "server/meter/meter_gpu.h"
#include "server/meter/meter_kernels.h"
#include "server/meter/meter_share.h"
#include "server/meter/monitor.h"

#define TURN_WORKS 1024u  /* between two looks, when calls come without a pause */
#define LOOK_COUNT 16u    /* outstanding batches that are worth a look before a wait */
#define COPY_ENDS  65536u /* bytes: whoever has copied them may wait for more */

/* ---- where a batch is recorded */

struct place {
    struct server_context *context;
    struct server_stream *stream; /* NULL: stream 0 */
    struct meter_lane *lane;
};

/* False: nowhere, or what is done there is not measured. */
static bool place_find(struct server_app *app, uint64_t wire, struct place *place)
{
    *place = (struct place){.context = app->current};
    if (wire != 0 && wire != (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
        place->stream = server_stream_here(&app->objects, wire);
        place->context = place->stream != NULL ? place->stream->context : NULL;
    }
    if (place->context == NULL || app->replay != NULL) {
        return false;
    }
    place->lane = place->stream != NULL ? &place->stream->meter : &place->context->meter.lane;
    return true;
}

/* Records an event of the context in the stream, whatever is current. */
static CUresult place_record(struct server_app *app, const struct server_context *context,
                             const struct server_stream *stream, CUevent event)
{
    const struct cuda_driver *driver = app->driver;
    CUstream real = stream != NULL ? stream->real : NULL;
    bool special = stream != NULL && stream->special, elsewhere = app->elsewhere;
    CUcontext before = NULL;
    if (context == app->current && !elsewhere && !special) {
        return driver->cuEventRecord(event, real);
    }
    (void)driver->cuCtxGetCurrent(&before);
    context_apply(app, context);
    if (special) {
        stream_apply(app, stream);
    }
    CUresult rc = driver->cuEventRecord(event, real);
    (void)driver->cuCtxSetCurrent(before);
    app->elsewhere = elsewhere;
    return rc;
}

/* ---- batches */

static void batch_close(struct server_app *app, struct meter_batch *batch)
{
    if (place_record(app, batch->context, batch->stream, batch->end) != CUDA_SUCCESS) {
        meter_batch_lose(app, batch, ga_clock_ns()); /* a fault, which the calls report */
        return;
    }
    monitor_settle(&app->monitor);
    batch->after = batch->gpu->tally;
    batch->closed = true;
    meter_share_closed(&app->meter, batch);
    app->meter.open--;
}

static void lane_close(struct server_app *app, const struct meter_lane *lane)
{
    if (lane->last != NULL && !lane->last->closed) {
        batch_close(app, lane->last);
    }
}

/* Closes the batches of this context; NULL: of all. */
static void batches_close(struct server_app *app, const struct server_context *context)
{
    if (app->meter.open == 0) {
        return;
    }
    ga_list_each (at, next, &app->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!batch->closed && (context == NULL || batch->context == context)) {
            batch_close(app, batch);
        }
    }
}

/* There are too many batches: the last one of the lane goes on, though it may have rested. */
static void batch_reopen(struct server_app *app, const struct place *place, enum gpu_engine engine)
{
    struct meter *meter = &app->meter;
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

static void batch_open(struct server_app *app, const struct place *place, enum gpu_engine engine)
{
    struct meter *meter = &app->meter;
    struct meter_gpu *gpu = meter_gpu_find(app, place->context->session->ordinal);
    uint64_t now_ns = ga_clock_ns();
    struct meter_batch *batch = gpu != NULL ? meter_batch_take(app, place->context) : NULL;
    if (batch == NULL) {
        batch_reopen(app, place, engine);
        return;
    }
    *batch = (struct meter_batch){.context = place->context,
                                  .stream = place->stream,
                                  .lane = place->lane,
                                  .gpu = gpu,
                                  .engine = engine,
                                  .begin = batch->begin,
                                  .end = batch->end,
                                  .waits_ns = now_ns,
                                  .turn = meter->turn,
                                  .before = gpu->tally,
                                  .side = gpu->side};
    if (place_record(app, batch->context, batch->stream, batch->begin) != CUDA_SUCCESS) {
        ga_list_append(&place->context->meter.unused, &batch->link);
        return;
    }
    ga_list_append(&meter->batches, &batch->link);
    meter_gpu_begin(gpu, engine, now_ns);
    place->lane->last = batch;
    meter->open++;
    meter->outstanding++;
    meter->opened_ns = now_ns;
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
                        uint64_t stream, uint32_t share)
{
    meter_share_take(meter, batch, share);
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
static void meter_turn_over(struct server_app *app)
{
    struct meter *meter = &app->meter;
    ga_list_each (at, next, &meter->batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!batch->closed && batch->turn != meter->turn) {
            batch_close(app, batch);
        }
    }
    meter->turn++;
    meter_look(app);
}

void meter_turn(struct server_app *app, enum api_engine engine, uint64_t stream, uint32_t share)
{
    struct meter *meter = &app->meter;
    struct place place;
    enum gpu_engine of = api_gpu_engine(engine);
    meter_forget(meter);
    if (!place_find(app, stream, &place) || (place.stream != NULL && place.stream->build != NULL)) {
        return;
    }
    const struct meter_batch *last = place.lane->last;
    if (last == NULL || last->closed || last->engine != of ||
        (meter_kernels_count(meter, of) && last->works >= meter_kernels_most(place.lane)) ||
        meter_share_splits(meter, last, share)) {
        lane_close(app, place.lane);
        if (place.stream == NULL) { /* it waits for the others, and they for it */
            batches_close(app, place.context);
        } else {
            lane_close(app, &place.context->meter.lane);
        }
        batch_open(app, &place, of);
    }
    struct meter_batch *now = place.lane->last;
    if (meter->left == 0) {
        meter->left = TURN_WORKS;
        if (now != NULL) {
            now->turn = meter->turn; /* it has work, this one */
        }
        meter_turn_over(app);
        now = place.lane->last;
    }
    if (now != NULL && !now->closed) {
        meter_go_on(meter, now, engine, stream, share);
    }
}

void meter_copied(struct server_app *app, enum api_engine engine, uint64_t stream, uint64_t bytes)
{
    struct meter_gpu *gpu = app->meter.gpu;
    if (gpu != NULL) {
        gpu->copies[engine == API_ENGINE_D2H]++;
        gpu->tally.copied_bytes[engine == API_ENGINE_D2H] += bytes;
    }
    if (bytes >= COPY_ENDS && app->meter.open != 0) {
        struct place place;
        meter_forget(&app->meter);
        if (place_find(app, stream, &place)) {
            lane_close(app, place.lane);
        }
        if (app->meter.outstanding >= LOOK_COUNT) {
            meter_look(app);
        }
    }
}

void meter_rest(struct server_app *app, uint64_t stream)
{
    struct place place;
    meter_forget(&app->meter);
    if (!place_find(app, stream, &place)) {
        return;
    }
    if (place.stream == NULL) {
        batches_close(app, place.context);
    } else {
        lane_close(app, place.lane);
        lane_close(app, &place.context->meter.lane);
    }
}

void meter_rest_all(struct server_app *app)
{
    meter_forget(&app->meter);
    batches_close(app, NULL);
}

/* ---- ends */

void meter_stream_end(struct server_app *app, struct server_stream *stream)
{
    struct meter_lane *lane = &stream->meter;
    if (app->meter.outstanding == 0) {
        return;
    }
    meter_forget(&app->meter);
    lane_close(app, lane);
    ga_list_each (at, next, &app->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->lane == lane) {
            batch->lane = NULL;
            batch->stream = NULL;
        }
    }
}

void meter_context_end(struct server_app *app, struct server_context *context)
{
    meter_forget(&app->meter);
    if (!context->meter.clock.runs) {
        return;
    }
    batches_close(app, context);
    meter_look(app);
    ga_list_each (at, next, &app->meter.batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->context == context) {
            meter_batch_lose(app, batch, ga_clock_ns());
        }
    }
    ga_list_each (at, next, &context->meter.unused) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        ga_list_remove(&batch->link);
        meter_batch_destroy(app, batch);
    }
    meter_clock_end(&context->meter.clock, app->driver);
}

void meter_context_init(struct meter_context *context)
{
    ga_list_init(&context->unused);
}

void meter_init(struct meter *meter, bool on, bool records)
{
    *meter = (struct meter){
        .on = on, .records = records, .left = TURN_WORKS, .splits = METER_SPLITS_SAVED};
    ga_list_init(&meter->batches);
    ga_list_init(&meter->gpus);
}

void meter_fini(struct meter *meter)
{
    ga_list_each (at, next, &meter->gpus) {
        free(ga_container(at, struct meter_gpu, link));
    }
}
