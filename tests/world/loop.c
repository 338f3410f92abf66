/* SPDX-License-Identifier: Apache-2.0 */
/* Note: the members that are used are libuv's own: of a handle its loop, its callback, whether it
 * closes and what closes next. */
#include "tests/world/loop.h"

#include "base/list.h"

int uv_poll_init(uv_loop_t *loop, uv_poll_t *handle, int fd)
{
    void *data = handle->data;
    *handle = (uv_poll_t){.loop = loop, .data = data, .io_watcher.fd = fd};
    return 0;
}

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb callback)
{
    handle->io_watcher.pevents = (unsigned)events;
    handle->poll_cb = callback;
    return 0;
}

int uv_poll_stop(uv_poll_t *handle)
{
    handle->io_watcher.pevents = 0;
    return 0;
}

void uv_close(uv_handle_t *handle, uv_close_cb callback)
{
    struct world_loop *loop = ga_container(handle->loop, struct world_loop, uv);
    handle->close_cb = callback;
    handle->next_closing = loop->closing;
    loop->closing = handle;
}

void uv_unref(uv_handle_t *handle)
{
    (void)handle; /* nothing keeps this loop */
}

void loop_ready(uv_poll_t *poll, int events)
{
    int wanted = (int)poll->io_watcher.pevents & events;
    if (wanted != 0) {
        poll->poll_cb(poll, 0, wanted);
    }
}

void loop_closes(struct world_loop *loop)
{
    while (loop->closing != NULL) {
        uv_handle_t *handle = loop->closing;
        loop->closing = handle->next_closing;
        if (handle->close_cb != NULL) {
            handle->close_cb(handle);
        }
    }
}
