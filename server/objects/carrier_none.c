/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing carries the application: there is nobody to tell, no job, no later call of the program.
 * Its work is waited for all the same, with a look now and then, as the driver's own wait has no
 * bound. */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/app/fault.h"
#include "server/objects/app_life.h"
#include "server/objects/driver_events.h"

#define LOOK_NS (100 * GA_NS_PER_US)

static void rest_for(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / GA_NS_PER_S),
                                  .tv_nsec = (long)(ns % GA_NS_PER_S)};
    (void)nanosleep(&time, NULL);
}

/* CUDA_ERROR_NOT_READY: not within the time that there is. */
static CUresult event_await(struct server_app *app, const struct event_ref *ref)
{
    CUresult rc = CUDA_ERROR_NOT_READY;
    (void)app->driver->cuCtxSetCurrent(ref->context->real);
    while (!atomic_load(&ref->context->ended) &&
           (rc = app->driver->cuEventQuery(ref->real)) == CUDA_ERROR_NOT_READY) {
        if (app->end_by_ns != 0 && ga_clock_ns() > app->end_by_ns) {
            return CUDA_ERROR_NOT_READY;
        }
        rest_for(LOOK_NS);
    }
    return rc == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : rc; /* nobody waits for an ended context */
}

static enum ga_status none_wait(struct server_app *app, struct event_marks *marks)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; i < marks->count && rc == CUDA_SUCCESS; i++) {
        rc = event_await(app, event_marks_refs(marks)[i]);
        if (rc != CUDA_ERROR_NOT_READY) {
            server_check_fault(app, rc);
        }
    }
    event_marks_drop(app, marks);
    return rc == CUDA_ERROR_NOT_READY ? GA_TIMEOUT : GA_OK;
}

static enum ga_status none_pause(struct server_app *app, uint64_t most_ns)
{
    (void)app;
    rest_for(most_ns < LOOK_NS ? most_ns : LOOK_NS);
    return GA_OK;
}

static bool none_gives_up(const struct server_app *app)
{
    (void)app;
    return false;
}

static void none_flush(struct server_app *app)
{
    (void)app;
}

static bool none_awaits_program(struct server_app *app)
{
    return app->waits_for_values;
}

static void none_fault(struct server_app *app, CUresult rc, const char *text)
{
    (void)app, (void)rc, (void)text; /* the log has it */
}

static void none_fail(struct server_app *app, const char *why)
{
    (void)app;
    ga_error("%s", why);
}

static void none_print(struct server_app *app, enum wire_output to, const char *text, size_t bytes)
{
    (void)app, (void)to, (void)text;
    ga_warn("what a kernel has printed is lost, %zu bytes: its application has no connection",
            bytes);
}

const struct app_carrier carrier_none = {.wait = none_wait,
                                         .pause = none_pause,
                                         .gives_up = none_gives_up,
                                         .flush = none_flush,
                                         .awaits_program = none_awaits_program,
                                         .fault = none_fault,
                                         .fail = none_fail,
                                         .print = none_print};
