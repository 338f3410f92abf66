/* SPDX-License-Identifier: Apache-2.0 */
#include "server/calls/event_time.h"

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "base/clock.h"
#include "server/app/app.h"

#define NS_PER_MS 1e6

/* ---- the clock of a context */

/* An event of the driver that is done now. */
static CUresult clock_make(struct server_app *app, CUevent *event, uint64_t *now_ns)
{
    const struct cuda_driver *driver = app->driver;
    CU_TRY(driver->cuEventCreate(event, CU_EVENT_DEFAULT));
    CUresult rc = driver->cuEventRecord(*event, CU_STREAM_LEGACY);
    rc = rc == CUDA_SUCCESS ? driver->cuEventSynchronize(*event) : rc;
    *now_ns = ga_clock_ns();
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuEventDestroy_v2(*event);
    }
    return rc;
}

static bool has_time(const struct server_event *event)
{
    return (event->flags & CU_EVENT_DISABLE_TIMING) == 0;
}

CUresult event_times_end(struct server_app *app, struct server_context *context)
{
    CUevent clock = context->clock;
    context->clock = NULL;
    return clock != NULL ? app->driver->cuEventDestroy_v2(clock) : CUDA_SUCCESS;
}

CUresult event_times_keep(struct server_app *app, struct server_context *context)
{
    CUevent now = NULL;
    uint64_t now_ns;
    CU_TRY(event_times_end(app, context));
    ga_list_each (at, next, &context->events) {
        struct server_event *event = ga_container(at, struct server_event, link);
        float ms;
        if (!has_time(event) || event->kept_ns != 0) {
            continue;
        }
        if (now == NULL) {
            CU_TRY(clock_make(app, &now, &now_ns));
        }
        if (app->driver->cuEventElapsedTime_v2(&ms, event->ref->real, now) == CUDA_SUCCESS) {
            event->kept_ns = now_ns - (uint64_t)((double)ms * NS_PER_MS);
        } /* else it has not been recorded */
    }
    return now != NULL ? app->driver->cuEventDestroy_v2(now) : CUDA_SUCCESS;
}

CUresult event_times_begin(struct server_app *app, struct server_context *context)
{
    ga_list_each (at, next, &context->events) {
        const struct server_event *event = ga_container(at, struct server_event, link);
        if (event->kept_ns != 0) {
            return clock_make(app, &context->clock, &context->clock_ns);
        }
    }
    return CUDA_SUCCESS;
}

/* ---- the call */

/* When the event was done. */
static CUresult done_at(struct server_app *app, const struct server_event *event, uint64_t *at_ns)
{
    float ms;
    *at_ns = event->kept_ns;
    if (event->kept_ns != 0) {
        return CUDA_SUCCESS;
    }
    const struct server_context *context = event->context;
    if (context->clock == NULL) {
        return CUDA_ERROR_INVALID_HANDLE; /* no event of its context has kept its time */
    }
    CU_TRY(app->driver->cuEventElapsedTime_v2(&ms, context->clock, event->ref->real));
    *at_ns = context->clock_ns + (uint64_t)((double)ms * NS_PER_MS);
    return CUDA_SUCCESS;
}

CUresult server_do_cuEventElapsedTime_v2(struct server_app *app,
                                         const struct cuEventElapsedTime_v2_args *args,
                                         struct cuEventElapsedTime_v2_results *results)
{
    const struct server_event *start = ga_handle_table_find(&app->objects.events, args->hStart);
    const struct server_event *end = ga_handle_table_find(&app->objects.events, args->hEnd);
    uint64_t from, to;
    if (start == NULL || end == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (start->kept_ns == 0 && end->kept_ns == 0) {
        return app->driver->cuEventElapsedTime_v2(&results->pMilliseconds, start->ref->real,
                                                  end->ref->real);
    }
    if (start->context != end->context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(done_at(app, start, &from));
    CU_TRY(done_at(app, end, &to));
    results->pMilliseconds = (float)((double)(int64_t)(to - from) / NS_PER_MS);
    return CUDA_SUCCESS;
}
