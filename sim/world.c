/* SPDX-License-Identifier: Apache-2.0 */
/* Makes all nodes, GPUs, streams and tenants of a scenario. */
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

/* At least one element, so that NULL is no memory. */
static void *world_array_make(size_t count, size_t bytes)
{
    return calloc(count != 0 ? count : 1, bytes);
}

static uint32_t nodes_all(const struct sim_scenario *s, uint32_t upto)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < upto; i++) {
        count += s->nodes[i].count;
    }
    return count;
}

/* Some tenant or stream limits what it may have, so even the policy `none` has to be asked. */
static bool has_caps(const struct sim_scenario *s)
{
    bool caps = false;
    for (uint32_t i = 0; i < s->stream_count; i++) {
        caps = caps || s->streams[i].cap_percent % 100 != 0 ||
               s->streams[i].throttle_percent % 100 != 0;
    }
    return caps;
}

static enum ga_status gpu_init(struct sim_world *w, const struct sim_gpu_keys *keys, uint32_t node,
                               bool policy)
{
    struct sim_gpu *gpu = &w->gpus[w->gpu_count];
    struct sim_gpu_result *result = &w->result->gpus[w->gpu_count];
    *gpu = (struct sim_gpu){.device = &keys->device,
                            .node = node,
                            .flow_ns = SCHED_NEVER,
                            .again_ns = SCHED_NEVER,
                            .overflow = {SIM_NONE, SIM_NONE}};
    *result = (struct sim_gpu_result){.node = node, .device = &keys->device};
    w->gpu_count++;
    w->result->gpu_count = w->gpu_count;
    if (w->watched) {
        result->use = world_array_make(w->scenario->run.bins, GPU_ENGINES * sizeof *result->use);
        if (result->use == NULL) {
            return GA_NO_MEMORY;
        }
    }
    const struct sched_gpu has = {.copy_engines = keys->device.copy_engines,
                                  .bandwidth = (uint64_t)keys->device.memory_mbs * 1000000,
                                  .side_by_side =
                                      w->scenario->run.isolation == SIM_ISOLATION_PACKED,
                                  .copies_overlap = keys->device.overlap_contexts,
                                  .slices = keys->device.context_slice_ns != 0};
    return policy
               ? sched_create(&gpu->sched, w->scenario->policy, &w->scenario->policy_keys, &has, 0)
               : GA_OK;
}

static enum ga_status nodes_init(struct sim_world *w)
{
    const struct sim_scenario *s = w->scenario;
    const bool policy = s->policy != sched_policy_at(0) || has_caps(s);
    for (uint32_t i = 0; i < s->node_count; i++) {
        for (uint32_t k = 0; k < s->nodes[i].count; k++) {
            struct sim_node *node = &w->nodes[w->node_count];
            *node = (struct sim_node){.keys = &s->nodes[i],
                                      .first_gpu = w->gpu_count,
                                      .queue = {SIM_NONE, SIM_NONE},
                                      .cpu_ns = SCHED_NEVER};
            for (uint32_t g = 0; g < s->gpu_count; g++) {
                if (s->gpus[g].node == i) {
                    GA_TRY(gpu_init(w, &s->gpus[g], w->node_count, policy));
                }
            }
            node->gpu_count = w->gpu_count - node->first_gpu;
            w->node_count++;
        }
    }
    return GA_OK;
}

/* The tenant's index, made if there is none of this name. */
static uint32_t tenant_of(struct sim_world *w, const struct sim_stream_keys *keys, uint32_t section)
{
    for (uint32_t i = 0; i < section; i++) {
        if (strcmp(w->scenario->streams[i].tenant, keys->tenant) == 0) {
            uint32_t t = 0;
            while (strcmp(w->result->tenants[t].name, keys->tenant) != 0) {
                t++;
            }
            return t;
        }
    }
    w->result->tenants[w->tenant_count] =
        (struct sim_tenant_result){.name = keys->tenant, .weight = keys->weight};
    return w->tenant_count++;
}

