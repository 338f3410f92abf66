/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes of a node share. Each recording has a number. It counts as done when that
 * number or a later one is done, or when the process that recorded last is dead. No process is told
 * of another's recordings: while one is waited for, the thread that polls values polls it, too. */
#include "softgpu/stream/shared_events.h"

#include "softgpu/process/process.h"
#include "softgpu/stream/values.h"

static bool there(const struct sg_node_event *shared, uint64_t id)
{
    return atomic_load(&shared->id) == id;
}

CUresult sg_event_share(struct sg_event *event)
{
    sg_node_lock();
    event->shared = sg_node_event_make();
    event->shared_id = event->shared != NULL ? atomic_load(&event->shared->id) : 0;
    event->shared_here = true;
    sg_node_unlock();
    return event->shared != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void sg_event_unshare(struct sg_event *event)
{
    if (event->shared != NULL && event->shared_here) {
        atomic_store(&event->shared->id, 0);
    }
}

void sg_event_refresh(struct sg_event *event)
{
    if (event->shared == NULL || !there(event->shared, event->shared_id)) {
        return;
    }
    uint64_t recorded = atomic_load(&event->shared->recorded);
    if (recorded == 0 || (event->mark != NULL && event->mark->number == recorded)) {
        return;
    }
    struct sg_mark *mark = sg_mark_make();
    if (mark != NULL) { /* without memory the old mark stays */
        mark->shared = event->shared;
        mark->shared_id = event->shared_id;
        mark->number = recorded;
        sg_mark_drop(event->mark);
        event->mark = mark;
    }
}

void sg_mark_number(struct sg_mark *mark, const struct sg_event *event)
{
    if (event->shared == NULL || !there(event->shared, event->shared_id)) {
        return;
    }
    mark->shared = event->shared;
    mark->shared_id = event->shared_id;
    mark->here = true;
    atomic_store(&event->shared->recorder, sg_node_process());
    mark->number = atomic_fetch_add(&event->shared->recorded, 1) + 1;
}

void sg_mark_set_done(struct sg_mark *mark)
{
    mark->done = true;
    if (mark->here && there(mark->shared, mark->shared_id)) {
        uint64_t done = atomic_load(&mark->shared->done);
        while (done < mark->number &&
               !atomic_compare_exchange_weak(&mark->shared->done, &done, mark->number)) {
        }
    }
}

static bool recorder_lives(const struct sg_node_event *shared)
{
    sg_node_lock();
    bool lives = sg_node_process_lives(atomic_load(&shared->recorder));
    sg_node_unlock();
    return lives;
}

bool sg_mark_done(struct sg_mark *mark)
{
    if (!mark->done && mark->shared != NULL && !mark->here) {
        mark->done = !there(mark->shared, mark->shared_id) ||
                     atomic_load(&mark->shared->done) >= mark->number ||
                     !recorder_lives(mark->shared);
    }
    return mark->done;
}

bool sg_mark_passed(struct sg_mark *mark)
{
    bool done = sg_mark_done(mark);
    if (!done && mark->shared != NULL && !mark->here) {
        sg_look_again(&mark->since_ns);
    }
    return done;
}
