/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/backend_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/shared_memory.h"

static void descriptor_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void backend_ends_close_theirs(struct backend_ends *ends)
{
    descriptor_close(&ends->channel);
    descriptor_close(&ends->figures);
    descriptor_close(&ends->requests);
    descriptor_close(&ends->grants);
    descriptor_close(&ends->bell);
    descriptor_close(&ends->log);
}

static void memory_unmap(const void *memory, size_t bytes)
{
    if (memory != NULL) {
        (void)munmap((void *)(uintptr_t)memory, bytes);
    }
}

void backend_ends_undo(struct backend_ends *ends)
{
    backend_ends_close_theirs(ends);
    descriptor_close(&ends->our_channel);
    descriptor_close(&ends->our_bell);
    descriptor_close(&ends->our_log);
    memory_unmap(ends->our_figures, FIGURES_BYTES);
    memory_unmap(ends->our_requests, sizeof *ends->our_requests);
    memory_unmap(ends->our_grants, sizeof *ends->our_grants);
}

/* Memory that the process writes. NULL: there is none. */
static const void *memory_make(const char *name, uint64_t bytes, int *fd)
{
    *fd = ga_shared_memory_make(name, bytes);
    return *fd >= 0 ? ga_shared_memory_map(*fd, bytes, NULL) : NULL;
}

static bool sockets_make(int type, int *ours, int *theirs)
{
    int ends[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    *ours = ends[0];
    *theirs = ends[1];
    return true;
}

/* A process waits for room in it; we do not wait for it. */
static bool log_make(struct backend_ends *ends)
{
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        return false;
    }
    ends->our_log = pipe[0];
    ends->log = pipe[1];
    return fcntl(ends->our_log, F_SETFL, O_NONBLOCK) == 0;
}

static bool turns_make(struct backend_ends *ends)
{
    ends->our_requests =
        memory_make("gpuaasd-requests", sizeof *ends->our_requests, &ends->requests);
    ends->our_grants =
        ga_shared_memory_publish("gpuaasd-grants", sizeof *ends->our_grants, &ends->grants);
    return ends->our_requests != NULL && ends->our_grants != NULL &&
           sockets_make(SOCK_STREAM, &ends->our_bell, &ends->bell);
}

enum ga_status backend_ends_make(struct backend_ends *ends, bool turns, char *why, size_t why_size)
{
    *ends = (struct backend_ends){-1, -1, -1, -1, -1, -1, -1, -1, -1, NULL, NULL, NULL};
    ends->our_figures = memory_make("gpuaasd-figures", FIGURES_BYTES, &ends->figures);
    if (ends->our_figures == NULL || (turns && !turns_make(ends)) || !log_make(ends) ||
        !sockets_make(SOCK_SEQPACKET, &ends->our_channel, &ends->channel)) {
        snprintf(why, why_size, "no memory or descriptors for a backend process: %s",
                 strerror(errno));
        backend_ends_undo(ends);
        return GA_NO_MEMORY;
    }
    return GA_OK;
}
