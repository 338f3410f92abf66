/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that end at a time of ga_clock_ns(). Nothing waits by the wall clock, because setting
 * that would change how long a wait takes. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

/* For ga_cond_wait_until: a condition of PTHREAD_COND_INITIALIZER uses the wall clock. */
static inline void ga_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* False: the time has come. True: a signal or a spurious wake-up. */
static inline bool ga_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                                      uint64_t until_ns)
{
    const struct timespec until = ga_clock_time(until_ns);
    return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}

/* Returns the result of pthread_mutex_lock, or ETIMEDOUT. */
static inline int ga_mutex_lock_until(pthread_mutex_t *lock, uint64_t until_ns)
{
#if defined(__SANITIZE_THREAD__) /* ThreadSanitizer does not know pthread_mutex_clocklock */
    int rc;
    while ((rc = pthread_mutex_trylock(lock)) == EBUSY && ga_clock_ns() < until_ns) {
        nanosleep(&(struct timespec){.tv_nsec = (long)(GA_NS_PER_MS / 10)}, NULL);
    }
    return rc == EBUSY ? ETIMEDOUT : rc;
#else
    const struct timespec until = ga_clock_time(until_ns);
    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
#endif
}

#endif
