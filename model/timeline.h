/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a device's engines by the timing model: when its kernels and copies run. Plain
 * data of a fixed size, all zeros at first, so that processes can share it; the caller holds the
 * lock that guards it.
 *
 * Kernels of one context share the device: each takes what the kernels placed before it leave, so
 * its end is known when it is placed. Kernels of two contexts never run at the same time. */
#ifndef MODEL_TIMELINE_H
#define MODEL_TIMELINE_H

#include "model/timing.h"

#define MODEL_TIMELINE_SPANS 128

struct model_timeline_span {
    uint64_t work; /* `work` of the timeline when it was placed */
    uint64_t start_ns, end_ns;
    double used[MODEL_RESOURCES];
};

struct model_timeline {
    uint64_t work;     /* the caller's name for what is placed next (ledger.h) */
    uint64_t owner;    /* the context whose kernels run; 0: none so far */
    uint64_t owner_ns; /* no work of the owner begins before */
    uint64_t kernels_until_ns, copies_until_ns[2]; /* H2D, D2H */
    uint32_t span_count;
    struct model_timeline_span spans[MODEL_TIMELINE_SPANS]; /* of kernels */
};

struct model_period {
    uint64_t start_ns, end_ns;
};

/* A copy of a timeline that anybody may have written to: it is well-formed, and nothing on it lasts
 * longer than MODEL_TIMELINE_AHEAD_NS from now on; else it is a new one. */
#define MODEL_TIMELINE_AHEAD_NS (7200 * UINT64_C(1000000000)) /* two of the longest kernels */
void model_timeline_copy(struct model_timeline *to, const struct model_timeline *from,
                         uint64_t now_ns);

/* Finds the first place for the work of `context` (not 0) from `ready_ns` on, and occupies it. */
struct model_period model_timeline_place(struct model_timeline *line,
                                         const struct soft_device *device, enum gpu_engine engine,
                                         uint64_t context, const struct model_demand *demand,
                                         uint64_t ready_ns);

#endif
