/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which of the meter's batches are done, and until when the others have run. */
#include <time.h>

#include "base/clock.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/app/fault.h"
#include "server/meter/meter.h"
#include "server/meter/meter_batch.h"
#include "server/meter/meter_clock.h"
#include "server/meter/meter_gpu.h"
#include "server/meter/meter_kernels.h"

/* A batch that runs counts until so long ago: by then its end would have been seen, if it had been
 * before. */
#define SEEN_NS         (200 * GA_NS_PER_MS)
#define PATIENCE_MS_MIN 1u
#define PATIENCE_MS_MAX 64u
#define PATIENCE_PART   20u /* of the time since work was submitted last */
/* At the end of a session its work has mostly been waited for, so its batches are about to end. */
#define END_NS      (10 * GA_NS_PER_MS)
#define END_LOOK_NS (100 * GA_NS_PER_US)

/* The driver says nothing more of events after a fault. */
static void batch_look(struct server_app *app, struct meter_batch *batch, uint64_t now_ns)
{
    struct meter_clock *clock = &batch->context->meter.clock;
    uint64_t end_ns;
    CUresult rc = CUDA_SUCCESS;
    if (batch->begin_ns == 0) {
        rc = meter_clock_read(clock, app->driver, &batch->begin, &batch->begin_ns);
    }
    if (rc == CUDA_SUCCESS) {
        rc = batch->closed ? meter_clock_read(clock, app->driver, &batch->end, &end_ns)
                           : CUDA_ERROR_NOT_READY;
    }
    if (rc == CUDA_SUCCESS) {
        meter_kernels_learn(&app->meter, batch, end_ns - batch->begin_ns);
        bool since = end_ns + (uint64_t)clock->shift_ns > now_ns; /* the look has begun */
        meter_clock_seen(clock, end_ns, since ? ga_clock_ns() : now_ns);
        uint64_t shift = (uint64_t)clock->shift_ns;
        meter_gpu_done(batch->gpu, batch, batch->begin_ns + shift, end_ns + shift);
        meter_batch_drop(app, batch);
    } else if (rc != CUDA_ERROR_NOT_READY) {
        meter_batch_lose(app, batch, now_ns);
    } else if (batch->begin_ns == 0) {
        batch->waits_ns = now_ns;
    } else {
        uint64_t begin_ns = batch->begin_ns + (uint64_t)clock->shift_ns;
        uint64_t until_ns = now_ns - SEEN_NS;
        meter_gpu_busy(batch->gpu, batch->engine, begin_ns, until_ns, meter_batch_is_single(batch));
        meter_gpu_runs(batch->gpu, batch->engine, until_ns > begin_ns ? until_ns : begin_ns);
        if (meter_kernels_over(&app->meter, batch, now_ns)) {
            server_kernel_over(app);
        }
    }
}

void meter_look(struct server_app *app)
{
    struct meter *meter = &app->meter;
    uint64_t now_ns = ga_clock_ns();
    const struct server_context *current = app->current;
    CUcontext before = NULL;
    bool here = !app->elsewhere, moved = false;
    if (meter->outstanding == 0) {
        return;
    }
    meter->looked_ns = now_ns;
    ga_list_each (at, next, &meter->gpus) {
        meter_gpu_look(ga_container(at, struct meter_gpu, link), now_ns);
    }
    ga_list_each (at, next, &meter->batches) {
        struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (!here || batch->context != current) {
            if (!moved) {
                (void)app->driver->cuCtxGetCurrent(&before);
            }
            here = moved = true;
            current = batch->context;
            context_apply(app, current);
        }
        batch_look(app, batch, now_ns);
    }
    if (moved) {
        (void)app->driver->cuCtxSetCurrent(before);
    }
    ga_list_each (at, next, &meter->gpus) {
        meter_gpu_tell(ga_container(at, struct meter_gpu, link));
    }
}

bool meter_runs(const struct server_app *app, const struct meter_gpu *gpu)
{
    ga_list_each (at, next, &app->meter.batches) {
        const struct meter_batch *batch = ga_container(at, struct meter_batch, link);
        if (batch->gpu == gpu && batch->begin_ns != 0) {
            return true;
        }
    }
    return false;
}

/* The longer the last work runs, the longer until the next look: what is not known of it when it
 * ends in an unusual way is a small part of it. */
static uint32_t patience_ms(const struct meter *meter, uint64_t now_ns)
{
    uint64_t ms = (now_ns - meter->opened_ns) / PATIENCE_PART / GA_NS_PER_MS;
    return ms < PATIENCE_MS_MIN   ? PATIENCE_MS_MIN
           : ms < PATIENCE_MS_MAX ? (uint32_t)ms
                                  : PATIENCE_MS_MAX;
}

int meter_sleep_ms(struct server_app *app)
{
    const struct meter *meter = &app->meter;
    if (meter->outstanding == 0) {
        return -1;
    }
    if (meter->open != 0) {
        meter_rest_all(app);
    }
    return (int)patience_ms(meter, ga_clock_ns());
}

void meter_idle(struct server_app *app)
{
    const struct meter *meter = &app->meter;
    if (meter->open != 0) {
        meter_rest_all(app);
    }
    if (meter->outstanding != 0) {
        uint64_t now_ns = ga_clock_ns();
        if (now_ns - meter->looked_ns > patience_ms(meter, now_ns) * GA_NS_PER_MS) {
            meter_look(app);
        }
    }
}

void meter_long_call(struct server_app *app)
{
    meter_rest_all(app);
    meter_look(app);
}

void meter_end(struct server_app *app)
{
    const struct timespec between = {.tv_nsec = END_LOOK_NS};
    const uint64_t until = ga_clock_ns() + END_NS;
    meter_rest_all(app);
    meter_look(app);
    while (app->meter.outstanding != 0 && ga_clock_ns() < until) {
        (void)nanosleep(&between, NULL);
        meter_look(app);
    }
}
