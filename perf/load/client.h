/* SPDX-License-Identifier: Apache-2.0 */
/* One request of a trace, done by this process as a CUDA program. */
#ifndef PERF_LOAD_CLIENT_H
#define PERF_LOAD_CLIENT_H

#include "sim/app.h"

struct load_scale {
    double time;  /* of all phases: their ns, and the bytes of copies */
    double bytes; /* of the bytes of copies besides: for a GPU whose link is slower by that */
};

struct load_gpu {
    int ordinal;
    struct soft_device model; /* kernels take their time there */
};

struct load_result {
    uint64_t begin_ns, end_ns;         /* ga_clock_ns: before cuInit, after the last phase */
    uint64_t ready_ns;                 /* its context and kernel are there */
    uint64_t late_p99_ns, late_max_ns; /* wake-ups from CPU phases, after the time that was due */
    uint64_t phases, cpu_ns;           /* done; and asked for on the CPU */
};

/* False: it has said on stderr which call failed. */
bool load_request(const struct sim_app *app, const struct sim_trace_request *request,
                  const struct load_gpu *gpu, const struct load_scale *scale,
                  struct load_result *result);

#endif
