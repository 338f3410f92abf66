/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of tests of a node. */
#ifndef SOFTGPU_TESTS_NODE_FIXTURE_H
#define SOFTGPU_TESTS_NODE_FIXTURE_H

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/node/node.h"

#define CHUNKS 100

static char name[SG_NODE_NAME_BYTES];
static struct sg_node_device *device;
static struct sg_node_engine *engine;

static inline void join(void)
{
    const struct sg_node_key key = {.uuid = {1, 2, 3}, .chunks = CHUNKS, .sms = 4};
    if (sg_node_open(name) != GA_OK || sg_node_device_open(&key, &device) != GA_OK) {
        abort();
    }
    engine = &device->engines[0];
}

static inline void setup(void)
{
    snprintf(name, sizeof name, "test-%d", (int)getpid());
}

/* The work of another process; the test reads the bytes that it writes to `out`. */
struct other {
    pid_t pid;
    int in, out;
};

static inline struct other other_start(void (*work)(int in, int out))
{
    int there[2], back[2];
    cr_assert_eq(pipe(there), 0);
    cr_assert_eq(pipe(back), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        join();
        work(there[0], back[1]);
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    return (struct other){pid, there[1], back[0]};
}

static inline void tell(int fd)
{
    if (write(fd, "x", 1) != 1) {
        abort();
    }
}

static inline void hear(int fd)
{
    char byte;
    cr_assert_eq(read(fd, &byte, 1), 1, "the other process has ended");
}

static inline void other_kill(struct other *other)
{
    int status;
    kill(other->pid, SIGKILL);
    cr_assert_eq(waitpid(other->pid, &status, 0), other->pid);
    close(other->in);
    close(other->out);
}

#endif
