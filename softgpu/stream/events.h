/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and marks: one recording of an event. All functions want the process's lock held. */
#ifndef SOFTGPU_STREAM_EVENTS_H
#define SOFTGPU_STREAM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "softgpu/process/context.h"

struct sg_event_page;

/* One recording of an event: shared by the event and by the items that wait for it. */
struct sg_mark {
    unsigned references;
    bool done;
    uint64_t time_ns; /* the time of the recording; valid once done */
    /* The page of an event that processes share, held, and the recording there; NULL: it is another
     * event's. */
    struct sg_event_page *page;
    uint64_t recording;
    bool here; /* this process has recorded it; otherwise `done` is found by asking the page */
    uint64_t since_ns; /* when a wait for it was first found */
};

struct sg_event {
    uint64_t handle;
    struct ga_list in_context;
    struct sg_context *context;
    unsigned flags;
    struct sg_mark *mark;       /* NULL: never recorded */
    struct sg_event_page *page; /* the part that other processes see; NULL: not shared yet */
    bool exported;              /* made by this process */
};

struct sg_mark *sg_mark_make(void);
void sg_mark_hold(struct sg_mark *mark);
void sg_mark_drop(struct sg_mark *mark);

CUresult sg_event_make(struct sg_context *context, unsigned flags, struct sg_event **event);
void sg_event_destroy(struct sg_event *event);

#endif
