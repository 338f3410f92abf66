/* SPDX-License-Identifier: Apache-2.0 */
/* A process in the sandbox, and what has become of it. */
#ifndef SERVER_TESTS_CONFINED_H
#define SERVER_TESTS_CONFINED_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/backend/sandbox.h"
#include "server/channel.h"

/* Builds with a sanitizer allow some calls that users' builds do not. */
#ifdef GPUAAS_FAILPOINTS
#define FOR_USERS false
#else
#define FOR_USERS true
#endif

/* In the process: ends it if the condition does not hold. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "not allowed: %s (%s)\n", #condition, strerror(errno));                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline void enter(const struct sandbox_needs *needs)
{
    char why[300];
    if (sandbox_calls(needs, why, sizeof why) != GA_OK) {
        fprintf(stderr, "%s\n", why);
        _exit(90);
    }
}

/* Runs `work` in the sandbox, in a process with a channel, and returns its wait status; `*call` is
 * what it has told gpuaasd, or -1. `prepare` comes before the sandbox; or NULL. */
static inline int confined(const struct sandbox_needs *needs, void (*prepare)(void),
                           void (*work)(void), int *call)
{
    int ends[2], status;
    union channel_packet packet;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)dup2(ends[1], CHANNEL_FD);
        if (prepare != NULL) {
            prepare();
        }
        enter(needs);
        work();
        _exit(0);
    }
    close(ends[1]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    *call = channel_receive(ends[0], &packet) == GA_OK && packet.kind == CHANNEL_FORBIDDEN
                ? packet.forbidden.call
                : -1;
    close(ends[0]);
    return status;
}

#endif
