/* SPDX-License-Identifier: Apache-2.0 */
/* All work of a context at once. */
#include "server/objects/contexts.h"

#include <stdlib.h>

#include "api/call_info.h"
#include "base/clock.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/app/current_context.h"
#include "server/app/fault.h"
#include "server/app/kernel_output.h"
#include "server/meter/meter.h"
#include "server/meter/meter_kernels.h"
#include "server/objects/driver_events.h"
#include "server/objects/peers.h"

void context_switch(struct server_app *app, uint64_t handle)
{
    meter_forget(&app->meter);
    app->current = ga_handle_table_find(&app->objects.contexts, handle);
    CUcontext real = app->current != NULL ? app->current->real : NULL;
    server_check_fault(app, app->driver->cuCtxSetCurrent(real));
}

static CUresult mark_add(struct server_app *app, struct server_context *context, CUstream stream,
                         struct event_marks *marks)
{
    CUresult rc = event_mark(app, context, stream, &event_marks_refs(marks)[marks->count]);
    marks->count += rc == CUDA_SUCCESS;
    return rc;
}

static size_t count_marks(const struct server_context *context)
{
    size_t count = context->heir != NULL ? 2 : 1; /* the null stream besides */
    ga_list_each (at, next, &context->streams) {
        count++;
    }
    return count;
}

/* The context must be current. */
static CUresult mark_all(struct server_app *app, struct server_context *context,
                         struct event_marks *marks)
{
    CUresult rc = mark_add(app, context, NULL, marks);
    if (rc == CUDA_SUCCESS && context->heir != NULL) {
        rc = mark_add(app, context, context->heir, marks);
    }
    ga_list_each (at, next, &context->streams) {
        const struct server_stream *stream = ga_container(at, struct server_stream, link);
        if (rc == CUDA_SUCCESS && stream->build == NULL) { /* a capture is no work */
            stream_apply(app, stream);
            rc = mark_add(app, context, stream->real, marks);
        }
    }
    if (app->elsewhere) {
        context_apply(app, context);
        app->elsewhere = false;
    }
    return rc;
}

CUresult context_mark(struct server_app *app, struct server_context *context,
                      struct event_marks *marks)
{
    CU_TRY(event_marks_make(marks, count_marks(context)));
    return mark_all(app, context, marks);
}

static bool captures(const struct server_context *context)
{
    bool found = false;
    ga_list_each (at, next, &context->streams) {
        found = found || ga_container(at, struct server_stream, link)->build != NULL;
    }
    return found;
}

static bool stream_idle(struct server_app *app, CUcontext context, CUstream stream)
{
    (void)app->driver->cuCtxSetCurrent(context);
    return app->driver->cuStreamQuery(stream) == CUDA_SUCCESS;
}

static bool context_idle(struct server_app *app, const struct server_context *context)
{
    bool idle = !captures(context) && stream_idle(app, context->real, CU_STREAM_LEGACY);
    if (context->heir != NULL) {
        idle = idle && stream_idle(app, context->real, context->heir);
    }
    ga_list_each (at, next, &context->streams) {
        const struct server_stream *stream = ga_container(at, struct server_stream, link);
        bool green = stream->real == NULL;
        idle = idle &&
               stream_idle(app, green ? stream->green->as_context : context->real, stream->real);
    }
    return idle;
}

bool contexts_are_idle(struct server_app *app)
{
    bool idle = true;
    ga_list_each (at, next, &app->objects.context_list) {
        idle = idle && context_idle(app, ga_container(at, struct server_context, link));
    }
    context_apply(app, app->current);
    return idle;
}

/* Whether work of the context may use what is freed of the owner's. */
static bool may_use(const struct server_app *app, const struct server_context *context,
                    const struct server_context *owner, bool everybody)
{
    return everybody || context == owner || peer_reaches(app, context, owner);
}

