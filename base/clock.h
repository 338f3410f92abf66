/* SPDX-License-Identifier: Apache-2.0 */
/* Time for deadlines and durations: CLOCK_MONOTONIC in nanoseconds, never the wall clock. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define GA_NS_PER_US UINT64_C(1000)
#define GA_NS_PER_MS UINT64_C(1000000)
#define GA_NS_PER_S  UINT64_C(1000000000)

static inline uint64_t ga_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * GA_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline struct timespec ga_clock_time(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / GA_NS_PER_S),
                             .tv_nsec = (long)(ns % GA_NS_PER_S)};
}

#endif
