/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter_batch.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/meter/meter.h"
#include "server/meter/meter_clock.h"

#define BATCHES_MIN 16u /* are worth a look before there are more; a power of two */

void meter_batch_destroy(struct server_app *app, struct meter_batch *batch)
{
    (void)app->driver->cuEventDestroy_v2(batch->begin);
    (void)app->driver->cuEventDestroy_v2(batch->end);
    app->meter.made--;
    free(batch);
}

static CUresult batch_events(const struct cuda_driver *driver, struct meter_batch *batch)
{
    CU_TRY(driver->cuEventCreate(&batch->begin, CU_EVENT_DEFAULT));
    CUresult rc = driver->cuEventCreate(&batch->end, CU_EVENT_DEFAULT);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuEventDestroy_v2(batch->begin);
    }
    return rc;
}

/* With the context current. */
static struct meter_batch *batch_make(struct server_app *app)
{
    struct meter_batch *batch =
        app->meter.made < METER_BATCHES_MAX ? calloc(1, sizeof *batch) : NULL;
    if (batch != NULL && batch_events(app->driver, batch) != CUDA_SUCCESS) {
        free(batch);
        return NULL;
    }
    app->meter.made += batch != NULL;
    return batch;
}

static struct meter_batch *unused_take(struct server_context *context)
{
    struct ga_list *unused = &context->meter.unused;
    if (ga_list_empty(unused)) {
        return NULL;
    }
    struct meter_batch *batch = ga_container(unused->next, struct meter_batch, link);
    ga_list_remove(&batch->link);
    return batch;
}

/* Looks before the number of batches doubles. One that is done is taken, unless so many are not
 * that it would come to a look for each. */
static struct meter_batch *done_take(struct server_app *app, struct server_context *context)
{
    const struct meter *meter = &app->meter;
    if (meter->made < BATCHES_MIN || (meter->made & (meter->made - 1)) != 0) {
        return NULL;
    }
    meter_look(app);
    bool few = meter->outstanding <= meter->made / 2;
    return few ? unused_take(context) : NULL;
}

struct meter_batch *meter_batch_take(struct server_app *app, struct server_context *context)
{
    struct meter_clock *clock = &context->meter.clock;
    struct meter_batch *batch = unused_take(context);
    batch = batch != NULL ? batch : done_take(app, context);
    if (batch != NULL || clock->broken) {
        return batch;
    }
    CUcontext before = NULL;
    CUresult rc = CUDA_SUCCESS;
    (void)app->driver->cuCtxGetCurrent(&before);
    context_apply(app, context);
    if (!clock->runs && (rc = meter_clock_start(clock, app->driver)) != CUDA_SUCCESS) {
        ga_warn("GPU time of a context cannot be measured: CUDA error %d", (int)rc);
    }
    batch = clock->runs ? batch_make(app) : NULL;
    (void)app->driver->cuCtxSetCurrent(before);
    return batch != NULL ? batch : unused_take(context);
}

void meter_batch_drop(struct server_app *app, struct meter_batch *batch)
{
    if (app->meter.batch == batch) {
        meter_forget(&app->meter);
    }
    ga_list_remove(&batch->link);
    meter_gpu_end(batch->gpu, batch->side);
    app->meter.outstanding--;
    app->meter.open -= !batch->closed;
    if (batch->lane != NULL && batch->lane->last == batch) {
        batch->lane->last = NULL;
    }
    ga_list_append(&batch->context->meter.unused, &batch->link);
}

/* By then it was not done; and not begun at waits_ns. */
void meter_batch_lose(struct server_app *app, struct meter_batch *batch, uint64_t now_ns)
{
    const struct meter_clock *clock = &batch->context->meter.clock;
    uint64_t from_ns =
        batch->begin_ns != 0 ? batch->begin_ns + (uint64_t)clock->shift_ns : batch->waits_ns;
    meter_gpu_busy(batch->gpu, batch->engine, from_ns, now_ns, meter_batch_is_single(batch));
    meter_batch_drop(app, batch);
}
