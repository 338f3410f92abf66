/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a node's state. Its holder may have been killed: the state is repaired. Its holder
 * may be stopped, by Ctrl-Z or a batch system: it is continued until it has released the lock, or
 * all other processes would stand still. A process that was stopped while it waited may have been
 * woken in place of the others, so every waiter looks again after a short time. */
#include "softgpu/node/node_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "softgpu/node/node_segment.h"

#define LOCK_PATIENCE_NS (20 * GA_NS_PER_MS) /* the lock is held for microseconds */
#define FORCE_NS         (10 * GA_NS_PER_S)  /* its holder is no process of ours then */
#define WAITERS          FUTEX_WAITERS

static uint32_t lock_self(void)
{
    static _Thread_local uint32_t self;
    if (self == 0) {
        self = (uint32_t)gettid();
    }
    return self;
}

/* ---- threads of others */

bool sg_node_thread_lives(uint32_t thread)
{
    return thread != 0 && thread <= INT32_MAX && (kill((pid_t)thread, 0) == 0 || errno != ESRCH);
}

uint64_t sg_node_thread_born(uint32_t thread)
{
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%u/stat", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const char *at = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    unsigned long long born = 0;
    if (at != NULL) { /* field 22; the name of the program, which may have blanks, is field 2 */
        (void)sscanf(at + 1,
                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
                     " %llu",
                     &born);
    }
    return born;
}

/* The process of the thread if it is stopped and uses this node; else 0. */
static pid_t stopped_process(const struct sg_node *node, uint32_t thread)
{
    char path[64], line[256], state = 0;
    int process = 0;
    snprintf(path, sizeof path, "/proc/%u/status", thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "Tgid: %d", &process);
    }
    if (file != NULL) {
        fclose(file);
    }
    for (uint32_t s = 0; state == 'T' && s < sg_node_slots(node); s++) {
        if (node->slot[s].pid == process) {
            return process;
        }
    }
    return 0;
}

/* ---- the lock */

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    const struct timespec patience = {.tv_nsec = (long)LOCK_PATIENCE_NS};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &patience, NULL, 0);
}

/* Whether the lock may be taken from the thread that holds it. If that is stopped, it runs on. */
static bool holder_is_gone(struct sg_node *node, uint32_t holder, pid_t *resumed)
{
    if (holder == lock_self() || !sg_node_thread_lives(holder)) {
        return true;
    }
    pid_t stopped = stopped_process(node, holder);
    if (stopped > 0 && kill(stopped, SIGCONT) == 0) {
        *resumed = stopped;
    }
    return false;
}

/* As sg_node_lock_take. The word keeps WAITERS, as others may wait. */
static bool lock_wait(struct sg_node *node, pid_t *resumed)
{
    _Atomic uint32_t *word = &node->lock.word;
    const uint32_t mine = lock_self() | WAITERS;
    uint64_t since_ns = ga_clock_ns(), looked_ns = since_ns;
    for (;;) {
        uint32_t seen = atomic_load(word);
        bool is_free = (seen & FUTEX_TID_MASK) == 0, take = is_free;
        uint64_t now_ns = ga_clock_ns();
        if (!is_free && now_ns - looked_ns >= LOCK_PATIENCE_NS) {
            looked_ns = now_ns;
            take = holder_is_gone(node, seen & FUTEX_TID_MASK, resumed) ||
                   now_ns - since_ns >= FORCE_NS;
        }
        if (take) {
            if (atomic_compare_exchange_strong(word, &seen, mine)) {
                return is_free;
            }
        } else if ((seen & WAITERS) != 0 ||
                   atomic_compare_exchange_strong(word, &seen, seen | WAITERS)) {
            wait_while(word, seen | WAITERS);
        }
    }
}

bool sg_node_lock_take(struct sg_node *node)
{
    pid_t resumed = 0;
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&node->lock.word, &nobody, lock_self())) {
        return true;
    }
    bool orderly = lock_wait(node, &resumed);
    if (resumed != 0) {
        (void)kill(resumed, SIGSTOP); /* stopped again; it cannot have the lock now */
    }
    return orderly;
}

void sg_node_lock_release(struct sg_node *node)
{
    _Atomic uint32_t *word = &node->lock.word;
    uint32_t seen = lock_self();
    while ((seen & FUTEX_TID_MASK) == lock_self()) { /* else somebody has taken it */
        if (atomic_compare_exchange_strong(word, &seen, 0)) {
            if ((seen & WAITERS) != 0) {
                (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
            }
            return;
        }
    }
}
