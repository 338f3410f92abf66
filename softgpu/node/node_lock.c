/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a node's state. Its holder may have been killed: the state is repaired. Its holder
 * may be stopped, by Ctrl-Z or a batch system: it is continued until it has released the lock, or
 * all other processes would stand still. A process that was stopped in the queue of the lock may
 * have been woken in place of the others, so every waiter looks again after a short time. */
#include "softgpu/node/node_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>

#include "base/wait.h"

#define NODE_LOCK_PATIENCE_NS (20 * GA_NS_PER_MS) /* the lock is held for microseconds */

/* The number in the mutex is that of a thread; the kernel looks for it when a holder dies. */
static int holder_thread(struct sg_node *node)
{
    return (int)((uint32_t)__atomic_load_n(&node->lock.__data.__lock, __ATOMIC_RELAXED) &
                 FUTEX_TID_MASK);
}

/* The process of the thread if it is stopped and uses this node; else 0. */
static pid_t stopped_process(const struct sg_node *node, int thread)
{
    char path[64], line[256], state = 0;
    int process = 0;
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "Tgid: %d", &process);
    }
    if (file != NULL) {
        fclose(file);
    }
    for (uint32_t s = 0; state == 'T' && s < node->slots; s++) {
        if (node->slot[s].pid == process) {
            return process;
        }
    }
    return 0;
}

/* EOWNERDEAD: its holder has died. */
int sg_node_lock_take(struct sg_node *node)
{
    pid_t resumed = 0;
    int rc = pthread_mutex_trylock(&node->lock);
    if (rc == EBUSY) {
        rc = ga_mutex_lock_until(&node->lock, ga_clock_ns() + NODE_LOCK_PATIENCE_NS);
    }
    while (rc == ETIMEDOUT) {
        pid_t stopped = stopped_process(node, holder_thread(node));
        if (stopped != 0 && kill(stopped, SIGCONT) == 0) {
            resumed = stopped;
        }
        rc = ga_mutex_lock_until(&node->lock, ga_clock_ns() + NODE_LOCK_PATIENCE_NS);
    }
    if (resumed != 0) {
        (void)kill(resumed, SIGSTOP); /* stopped again; it cannot have the lock now */
    }
    return rc;
}
