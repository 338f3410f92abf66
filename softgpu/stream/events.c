/* SPDX-License-Identifier: Apache-2.0 */
/* Making and destroying events and marks. */
#include "softgpu/stream/events.h"

#include <stdlib.h>

#include "softgpu/node/event_page.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/shared_events.h"

struct sg_mark *sg_mark_make(void)
{
    struct sg_mark *mark = calloc(1, sizeof *mark);
    if (mark != NULL) {
        mark->references = 1;
    }
    return mark;
}

void sg_mark_hold(struct sg_mark *mark)
{
    mark->references++;
}

void sg_mark_drop(struct sg_mark *mark)
{
    if (mark != NULL && --mark->references == 0) {
        sg_event_page_drop(mark->page);
        free(mark);
    }
}

CUresult sg_event_make(struct sg_context *context, unsigned flags, struct sg_event **event)
{
    struct sg_event *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (ga_handle_table_make(&sg_process.events, made, &made->handle) != GA_OK) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->context = context;
    made->flags = flags;
    ga_list_append(&context->events, &made->in_context);
    *event = made;
    return CUDA_SUCCESS;
}

void sg_event_destroy(struct sg_event *event)
{
    ga_handle_table_remove(&sg_process.events, event->handle);
    ga_list_remove(&event->in_context);
    sg_event_unshare(event);
    sg_mark_drop(event->mark);
    free(event);
}
