/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_spawn.h. These functions are found before those of libuv. A handle must be one of
 * libuv's for uv_close; an async handle is, starts nothing, and is smaller. */
#include "tests/fuzz/fake_spawn.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "tests/fuzz/input.h"

_Static_assert(sizeof(uv_async_t) <= sizeof(uv_process_t), "one handle stands in for the other");

static struct {
    uv_process_t *handle; /* NULL: it has exited */
    uv_exit_cb exit_cb;
    int channel;
} processes[FAKE_PROCESSES_MAX];
static unsigned process_count;
static bool fails;

static void nothing(uv_async_t *handle)
{
    (void)handle;
}

int uv_spawn(uv_loop_t *loop, uv_process_t *handle, const uv_process_options_t *options)
{
    bool failed = fails || process_count == FAKE_PROCESSES_MAX;
    fails = false;
    FUZZ_CHECK(uv_async_init(loop, (uv_async_t *)handle, nothing) == 0);
    if (failed) {
        return UV_EAGAIN;
    }
    processes[process_count].handle = handle;
    processes[process_count].exit_cb = options->exit_cb;
    processes[process_count].channel =
        fcntl(options->stdio[CHANNEL_FD].data.fd, F_DUPFD_CLOEXEC, 0);
    FUZZ_CHECK(processes[process_count].channel >= 0);
    process_count++;
    return 0;
}

static void process_exit(unsigned n, int status, int signal)
{
    uv_process_t *handle = n < process_count ? processes[n].handle : NULL;
    if (handle != NULL) {
        processes[n].handle = NULL;
        close(processes[n].channel);
        processes[n].exit_cb(handle, status, signal);
    }
}

int uv_process_kill(uv_process_t *handle, int signal)
{
    for (unsigned i = 0; i < process_count; i++) {
        if (processes[i].handle == handle) {
            process_exit(i, 0, signal);
            return 0;
        }
    }
    return UV_ESRCH;
}

void fake_spawn_fail_next(void)
{
    fails = true;
}

void fake_spawn_says(unsigned n, const union channel_packet *packet, size_t size)
{
    if (n < process_count && processes[n].handle != NULL) {
        (void)!send(processes[n].channel, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void fake_spawn_exits(unsigned n, int status)
{
    process_exit(n, status, 0);
}

void fake_spawn_end(void)
{
    for (unsigned i = 0; i < process_count; i++) {
        process_exit(i, 0, 0);
    }
    process_count = 0;
    fails = false;
}
