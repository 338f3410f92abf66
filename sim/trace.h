/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of applications: which phases each request has, and when it arrives. The text form is
 * documented in docs/simulator.md. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/gpu_engine.h"
#include "base/status.h"

#define SIM_NAME_BYTES 64 /* of names of streams, applications, tenants; with the NUL */
/* Bounds of a trace: what fits in memory without a thought. */
#define SIM_TRACE_BYTES_MAX    (UINT32_C(64) << 20)
#define SIM_TRACE_REQUESTS_MAX 1000000u
#define SIM_TRACE_PHASES_MAX   4000000u
#define SIM_TRACE_STREAMS_MAX  4096u
#define SIM_TRACE_ROUNDS_MAX   1000000u
/* No time in a trace is longer: a year. */
#define SIM_TRACE_NS_MAX (UINT64_C(366) * 86400 * 1000000000)

struct sim_phase {
    enum gpu_phase kind; /* DFL: the CPU's */
    bool pinned;         /* copies: of the host's memory */
    uint64_t ns;         /* alone on the trace's GPU; of copies only for people, 0: not known */
    uint64_t bytes;      /* copies */
    /* The parts that a kernel takes of the GPU's places for blocks, of its busiest unit and of its
     * memory's bandwidth; each from 0 to 1. */
    double places, issue, bandwidth;
};

#define SIM_ARRIVES_AFTER UINT64_MAX /* when the request before it of the same stream has ended */

struct sim_trace_request {
    uint32_t stream;
    uint32_t rounds;                   /* its phases are done so many times, at least once */
    uint32_t phase_first, phase_count; /* in `phases` */
    uint64_t arrival_ns;               /* from the trace's beginning, or SIM_ARRIVES_AFTER */
};

struct sim_trace {
    char gpu[SIM_NAME_BYTES]; /* model (docs/softgpu-timing.md) on which kernels take their ns */
    char (*streams)[SIM_NAME_BYTES];
    uint32_t stream_count;
    struct sim_trace_request *requests; /* of one stream in the order of their arrival */
    uint32_t request_count;
    struct sim_phase *phases;
    uint32_t phase_count;
};

/* Reads a text; `name` stands in the message. GA_INVALID (then `why` says "name:line: what is
 * wrong; what is allowed") or GA_NO_MEMORY. sim_trace_free frees what it has filled. */
GA_CHECKED enum ga_status sim_trace_read(const char *name, const char *text,
                                         struct sim_trace *trace, char *why, size_t why_room);
/* Reads a file; GA_NOT_FOUND with a reason, too. */
GA_CHECKED enum ga_status sim_trace_read_file(const char *path, struct sim_trace *trace, char *why,
                                              size_t why_room);
void sim_trace_write(FILE *out, const struct sim_trace *trace);
void sim_trace_free(struct sim_trace *trace);

#endif
