/* SPDX-License-Identifier: Apache-2.0 */
/* Clock and standard input of both measuring programs: each line is a command, each answer a
 * line of JSON. */
#ifndef PERF_TIMING_H
#define PERF_TIMING_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

/* Room for the times of single calls, and so the most single calls of a measurement. */
#define TIMING_MAX 1000000u

static inline int timing_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Sorts the times in place and prints the requested values, without the braces. */
static inline void timing_print(uint64_t *each_ns, uint64_t count, uint64_t total_ns)
{
    printf("\"count\": %llu, \"ns\": %llu", (unsigned long long)count,
           (unsigned long long)total_ns);
    if (each_ns != NULL && count != 0) {
        qsort(each_ns, count, sizeof *each_ns, timing_compare);
        printf(", \"p50_ns\": %llu, \"p99_ns\": %llu", (unsigned long long)each_ns[count / 2],
               (unsigned long long)each_ns[count * 99 / 100]);
    }
}

/* A negative core: anywhere. */
static inline void timing_pin(int core)
{
    if (core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)core, &set);
        (void)sched_setaffinity(0, sizeof set, &set);
    }
}

#endif
