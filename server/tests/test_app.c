/* SPDX-License-Identifier: Apache-2.0 */
/* An application without a connection: it is made, has objects and work, and ends. The driver is
 * that of software GPUs. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "api/calls.h"
#include "api/cuda_driver.h"
#include "api/server_dispatch.h"
#include "base/clock.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/app/fault.h"
#include "server/calls/objects_end.h"
#include "server/objects/app_life.h"
#include "server/objects/context_open.h"
#include "server/objects/contexts.h"
#include "server/objects/handles.h"
#include "server/objects/mapped_memory.h"
#include "server/objects/session.h"

#define WINDOW_BYTES (UINT64_C(64) << 20)

static struct cuda_driver driver;

/* A place of an application in the process. */
struct place {
    struct figures figures;
    struct figures_memory memory[1];
    struct ledger ledger;
    struct server_host host;
    struct server_app *app;
    struct server_session *session;
    uint64_t window; /* where it begins */
    CUstream stream;
};

static struct place places[2];

static uint64_t handle_of(enum ga_handle_type type)
{
    return ga_handle_make(type, 1, 1);
}

static void driver_begin(void)
{
    char why[200] = "";
    cr_assert_eq(setenv("SOFTGPU_DEVICES", "memory=256MiB,sms=1", 1), 0);
    cr_assert_eq(cuda_driver_open(&driver, SOFTGPU_PATH, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(driver.cuInit(0), CUDA_SUCCESS);
}

TestSuite(app, .init = driver_begin, .timeout = 60);

static struct server_app *begin(unsigned which, uint64_t end_ns)
{
    struct place *place = &places[which];
    ledger_init(&place->ledger, &place->figures);
    place->ledger.memory = place->memory;
    place->host = (struct server_host){.client = "192.0.2.7:1",
                                       .ledger = &place->ledger,
                                       .objects_free = objects_end,
                                       .shares_process = true,
                                       .end_ns = end_ns};
    place->app = app_make(&driver, &place->host, true, false);
    cr_assert_not_null(place->app);
    return place->app;
}

/* One of each kind that needs no image. */
static void objects_make(unsigned which)
{
    struct place *place = &places[which];
    struct server_app *app = place->app;
    const struct handshake_window anywhere = {.bytes = WINDOW_BYTES};
    const struct ga_context_create_args context = {.context = handle_of(GA_HANDLE_CONTEXT),
                                                   .kind = API_CONTEXT_PRIMARY};
    const struct cuEventCreate_args event = {.phEvent = handle_of(GA_HANDLE_EVENT)};
    const struct ga_array_create_args array = {.array = handle_of(GA_HANDLE_ARRAY),
                                               .width = 100,
                                               .height = 50,
                                               .format = CU_AD_FORMAT_HALF,
                                               .channels = 4};
    cr_assert_eq(session_make(app, 0, 0, &place->session), CUDA_SUCCESS);
    cr_assert(session_exists(app, 0) && !session_exists(app, 1));
    cr_assert_eq(session_window_reserve(app, place->session, &anywhere), CUDA_SUCCESS);
    place->session->agreed = true; /* what the driver chose */
    place->window = place->session->window.base;
    cr_assert_eq(context_open(app, place->session, &context), CUDA_SUCCESS);
    context_switch(app, context.context);
    cr_assert_not_null(app->current);
    cr_assert_eq(memory_make(app, place->session, app->current, place->window,
                             place->session->granularity_bytes),
                 CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamCreate(&place->stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(
        server_handle_put(app, GA_HANDLE_STREAM, handle_of(GA_HANDLE_STREAM), place->stream),
        CUDA_SUCCESS);
    cr_assert_eq(server_do_cuEventCreate(app, &event), CUDA_SUCCESS);
    cr_assert_eq(server_do_ga_array_create(app, &array), CUDA_SUCCESS);
}

static uint64_t held(unsigned which, enum figure figure)
{
    return atomic_load(&places[which].figures.of[figure]);
}

/* The memory of the GPU that nobody has. */
static size_t free_bytes(void)
{
    size_t free_now, all;
    CUcontext context;
    cr_assert_eq(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    cr_assert_eq(driver.cuMemGetInfo_v2(&free_now, &all), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    cr_assert_eq(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    return free_now;
}

Test(app, needs_no_connection)
{
    size_t before = free_bytes();
    struct server_app *app = begin(0, 10 * GA_NS_PER_S);
    objects_make(0);
    cr_assert_eq(held(0, FIGURE_CONTEXTS), 1);
    cr_assert_eq(held(0, FIGURE_STREAMS), 1);
    cr_assert_eq(held(0, FIGURE_EVENTS), 1);
    cr_assert_eq(held(0, FIGURE_ARRAYS), 1);
    cr_assert_gt(held(0, FIGURE_DEVICE_BYTES), places[0].session->granularity_bytes);
    cr_assert_lt(free_bytes(), before);
    cr_assert_eq(driver.cuMemsetD8Async(places[0].window, 1, places[0].session->granularity_bytes,
                                        places[0].stream),
                 CUDA_SUCCESS);
    cr_assert(app_end(app));
    app_free(app);
    ledger_check_empty(&places[0].ledger); /* ends the process if anything is */
    cr_assert_eq(held(0, FIGURE_DEVICE_BYTES), 0);
    cr_assert_eq(free_bytes(), before, "the driver has all memory back");
}

Test(app, has_nothing_and_ends)
{
    struct server_app *app = begin(0, 0);
    cr_assert(app_end(app));
    app_free(app);
}

Test(app, ends_beside_another)
{
    begin(0, 10 * GA_NS_PER_S);
    objects_make(0);
    begin(1, 10 * GA_NS_PER_S);
    objects_make(1);
    cr_assert(app_end(places[0].app));
    app_free(places[0].app);
    ledger_check_empty(&places[0].ledger);
    uint32_t value = 0;
    struct server_app *other = places[1].app;
    context_switch(other, handle_of(GA_HANDLE_CONTEXT));
    cr_assert_eq(driver.cuMemsetD32Async(places[1].window, 7, 1, places[1].stream), CUDA_SUCCESS);
    cr_assert_eq(context_drain(other, other->current), CUDA_SUCCESS);
    cr_assert_eq(driver.cuMemcpyDtoH_v2(&value, places[1].window, sizeof value), CUDA_SUCCESS);
    cr_assert_eq(value, 7);
    cr_assert(app_end(other));
    app_free(other);
    ledger_check_empty(&places[1].ledger);
}

/* ---- work that waits for a value in memory of its application */

static void value_await(unsigned which)
{
    cr_assert_eq(driver.cuMemsetD32_v2(places[which].window, 0, 1), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamWaitValue32_v2(places[which].stream, places[which].window, 1,
                                               CU_STREAM_WAIT_VALUE_EQ),
                 CUDA_SUCCESS);
}

static void *value_write(void *context)
{
    CUstream stream;
    cr_assert_eq(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(driver.cuMemsetD32Async(places[0].window, 1, 1, stream), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    return NULL;
}

Test(app, waits_for_its_work)
{
    struct server_app *app = begin(0, 30 * GA_NS_PER_S);
    pthread_t writer;
    objects_make(0);
    value_await(0);
    cr_assert_eq(driver.cuStreamQuery(places[0].stream), CUDA_ERROR_NOT_READY);
    cr_assert_eq(pthread_create(&writer, NULL, value_write, app->current->real), 0);
    cr_assert_eq(context_quiesce(app, app->current), GA_OK);
    cr_assert_eq(driver.cuStreamQuery(places[0].stream), CUDA_SUCCESS);
    cr_assert_eq(pthread_join(writer, NULL), 0);
    cr_assert(app_end(app));
    app_free(app);
    ledger_check_empty(&places[0].ledger);
}

Test(app, does_not_wait_for_ever)
{
    struct server_app *app = begin(0, 10 * GA_NS_PER_MS);
    objects_make(0);
    value_await(0);
    cr_assert_not(app_end(app), "its work does not end");
    cr_assert_eq(held(0, FIGURE_CONTEXTS), 1);
    (void)value_write(app->current->real);
    app->end_by_ns = ga_clock_ns() + 30 * GA_NS_PER_S;
    cr_assert(app_end(app));
    app_free(app);
    ledger_check_empty(&places[0].ledger);
}

Test(app, keeps_a_fault_that_nobody_is_told_of)
{
    struct server_app *app = begin(0, 10 * GA_NS_PER_S);
    objects_make(0);
    server_check_fault(app, CUDA_ERROR_ILLEGAL_ADDRESS);
    server_check_fault(app, CUDA_ERROR_LAUNCH_FAILED);
    cr_assert_eq(app->fault, (int)CUDA_ERROR_ILLEGAL_ADDRESS, "the first one");
    cr_assert_not(app_end(app), "a driver does nothing more, so the process has to end");
    app->fault = 0; /* this driver has none */
    cr_assert(app_end(app));
    app_free(app);
}

Test(app, rests_at_a_gate_and_goes_on)
{
    struct server_app *app = begin(0, 0);
    cr_assert_not(app->carrier->gives_up(app));
    cr_assert_eq(app->carrier->pause(app, 1), GA_OK);
    cr_assert_not(app->carrier->awaits_program(app));
    app->waits_for_values = true;
    cr_assert(app->carrier->awaits_program(app));
    app_free(app);
}
