// SPDX-License-Identifier: Apache-2.0
// A program of two processes that speak over pipes. Fork before the first CUDA call.
#ifndef TESTS_KERNELS_OTHER_PROCESS_H
#define TESTS_KERNELS_OTHER_PROCESS_H

#include <unistd.h>

#include "check.h"

static inline void send(int to, const void *bytes, size_t size)
{
    if (write(to, bytes, size) != (ssize_t)size)
        fail("the other process is gone");
}

static inline void receive(int from, void *bytes, size_t size)
{
    if (read(from, bytes, size) != (ssize_t)size)
        fail("the other process is gone");
}

// 0 in the child. Both read what the other one writes.
static inline pid_t fork_other(int *from, int *to)
{
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0)
        fail("pipe");
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    *from = child == 0 ? there[0] : back[0];
    *to = child == 0 ? back[1] : there[1];
    close(child == 0 ? there[1] : there[0]);
    close(child == 0 ? back[0] : back[1]);
    return child;
}

#endif