CUresult context_mark_users(struct server_app *app, const struct server_context *owner,
                            bool everybody, struct event_marks *marks)
{
    size_t count = 0, users = 0;
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *user = ga_container(at, struct server_context, link);
        bool uses = may_use(app, user, owner, everybody);
        count += uses ? count_marks(user) : 0;
        users += uses;
    }
    marks->of_several = users > 1;
    CUresult rc = event_marks_make(marks, count);
    ga_list_each (at, next, &app->objects.context_list) {
        struct server_context *user = ga_container(at, struct server_context, link);
        if (rc == CUDA_SUCCESS && may_use(app, user, owner, everybody)) {
            context_apply(app, user);
            rc = mark_all(app, user, marks);
        }
    }
    context_apply(app, app->current);
    return rc;
}

/* Takes the marks over. */
static CUresult marks_wait(struct server_app *app, struct event_marks *marks)
{
    enum ga_status status = app->carrier->wait(app, marks);
    return status == GA_OK          ? CUDA_SUCCESS
           : status == GA_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_UNKNOWN;
}

enum ga_status context_quiesce(struct server_app *app, struct server_context *context)
{
    struct event_marks marks = {0};
    CUresult rc = context_mark(app, context, &marks);
    GA_TRY(app->carrier->wait(app, &marks));
    return rc == CUDA_SUCCESS ? GA_OK : GA_INVALID;
}

CUresult context_drain(struct server_app *app, struct server_context *context)
{
    struct event_marks marks = {0};
    CUresult rc = context_mark(app, context, &marks);
    CU_TRY(marks_wait(app, &marks)); /* also when marking failed */
    context_apply(app, context);     /* jobs have run meanwhile */
    output_of_context(app);          /* the driver waits for what could not be marked */
    return rc;
}

CUresult context_abandon(struct server_app *app, struct server_context *context)
{
    struct event_marks none = {0};
    atomic_store(&context->ended, true);
    return marks_wait(app, &none);
}

#if CUDA_VERSION >= 12040
CUresult green_mark(struct server_app *app, const struct server_green *green,
                    struct event_marks *marks)
{
    struct event_ref *ref;
    context_apply(app, green->context); /* the event is made in it */
    app->elsewhere = true;
    CU_TRY(event_take(app, green->context, CU_EVENT_DISABLE_TIMING, &ref));
    CUresult rc = app->driver->cuGreenCtxRecordEvent(green->real, ref->real);
    if (rc != CUDA_SUCCESS) {
        event_drop(app, ref);
        return rc;
    }
    event_marks_refs(marks)[marks->count++] = ref;
    return CUDA_SUCCESS;
}

CUresult green_drain(struct server_app *app, const struct server_green *green)
{
    struct event_marks marks = {0};
    CU_TRY(green_mark(app, green, &marks));
    CU_TRY(marks_wait(app, &marks));
    (void)app->driver->cuCtxSetCurrent(green->as_context); /* of no other is waited for */
    app->elsewhere = true;
    output_of_context(app);
    return CUDA_SUCCESS;
}
#endif

/* ---- kernel-time */

void context_limit_kernels(struct server_app *app, const struct server_context *context)
{
    const struct quota *quota = app->ledger->quota;
    driver_limit_call *limit = driver_kernel_limit(app->driver);
    if (quota != NULL && limit != NULL) {
        uint64_t ms = quota_limit_of(quota, LIMIT_KERNEL_TIME);
        (void)limit(context->real, ms != LIMIT_NONE ? ms : 0);
    }
}

void contexts_limit_kernels(struct server_app *app)
{
    if (driver_kernel_limit(app->driver) == NULL && app->ledger->quota != NULL) {
        uint64_t ms = quota_limit_of(app->ledger->quota, LIMIT_KERNEL_TIME);
        meter_limit_kernels(&app->meter, ms < UINT64_MAX / GA_NS_PER_MS ? ms * GA_NS_PER_MS : 0);
    }
    ga_list_each (at, next, &app->objects.context_list) {
        context_limit_kernels(app, ga_container(at, struct server_context, link));
    }
}
