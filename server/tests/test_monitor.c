/* SPDX-License-Identifier: Apache-2.0 */
/* The request monitor asks the driver once for each shape of launches, however many
 * batches of the meter they are in. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/meter/meter.h"
#include "server/meter/meter_gpu.h"
#include "server/meter/monitor.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"

static unsigned questions;

static CUresult event_create(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = NULL;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult event_any(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult event_elapsed(float *ms, CUevent from, CUevent to)
{
    (void)from, (void)to;
    *ms = 0;
    return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned flags)
{
    (void)flags;
    *stream = NULL;
    return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult occupancy(int *blocks, CUfunction function, int threads, size_t shared_bytes)
{
    (void)function, (void)threads, (void)shared_bytes;
    questions++;
    *blocks = 1;
    return CUDA_SUCCESS;
}

static CUresult context_device(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute, (void)device;
    *value = 32;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {FAKE_CONTEXT,
                                          .cuEventCreate = event_create,
                                          .cuEventRecord = event_record,
                                          .cuEventSynchronize = event_any,
                                          .cuEventDestroy_v2 = event_any,
                                          .cuEventElapsedTime_v2 = event_elapsed,
                                          .cuStreamCreate = stream_create,
                                          .cuStreamDestroy_v2 = stream_destroy,
                                          .cuOccupancyMaxActiveBlocksPerMultiprocessor = occupancy,
                                          .cuCtxGetDevice = context_device,
                                          .cuDeviceGetAttribute = device_attribute,
                                          .cuFuncSetAttribute = set_attribute};

static struct server_session session = {.number = 1};
static struct server_context context = {.session = &session};
static struct server_module module = {.context = &context};
static struct server_function function = {.module = &module};
static const struct ga_launch_args args = {.grid = {3, 1, 1}, .block = {32, 1, 1}};
static struct server_app *app;

static void start(void)
{
    app = calloc(1, sizeof *app);
    app->driver = &driver;
    app->ledger = &fake_ledger;
    app->current = &context;
    ga_handle_table_init(&app->objects.functions, GA_HANDLE_FUNCTION, 1);
    meter_context_init(&context.meter);
    meter_init(&app->meter, true, false);
    cr_assert_eq(ga_handle_table_make(&app->objects.functions, &function, &function.handle), GA_OK);
}

static void stop(void)
{
    meter_context_end(app, &context);
    meter_fini(&app->meter);
    ga_handle_table_fini(&app->objects.functions);
    free(app);
}

TestSuite(monitor, .init = start, .fini = stop, .timeout = 30);

/* A launch, and a wait, which ends its batch. */
static void launch_and_rest(void)
{
    meter_work_of(&app->meter, app, API_ENGINE_COMPUTE, 0, monitor_launch(app, &function, &args));
    cr_assert_eq(app->meter.open, 1);
    meter_rest_all(app);
    cr_assert_eq(app->meter.open, 0);
    meter_look(app);
    cr_assert_eq(app->meter.outstanding, 0);
}

Test(monitor, batches_of_one_shape_cost_one_question)
{
    const struct figures_shape *shape = fake_figures.gpus[0].shapes;
    for (unsigned i = 1; i <= 10; i++) {
        launch_and_rest();
        cr_assert_eq(atomic_load(&shape->count), i, "each is told when its batch ends");
    }
    cr_assert_eq(atomic_load(&shape->function), function.handle);
    cr_assert_eq(questions, 1);
}

Test(monitor, other_attributes_are_asked_about)
{
    const struct cuFuncSetAttribute_args other = {.hfunc = function.handle};
    launch_and_rest();
    cr_assert_eq(server_do_cuFuncSetAttribute(app, &other), CUDA_SUCCESS);
    launch_and_rest();
    cr_assert_eq(questions, 2);
    cr_assert_eq(atomic_load(&fake_figures.gpus[0].shapes->count), 2, "the shape is the same");
}

/* The GPU has 32 multiprocessors with a place for one warp each, and one block fits on each. */
Test(monitor, the_share_of_a_launch_is_of_the_places_for_warps)
{
    struct ga_launch_args other = args;
    cr_assert_eq(monitor_launch(app, &function, &other), 3 * (FIGURES_WHOLE / 32));
    other.grid[1] = 4;
    other.grid[2] = 2;
    cr_assert_eq(monitor_launch(app, &function, &other), 24 * (FIGURES_WHOLE / 32));
    other.grid[2] = 1;
    other.block[0] = 33; /* a warp and a thread */
    cr_assert_eq(monitor_launch(app, &function, &other), 24 * (FIGURES_WHOLE / 32));
    other.block[0] = 8;
    other.block[1] = 2;
    other.block[2] = 2;
    cr_assert_eq(monitor_launch(app, &function, &other), 12 * (FIGURES_WHOLE / 32));
    other.grid[0] = 8;
    cr_assert_eq(monitor_launch(app, &function, &other), FIGURES_WHOLE);
    other.grid[0] = 1000;
    cr_assert_eq(monitor_launch(app, &function, &other), FIGURES_WHOLE);
}

Test(monitor, the_table_keeps_the_most_frequent_shapes)
{
    const struct figures_shape *shapes = fake_figures.gpus[0].shapes;
    struct ga_launch_args other = args;
    for (unsigned i = 0; i < FIGURES_SHAPES; i++) {
        other.grid[0] = i + 1;
        for (unsigned k = 0; k < 10 - i; k++) {
            (void)monitor_launch(app, &function, &other);
        }
    }
    other.grid[0] = 20;
    other.grid[1] = 21;
    other.grid[2] = 22;
    other.block[1] = 5;
    other.shared_bytes = 77;
    (void)monitor_launch(app, &function, &other);
    monitor_settle(&app->monitor);
    cr_assert_eq(atomic_load(&shapes[0].count), 10);
    cr_assert_eq(atomic_load(&shapes[0].grid[0]), 1);
    const struct figures_shape *last = &shapes[FIGURES_SHAPES - 1];
    cr_assert_eq(atomic_load(&last->count), 10 - FIGURES_SHAPES + 1 + 1,
                 "it has the place of the least frequent one, and its count");
    cr_assert(atomic_load(&last->grid[0]) == 20 && atomic_load(&last->grid[1]) == 21 &&
              atomic_load(&last->grid[2]) == 22);
    cr_assert(atomic_load(&last->block[0]) == 32 && atomic_load(&last->block[1]) == 5 &&
              atomic_load(&last->block[2]) == 1);
    cr_assert_eq(atomic_load(&last->shared_bytes), 77);
    cr_assert_eq(atomic_load(&last->share), FIGURES_WHOLE);
    other.shared_bytes = 78;
    (void)monitor_launch(app, &function, &other);
    cr_assert_eq(atomic_load(&last->shared_bytes), 77, "another shape has another row");
}
