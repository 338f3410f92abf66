/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes of a node share. No process is told of another's recordings: while one is
 * waited for, the thread that polls values polls it, too.
 *
 * Note: an event gets its page when it is exported first, since pages take descriptors. */
#include "softgpu/stream/shared_events.h"

#include <fcntl.h>
#include <unistd.h>

#include "softgpu/node/event_page.h"
#include "softgpu/node/memory_file.h"
#include "softgpu/node/node.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/values.h"

/* Gives the event a page, if it has none yet, with its last recording. */
static CUresult page_give(struct sg_event *event)
{
    if (event->page != NULL) {
        return CUDA_SUCCESS;
    }
    if ((event->flags & CU_EVENT_INTERPROCESS) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (sg_event_page_make(&event->page) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->exported = true;
    if (event->mark != NULL) {
        sg_mark_number(event->mark, event);
        if (event->mark->done) {
            sg_mark_set_done(event->mark);
        }
    }
    return CUDA_SUCCESS;
}

CUresult sg_event_share(struct sg_event *event, struct sg_ipc_handle *handle)
{
    CU_TRY(page_give(event));
    *handle = (struct sg_ipc_handle){.kind = SG_IPC_EVENT,
                                     .pid = getpid(),
                                     .node = sg_node_id(),
                                     .key = sg_event_page_key(event->page),
                                     .fd = sg_event_page_file(event->page)};
    return CUDA_SUCCESS;
}

CUresult sg_event_share_file(struct sg_event *event, int *fd)
{
    CU_TRY(page_give(event));
    int made = sg_event_page_export(event->page);
    if (made < 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *fd = made;
    return CUDA_SUCCESS;
}

CUresult sg_event_open(struct sg_context *context, const struct sg_ipc_handle *handle,
                       struct sg_event **event)
{
    struct sg_event *made;
    if (handle->kind != SG_IPC_EVENT || handle->node != sg_node_id()) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (handle->pid == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    int fd = sg_memory_file_open(handle->pid, handle->fd, SG_EVENT_PAGE_FILE, O_RDWR);
    CUresult rc = sg_event_open_file(context, fd, &made);
    if (fd >= 0) {
        close(fd);
    }
    if (rc == CUDA_SUCCESS && sg_event_page_key(made->page) != handle->key) {
        sg_event_destroy(made);
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) {
        *event = made;
    }
    return rc;
}

CUresult sg_event_open_file(struct sg_context *context, int fd, struct sg_event **event)
{
    struct sg_event_page *page;
    enum ga_status status = sg_event_page_open(fd, &page);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sg_event_make(context, CU_EVENT_DISABLE_TIMING, event);
    if (rc != CUDA_SUCCESS) {
        sg_event_page_drop(page);
        return rc;
    }
    (*event)->page = page;
    return CUDA_SUCCESS;
}

void sg_event_unshare(struct sg_event *event)
{
    if (event->exported) {
        sg_event_page_withdraw(event->page);
    }
    sg_event_page_drop(event->page);
}

static void mark_of_page(struct sg_mark *mark, struct sg_event_page *page, uint64_t recording)
{
    mark->page = page;
    mark->recording = recording;
    sg_event_page_hold(page);
}

void sg_event_refresh(struct sg_event *event)
{
    uint64_t last = event->page != NULL ? sg_event_page_last(event->page) : 0;
    if (last == 0 || (event->mark != NULL && event->mark->recording == last)) {
        return;
    }
    struct sg_mark *mark = sg_mark_make();
    if (mark != NULL) { /* without memory the old mark stays */
        mark_of_page(mark, event->page, last);
        sg_mark_drop(event->mark);
        event->mark = mark;
    }
}

void sg_mark_number(struct sg_mark *mark, const struct sg_event *event)
{
    if (event->page != NULL) {
        mark_of_page(mark, event->page, sg_event_page_record(event->page));
        mark->here = true;
    }
}

void sg_mark_set_done(struct sg_mark *mark)
{
    mark->done = true;
    if (mark->here) {
        sg_event_page_set_done(mark->page, mark->recording);
    }
}

bool sg_mark_done(struct sg_mark *mark)
{
    if (!mark->done && mark->page != NULL && !mark->here) {
        mark->done = sg_event_page_done(mark->page, mark->recording);
    }
    return mark->done;
}

bool sg_mark_passed(struct sg_mark *mark)
{
    bool done = sg_mark_done(mark);
    if (!done && mark->page != NULL && !mark->here) {
        sg_look_again(&mark->since_ns);
    }
    return done;
}
