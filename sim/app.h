/* SPDX-License-Identifier: Apache-2.0 */
/* Applications as the simulator runs them: the phases of their requests, and how long these take.
 */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "model/timing.h"
#include "sim/scenario.h"

struct sim_template { /* of requests */
    const struct sim_phase *phases;
    uint32_t phase_count, rounds;
    uint64_t arrival_ns; /* of a trace; SIM_ARRIVES_AFTER */
    /* On the reference GPU alone: making its context, and every phase one after the other. */
    uint64_t alone_ns;
};

struct sim_app {
    struct soft_device reference; /* kernels take their ns there */
    struct sim_phase own[4];      /* of an application that is described by shares */
    struct sim_trace trace;
    struct sim_template *templates; /* its i-th request is of the template i % template_count */
    uint32_t template_count;
};

/* `folder` is where the scenario lies: traces are relative to it. GA_NO_MEMORY, or GA_INVALID with
 * a reason. sim_app_fini frees what it has filled. */
GA_CHECKED enum ga_status sim_app_init(struct sim_app *app, const struct sim_app_keys *keys,
                                       const char *scenario_path, char *why, size_t why_room);
void sim_app_fini(struct sim_app *app);

/* A GPU of this model (docs/softgpu-timing.md). False: there is none; it is the generic one. */
bool sim_app_model(struct soft_device *device, const char *model);
/* The demand of a phase, which is none of the CPU, on a GPU. */
struct model_demand sim_app_demand(const struct sim_app *app, const struct sim_phase *phase,
                                   const struct soft_device *device, bool pinned);

#endif
