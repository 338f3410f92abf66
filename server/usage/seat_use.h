/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a GPU by an application from a seat, as its backend process says. These are a
 * stranger's numbers. A process that a program has taken over may say less than is true, or more.
 * Times are its part of the times that there were, where others used the GPU, too (gpu_times.h);
 * and all together have had no more than there was. */
#ifndef SERVER_USAGE_SEAT_USE_H
#define SERVER_USAGE_SEAT_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/figures.h"

struct device;
struct usage_seat;

/* A shape of its launches; see struct figures_shape. */
struct seat_shape {
    uint64_t launches; /* about */
    uint32_t grid[3], block[3], shared_bytes, share;
};

struct seat_use {
    const struct device *device;
    uint32_t gpu; /* the same, as an index into the list that clients see */
    uint64_t busy_ns[GPU_ENGINES];
    uint64_t busy_any_ns; /* any of them */
    uint64_t works;
    /* Figures of the request monitor (meter/monitor.h). */
    uint64_t copies[2], copied_bytes[2]; /* to the device, to the host */
    uint64_t demand_ns;                  /* at most busy_ns of the engine COMPUTE, but for streams
                                          * side by side */
    enum gpu_phase phase;
    uint32_t shape_count;
    struct seat_shape shapes[FIGURES_SHAPES]; /* the most frequent first */
};

/* Which GPU that is alone; false: it uses none there, or one that clients do not see. */
bool seat_use_gpu(const struct usage_seat *seat, uint32_t number, struct seat_use *use);
/* The GPU of the row `number` of its figures, from 0, as of now. False: it has used no more. */
bool seat_use_read(const struct usage_seat *seat, uint32_t number, struct seat_use *use);
/* An estimate of the memory traffic of kernels, in bytes a second of GPU time: each byte that is
 * copied to or from the GPU is used there once. (MBF of Strings, SC14, IV-B, counts what kernels
 * access, which no driver tells.) 0: nothing is known. */
uint64_t seat_use_bandwidth(const uint64_t copied_bytes[2], uint64_t busy_any_ns);

#endif
