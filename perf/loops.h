/* SPDX-License-Identifier: Apache-2.0 */
/* The shared header of the loops: the measured device, and the result of a measurement. */
#ifndef PERF_LOOPS_H
#define PERF_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/cuda.h"
#include "perf/null/report.h"

/* The bytes of the device, and of each of the program's buffers. */
#define LOOPS_MEMORY (UINT64_C(64) << 20)

struct measure { /* one line of stdin, and what came of it */
    char name[32], kind[16];
    uint64_t bytes, count;
    struct null_report expected; /* how the device's counts have to grow, at least */
    uint64_t start_ns, posted_ns, end_ns;
    uint64_t client_mallocs;
    bool singly; /* the time of each has been given to loops_single */
};

extern struct cuda loops_cuda;
extern CUstream loops_stream;
extern CUevent loops_event;
extern CUdeviceptr loops_memory;

_Noreturn void loops_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult result_ = loops_cuda.call;                                                        \
        if (result_ != CUDA_SUCCESS) {                                                             \
            loops_fail("%s: error %d", #call, (int)result_);                                       \
        }                                                                                          \
    } while (0)

/* Posts launch `number` of this measurement. */
void loops_launch(uint64_t number);
/* The device has to have seen launches 0 to count - 1. */
void loops_expect_launches(struct measure *measure, uint64_t count);
void loops_begin(struct measure *measure);
void loops_finish(struct measure *measure);
/* The time of call (or round) `number`, which began at `before`; less than TIMING_MAX. */
void loops_single(uint64_t number, uint64_t before);
/* The program's two buffers; borrowed, they stay. */
void loops_buffers(bool pin, uint8_t **source, uint8_t **sink);

/* ---- loops_waits.c ---- */

/* Makes a call that waits, of this kind, so many times. */
void loops_waits(struct measure *measure);

/* ---- loops_mix.c ---- */

/* Fills `bytes` of the program's memory and of the device's equally. */
void loops_mix_fill(struct measure *measure);
/* A session of many: launches, copies and waits in turn, for `count` milliseconds from `kind` on,
 * which is a time of CLOCK_MONOTONIC in milliseconds. It cycles through `bytes` of memory, which
 * have been filled before. Rounds that ended in time are counted. */
void loops_mix(struct measure *measure);

#endif
