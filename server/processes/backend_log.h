/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a backend process, and whatever else is written to its descriptor 2: it comes by a
 * pipe of that process alone, and gpuaasd writes it to its own log, as lines of that process. The
 * process has no descriptor of that log, so it can neither change what is there nor write in the
 * name of others; and gpuaasd writes, and reads, no more of it than base/log_stream.h allows. */
#ifndef SERVER_PROCESSES_BACKEND_LOG_H
#define SERVER_PROCESSES_BACKEND_LOG_H

#include <uv.h>

#include "base/log_stream.h"
#include "server/timers.h"

struct backend_process;

struct backend_log {
    int fd;       /* our end of the pipe; -1: closed */
    bool watched; /* `poll` is a handle of libuv */
    uv_poll_t poll;
    struct server_timers *timers;
    struct server_timer timer; /* until more is read */
    uint64_t since_ns;         /* when the time began in which `bytes` were read */
    size_t bytes;
    struct ga_log_stream stream;
};

/* Reads from now on; if it cannot, at the end. `fd`: a pipe that does not block, taken. `phases`:
 * the process logs each phase of its work. Returns how many handles of libuv it has opened. */
unsigned backend_log_begin(struct backend_process *process, int fd, bool phases);
/* Reads what the process has left in the pipe. Its handles are the caller's to close. */
void backend_log_end(struct backend_log *log);

#endif
