/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the driver: counted, and those without timing used again. */
#include "server/objects/driver_events.h"

#include <stdlib.h>

#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/objects/handles.h"

CUresult event_own(struct server_app *app, struct server_context *context, unsigned flags,
                   CUevent real, struct event_ref **ref)
{
    struct event_ref *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)app->driver->cuEventDestroy_v2(real);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct event_ref){.context = context, .real = real, .flags = flags, .refs = 1};
    ga_list_init(&made->link);
    *ref = made;
    return CUDA_SUCCESS;
}

CUresult event_new(struct server_app *app, struct server_context *context, unsigned flags,
                   struct event_ref **ref)
{
    CUevent real;
    CU_TRY(app->driver->cuEventCreate(&real, flags));
    return event_own(app, context, flags, real, ref);
}

CUresult event_take(struct server_app *app, struct server_context *context, unsigned flags,
                    struct event_ref **ref)
{
    struct event_ref *taken = NULL;
    pthread_mutex_lock(&app->objects.event_lock);
    if (flags == CU_EVENT_DISABLE_TIMING && !ga_list_empty(&context->free_events)) {
        taken = ga_container(context->free_events.next, struct event_ref, link);
        ga_list_remove(&taken->link);
        taken->refs = 1;
    }
    pthread_mutex_unlock(&app->objects.event_lock);
    if (taken == NULL) {
        return event_new(app, context, flags, ref);
    }
    *ref = taken;
    return CUDA_SUCCESS;
}

void event_keep(struct server_app *app, struct event_ref *ref)
{
    pthread_mutex_lock(&app->objects.event_lock);
    ref->refs++;
    pthread_mutex_unlock(&app->objects.event_lock);
}

void event_drop(struct server_app *app, struct event_ref *ref)
{
    bool destroy = false;
    pthread_mutex_lock(&app->objects.event_lock);
    if (--ref->refs == 0) {
        destroy = ref->flags != CU_EVENT_DISABLE_TIMING;
        if (!destroy) {
            ga_list_append(&ref->context->free_events, &ref->link);
        }
    }
    pthread_mutex_unlock(&app->objects.event_lock);
    if (destroy) {
        (void)app->driver->cuEventDestroy_v2(ref->real);
        free(ref);
    }
}

CUresult event_mark(struct server_app *app, struct server_context *context, CUstream stream,
                    struct event_ref **ref)
{
    struct event_ref *taken;
    CU_TRY(event_take(app, context, CU_EVENT_DISABLE_TIMING, &taken));
    CUresult rc = app->driver->cuEventRecord(taken->real, stream);
    if (rc != CUDA_SUCCESS) {
        event_drop(app, taken);
        return rc;
    }
    *ref = taken;
    return CUDA_SUCCESS;
}

CUresult event_marks_make(struct event_marks *marks, size_t count)
{
    if (count > EVENT_MARKS_FEW) {
        marks->many = calloc(count, sizeof(struct event_ref *));
        return marks->many != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

void event_marks_drop(struct server_app *app, struct event_marks *marks)
{
    for (unsigned i = 0; i < marks->count; i++) {
        event_drop(app, event_marks_refs(marks)[i]);
    }
    marks->count = 0;
    if (marks->many != NULL) {
        free(marks->many);
        marks->many = NULL;
    }
}

uint64_t stream_lane(struct server_app *app, uint64_t wire)
{
    const struct server_stream *stream = ga_handle_table_find(&app->objects.streams, wire);
    bool legacy = wire == 0 || wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY;
    return stream != NULL                   ? stream->lane
           : legacy && app->current != NULL ? app->current->null_lane
                                            : 0;
}

CUresult stream_mark(struct server_app *app, uint64_t wire, struct event_ref **ref, uint64_t *lane)
{
    CUstream real;
    struct server_stream *stream = ga_handle_table_find(&app->objects.streams, wire);
    struct server_context *context = stream != NULL ? stream->context : app->current;
    if (context != NULL && context != app->current) {
        context_apply(app, context);
        app->elsewhere = true;
    }
    CU_TRY(server_handle_stream(app, wire, &real));
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CUresult rc = event_mark(app, context, real, ref);
    if (context != app->current) {
        context_apply(app, app->current);
        app->elsewhere = false;
    }
    *lane = stream != NULL ? stream->lane : context->null_lane;
    return rc;
}