static void streams_init(struct sim_world *w)
{
    const struct sim_scenario *s = w->scenario;
    w->calls = sim_random_make(w->options->seed, "calls", 0);
    for (uint32_t i = 0; i < s->stream_count; i++) {
        const struct sim_stream_keys *keys = &s->streams[i];
        const uint32_t tenant = tenant_of(w, keys, i);
        const uint32_t node = nodes_all(s, keys->node);
        w->result->streams[i].keys = keys;
        for (uint32_t k = 0; k < keys->count; k++) {
            w->streams[w->stream_count++] =
                (struct sim_stream){.section = i,
                                    .node = keys->spread ? (node + k) % w->node_count : node,
                                    .tenant = tenant,
                                    .random = sim_random_make(w->options->seed, keys->name, k)};
        }
        const uint64_t requests = keys->arrivals == SIM_ARRIVALS_TRACE
                                      ? w->apps[keys->app_index].template_count
                                      : keys->requests;
        w->planned += requests * keys->count;
    }
    w->result->tenant_count = w->tenant_count;
    w->result->stream_count = s->stream_count;
}

static enum ga_status apps_init(struct sim_world *w, char *why, size_t why_room)
{
    const struct sim_scenario *s = w->scenario;
    for (; w->app_count < s->app_count; w->app_count++) {
        GA_TRY(
            sim_app_init(&w->apps[w->app_count], &s->apps[w->app_count], s->name, why, why_room));
    }
    return GA_OK;
}

enum ga_status sim_world_init(struct sim_world *w, const struct sim_scenario *s,
                              const struct sim_options *options, struct sim_result *result,
                              char *why, size_t why_room)
{
    uint32_t gpus = 0, streams = 0;
    for (uint32_t i = 0; i < s->gpu_count; i++) {
        gpus += s->nodes[s->gpus[i].node].count;
    }
    for (uint32_t i = 0; i < s->stream_count; i++) {
        streams += s->streams[i].count;
    }
    *result = (struct sim_result){.seed = options->seed, .bin_ns = 1000000};
    *w = (struct sim_world){
        .scenario = s,
        .options = options,
        .result = result,
        .free_request = SIM_NONE,
        .watched = gpus <= SIM_WATCHED_GPUS && s->stream_count <= SIM_WATCHED_TENANTS,
        .apps = world_array_make(s->app_count, sizeof *w->apps),
        .nodes = world_array_make(nodes_all(s, s->node_count), sizeof *w->nodes),
        .gpus = world_array_make(gpus, sizeof *w->gpus),
        .streams = world_array_make(streams, sizeof *w->streams),
        .tenants = world_array_make(s->stream_count, sizeof *w->tenants),
        .waits = world_array_make(s->stream_count, sizeof *w->waits),
        .completion_rooms = world_array_make(s->stream_count, sizeof *w->completion_rooms),
    };
    result->gpus = world_array_make(gpus, sizeof *result->gpus);
    result->streams = world_array_make(s->stream_count, sizeof *result->streams);
    result->tenants = world_array_make(s->stream_count, sizeof *result->tenants);
    if (w->apps == NULL || w->nodes == NULL || w->gpus == NULL || w->streams == NULL ||
        w->tenants == NULL || w->completion_rooms == NULL || w->waits == NULL ||
        result->gpus == NULL || result->streams == NULL || result->tenants == NULL) {
        return GA_NO_MEMORY;
    }
    GA_TRY(apps_init(w, why, why_room));
    GA_TRY(nodes_init(w));
    streams_init(w);
    return GA_OK;
}

void sim_world_fini(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->app_count; i++) {
        sim_app_fini(&w->apps[i]);
    }
    for (uint32_t i = 0; i < w->node_count; i++) {
        sim_queue_free(&w->nodes[i].cpu);
    }
    for (uint32_t i = 0; i < w->gpu_count; i++) {
        if (w->gpus[i].sched != NULL) {
            sched_destroy(w->gpus[i].sched);
        }
        free(w->gpus[i].slots);
    }
    free(w->apps);
    free(w->nodes);
    free(w->gpus);
    free(w->streams);
    free(w->tenants);
    free(w->completion_rooms);
    free(w->waits);
    free(w->requests);
    free(w->undecided);
    sim_queue_free(&w->queue);
}
