/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator of GPU sharing: discrete events in virtual time. A run depends on the scenario and
 * the seed alone: the same two give the same result to the last bit.
 *
 * GPUs are those of model/flow.h, policies those of sched/, which gpuaasd runs too. One thread. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdio.h>

#include "sim/scenario.h"
#include "sim/trace.h"

/* The requests of all streams of one section that have been counted (not the warm-up). */
struct sim_stream_result {
    const struct sim_stream_keys *keys; /* the scenario's */
    uint64_t requests;                  /* all that have ended */
    uint64_t counted;
    uint64_t *completions_ns;                /* of those counted, from arrival to exit; ascending */
    double completion_mean_ns, wait_mean_ns; /* wait: for a server thread */
    double alone_mean_ns;
    double slowdown_mean; /* T_shared/T_alone */
    double speed_mean;    /* T_alone/T_shared */
    uint64_t operations;  /* of GPUs that have ended, of all requests */
    double operation_wait_mean_ns, operation_wait_p99_ns; /* beyond the time that it takes alone;
                                                           * the second to 12 % */
    double bounded_slowdown_mean;                         /* BSLD, of 10 s */
};

struct sim_tenant_result {
    const char *name; /* the scenario's */
    uint32_t weight;
    double service_ns;   /* of GPUs: time that its work would take alone */
    double contended_ns; /* of that, while all tenants had work for GPUs */
};

struct sim_gpu_result {
    uint32_t node;
    const struct soft_device *device; /* the scenario's */
    uint64_t busy_ns[GPU_ENGINES];
    uint64_t idle_ns;   /* no engine was busy */
    uint64_t idle_gaps; /* of more than 1 ms */
    float *use;         /* part of each bin in which each engine was busy: [bins][GPU_ENGINES] */
};

/* Part of the life of an operation on an engine. */
struct sim_span {
    uint64_t from_ns, to_ns;
    uint32_t gpu, engine, stream; /* index of the stream's section */
};

struct sim_metrics {
    double weighted_speedup; /* WS: mean of T_alone/T_shared over applications (Strings V-A) */
    double antt, stp;        /* Eyerman, Eeckhout, IEEE Micro 2008 */
    double jain_slow;        /* of slowdowns over applications (DCUDA 4.5) */
    double jain_share;       /* of GPU service by weight over tenants, while all had work (Strings,
                              * Rain); -1: there was no such time, or there is one tenant */
    double contended_share;  /* of the run, during which all tenants had work */
    double bounded_slowdown;
};

struct sim_result {
    uint64_t seed, end_ns, events;
    struct sim_stream_result *streams;
    struct sim_tenant_result *tenants;
    struct sim_gpu_result *gpus;
    uint32_t stream_count, tenant_count, gpu_count;
    uint64_t bin_ns; /* how long a bin is; 0: too many GPUs for them */
    uint32_t bin_count;
    double requests_ns;    /* integral of the number of requests that are there over time */
    double completions_ns; /* sum over all requests: Little's law says the two are equal */
    struct sim_metrics metrics;
    struct sim_span *spans; /* in the order in which they begin */
    size_t span_count, span_room;
};

struct sim_options {
    uint64_t seed;
    FILE *events;                        /* the log of events; NULL: none */
    uint64_t spans_from_ns, spans_to_ns; /* spans that touch this time are kept; equal: none */
    /* Called now and then; NULL: never. `done` of `all` requests (0: not known) have ended. */
    void (*progress)(void *user, uint64_t now_ns, uint64_t done, uint64_t all);
    void *user;
};

/* GA_NO_MEMORY, or GA_INVALID with a reason: a trace is wrong. The scenario must outlive the
 * result, which sim_result_free frees. */
GA_CHECKED enum ga_status sim_run(const struct sim_scenario *scenario,
                                  const struct sim_options *options, struct sim_result *result,
                                  char *why, size_t why_room);
void sim_result_free(struct sim_result *result);

/* The requests that the scenario draws with this seed, as a trace; closed and once: `requests` of
 * them. GA_INVALID: too many for a trace. */
GA_CHECKED enum ga_status sim_draw_trace(const struct sim_scenario *scenario, uint64_t seed,
                                         struct sim_trace *trace, char *why, size_t why_room);

/* Jain's index of fairness of `count` numbers: (sum)^2 / (count * sum of squares); 1 for none. */
double sim_jain(const double *numbers, size_t count);

#endif
