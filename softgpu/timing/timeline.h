/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a device's engines by the timing model: when its kernels and copies run. Plain
 * data of a fixed size, all zeros at first, so that processes can share it; the caller holds the
 * lock that guards it.
 *
 * Kernels of one context share the device: each takes what the kernels placed before it leave, so
 * its end is known when it is placed. Kernels of two contexts never run at the same time. */
#ifndef SOFTGPU_TIMING_TIMELINE_H
#define SOFTGPU_TIMING_TIMELINE_H

#include "softgpu/timing/timing.h"

#define SG_TIMELINE_SPANS 128

struct sg_timeline_span {
    uint64_t start_ns, end_ns;
    double used[SG_RESOURCES];
};

struct sg_timeline {
    uint64_t owner;    /* the context whose kernels run; 0: none so far */
    uint64_t owner_ns; /* no work of the owner begins before */
    uint64_t kernels_until_ns, copies_until_ns[2];
    uint32_t span_count;
    struct sg_timeline_span spans[SG_TIMELINE_SPANS]; /* of kernels */
};

struct sg_period {
    uint64_t start_ns, end_ns;
};

enum sg_timeline_engine { SG_TIMELINE_H2D, SG_TIMELINE_D2H, SG_TIMELINE_COMPUTE };

/* A copy of a timeline that anybody may have written to: it is well-formed, and nothing on it lasts
 * longer than SG_TIMELINE_AHEAD_NS from now on; else it is a new one. */
#define SG_TIMELINE_AHEAD_NS (60 * UINT64_C(1000000000))
void sg_timeline_copy(struct sg_timeline *to, const struct sg_timeline *from, uint64_t now_ns);

/* Finds the first place for the work of `context` (not 0) from `ready_ns` on, and occupies it. */
struct sg_period sg_timeline_place(struct sg_timeline *line, const struct soft_device *device,
                                   enum sg_timeline_engine engine, uint64_t context,
                                   const struct sg_demand *demand, uint64_t ready_ns);

#endif
