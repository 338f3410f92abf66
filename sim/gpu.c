/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of requests on a GPU: the policy says which may begin, the flow how long they take. */
#include <math.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/world.h"

static const struct sim_phase *phase_now(const struct sim_world *w, uint32_t request)
{
    const struct sim_request *r = &w->requests[request];
    return &r->template->phases[r->phase];
}

/* Whether a copy of pageable memory goes through pinned memory of the server. */
static bool is_pinned(const struct sim_run_keys *run, const struct sim_phase *phase)
{
    return (run->pinned == SIM_PINNED_YES ||
            (run->pinned == SIM_PINNED_PACKED && run->isolation == SIM_ISOLATION_PACKED)) &&
           (phase->kind != GPU_PHASE_H2D || phase->bytes > run->unpinned_most);
}

static struct model_demand demand_of(const struct sim_world *w, uint32_t request)
{
    const struct sim_request *r = &w->requests[request];
    const uint32_t section = w->streams[r->stream].section;
    const struct sim_run_keys *run = &w->scenario->run;
    const struct sim_app *app = &w->apps[w->scenario->streams[section].app_index];
    const struct sim_phase *phase = phase_now(w, request);
    return sim_app_demand(app, phase, w->gpus[r->gpu].device, is_pinned(run, phase));
}

/* ---- the policy */

enum what { WHAT_HOST, WHAT_WANTS, WHAT_BUSY };

/* The request of a session now (sched.h). */
static struct sched_request ask_of(const struct sim_world *w, uint32_t request, enum what what)
{
    const struct sim_request *r = &w->requests[request];
    const struct sim_stream *stream = &w->streams[r->stream];
    const struct sim_stream_keys *keys = &w->scenario->streams[stream->section];
    struct sched_request ask = {.tenant = stream->tenant,
                                .weight = keys->weight,
                                .priority = keys->priority,
                                .cap_percent = keys->cap_percent,
                                .throttle_percent = keys->throttle_percent,
                                .goal_ns = keys->goal_ns};
    if (what == WHAT_HOST) {
        return ask;
    }
    const struct sim_phase *phase = phase_now(w, request);
    const enum gpu_engine engine = gpu_engine_of(phase->kind);
    const uint8_t bit = GPU_ENGINE_BIT(engine);
    ask.phase = phase->kind;
    ask.wants = what == WHAT_WANTS ? bit : 0;
    ask.busy = what == WHAT_BUSY ? bit : 0;
    if (engine == GPU_COMPUTE) {
        const struct model_demand demand = demand_of(w, request);
        const struct soft_device *device = w->gpus[r->gpu].device;
        ask.demand_ppm = (uint32_t)(demand.share[MODEL_RESOURCE_SLOTS] * 1e6);
        ask.bandwidth =
            (uint64_t)(demand.share[MODEL_RESOURCE_BANDWIDTH] * device->memory_mbs * 1e6);
    }
    return ask;
}

enum ga_status sim_gpu_undecided(struct sim_world *w, uint32_t gpu)
{
    if (w->gpus[gpu].sched == NULL || w->gpus[gpu].undecided) {
        return GA_OK;
    }
    SIM_GROW(w->undecided, w->undecided_count, w->undecided_room);
    w->undecided[w->undecided_count++] = gpu;
    w->gpus[gpu].undecided = true;
    return GA_OK;
}

static enum ga_status gpu_tell(struct sim_world *w, uint32_t request, enum what what)
{
    const struct sim_request *r = &w->requests[request];
    struct sim_gpu *gpu = &w->gpus[r->gpu];
    if (gpu->sched == NULL) {
        return GA_OK;
    }
    const struct sched_request ask = ask_of(w, request, what);
    sched_update(gpu->sched, r->slot, &ask, w->now_ns);
    return sim_gpu_undecided(w, r->gpu);
}

enum ga_status sim_gpu_join(struct sim_world *w, uint32_t request)
{
    struct sim_request *r = &w->requests[request];
    struct sim_gpu *gpu = &w->gpus[r->gpu];
    if (gpu->sched == NULL) {
        return GA_OK;
    }
    const struct sched_request ask = ask_of(w, request, WHAT_HOST);
    GA_TRY(sched_join(gpu->sched, &ask, w->now_ns, &r->slot));
    while (gpu->slot_room <= r->slot) {
        size_t count = gpu->slot_room;
        SIM_GROW(gpu->slots, count, gpu->slot_room);
    }
    gpu->slots[r->slot] = request;
    return sim_gpu_undecided(w, r->gpu);
}

void sim_gpu_leave(struct sim_world *w, uint32_t request)
{
    const struct sim_request *r = &w->requests[request];
    struct sim_gpu *gpu = &w->gpus[r->gpu];
    if (gpu->sched != NULL) {
        sched_leave(gpu->sched, r->slot, w->now_ns);
        gpu->slots[r->slot] = SIM_NONE;
    }
}

/* Those that are awake and wait at the gate begin. False in `begun`: nobody did. */
static enum ga_status wake(struct sim_world *w, uint32_t g, bool *begun)
{
    const struct sched_decision decision = sched_decide(w->gpus[g].sched, w->now_ns);
    uint32_t ready[GPU_ENGINES * 4], count = 0;
    for (uint32_t i = 0; i < decision.count && count < sizeof ready / sizeof *ready; i++) {
        const struct sched_awake *awake = &decision.awake[i];
        const uint32_t request = w->gpus[g].slots[awake->slot];
        if (request != SIM_NONE && w->requests[request].state == SIM_REQUEST_GATE &&
            w->now_ns < awake->until) {
            ready[count++] = request;
        }
    }
    *begun = count != 0;
    for (uint32_t i = 0; i < count; i++) {
        w->requests[ready[i]].state = SIM_REQUEST_GPU;
        GA_TRY(gpu_tell(w, ready[i], WHAT_BUSY));
        const uint64_t gate_ns = w->scenario->run.gate_ns;
        if (gate_ns != 0) {
            GA_TRY(SIM_PUT(w, w->now_ns + gate_ns, SIM_EVENT_SUBMIT, ready[i]));
        } else {
            GA_TRY(sim_gpu_submit(w, ready[i]));
        }
    }
    if (!*begun && decision.again != w->gpus[g].again_ns) {
        w->gpus[g].again_ns = decision.again;
        if (decision.again != SCHED_NEVER) {
            GA_TRY(SIM_PUT(w, decision.again, SIM_EVENT_AGAIN, g));
        }
    }
    return GA_OK;
}

enum ga_status sim_gpu_decide(struct sim_world *w)
{
    for (size_t i = 0; i < w->undecided_count; i++) {
        const uint32_t g = w->undecided[i];
        for (bool begun = true; begun;) {
            GA_TRY(wake(w, g, &begun));
        }
        w->gpus[g].undecided = false;
    }
    w->undecided_count = 0;
    return GA_OK;
}

/* ---- the device */

enum ga_status sim_gpu_reach(struct sim_world *w, uint32_t request)
{
    struct sim_request *r = &w->requests[request];
    r->reached_ns = w->now_ns;
    sim_events_reach(w, r, gpu_engine_of(phase_now(w, request)->kind));
    sim_watch_tenant(w, w->streams[r->stream].tenant, true);
    if (w->gpus[r->gpu].sched != NULL) {
        r->state = SIM_REQUEST_GATE;
        return gpu_tell(w, request, WHAT_WANTS);
    }
    r->state = SIM_REQUEST_GPU;
    return sim_gpu_submit(w, request);
}

static enum ga_status flow_event(struct sim_world *w, uint32_t g)
{
    struct sim_gpu *gpu = &w->gpus[g];
    const uint64_t next_ns = gpu->flow.ended != 0   ? w->now_ns /* it is to be taken out */
                             : gpu->flow.count == 0 ? SCHED_NEVER
                                                    : gpu->flow.next_ns;
    if (next_ns == gpu->flow_ns) {
        return GA_OK;
    }
    gpu->flow_ns = next_ns;
    return next_ns == SCHED_NEVER ? GA_OK : SIM_PUT(w, next_ns, SIM_EVENT_FLOW, g);
}

enum ga_status sim_gpu_submit(struct sim_world *w, uint32_t request)
{
    struct sim_request *r = &w->requests[request];
    struct sim_gpu *gpu = &w->gpus[r->gpu];
    if (gpu->flow.count == MODEL_FLOW_WORKS) {
        sim_list_put(w, &gpu->overflow, request);
        return GA_OK;
    }
    const struct model_demand demand = demand_of(w, request);
    r->demand_ns = r->seen_ns = (double)(demand.lead_ns + demand.ns);
    r->span_ns = SCHED_NEVER;
    r->submitted_ns = w->now_ns;
    const uint64_t context =
        w->scenario->run.isolation == SIM_ISOLATION_PACKED ? 1 : (uint64_t)request + 1;
    model_flow_advance(&gpu->flow, gpu->device, w->now_ns);
    GA_TRY(model_flow_add(&gpu->flow, gpu->device, (uint64_t)request + 1, context,
                          gpu_engine_of(phase_now(w, request)->kind), &demand));
    GA_TRY(sim_watch_device(w, r->gpu));
    return flow_event(w, r->gpu);
}

/* How much later than it ended a program sees the end of its operation. */
static uint64_t late_ns(struct sim_world *w, const struct sim_request *r)
{
    const struct sim_run_keys *run = &w->scenario->run;
    double most = (double)(w->now_ns - r->submitted_ns) * run->late_percent / 100;
    most = fmin(most, (double)run->late_most_ns);
    return most != 0 ? (uint64_t)(most * sim_random_unit(&w->calls)) : 0;
}

/* The policy sees that it has. */
static enum ga_status gpu_end_tell(struct sim_world *w, uint32_t request)
{
    const uint64_t seen_ns = w->scenario->run.seen_ns;
    if (seen_ns == 0) {
        return gpu_tell(w, request, WHAT_HOST);
    }
    w->requests[request].seen_at_ns = w->now_ns + seen_ns;
    return SIM_PUT(w, w->now_ns + seen_ns, SIM_EVENT_SEEN, request);
}

enum ga_status sim_gpu_seen(struct sim_world *w, uint32_t request)
{
    const struct sim_request *r = &w->requests[request];
    const bool rests = r->state == SIM_REQUEST_HOST || r->state == SIM_REQUEST_RETURNS;
    return rests && r->seen_at_ns == w->now_ns ? gpu_tell(w, request, WHAT_HOST) : GA_OK;
}

/* An operation has ended. */
static enum ga_status operation_end(struct sim_world *w, uint32_t request, uint32_t engine)
{
    struct sim_request *r = &w->requests[request];
    struct sim_gpu *gpu = &w->gpus[r->gpu];
    sim_watch_tenant(w, w->streams[r->stream].tenant, false);
    sim_measure_wait(w, r);
    if (gpu->sched != NULL) {
        sched_charge(gpu->sched, r->slot, (enum gpu_engine)engine, (uint64_t)r->demand_ns,
                     w->now_ns);
        GA_TRY(gpu_end_tell(w, request));
    }
    r->state = SIM_REQUEST_HOST;
    const uint64_t late = late_ns(w, r);
    return late != 0 ? SIM_PUT(w, w->now_ns + late, SIM_EVENT_PHASE, request)
                     : sim_request_go_on(w, request);
}

enum ga_status sim_gpu_step(struct sim_world *w, uint32_t g)
{
    struct sim_gpu *gpu = &w->gpus[g];
    if (gpu->flow_ns != w->now_ns) {
        return GA_OK; /* it has changed since */
    }
    gpu->flow_ns = SCHED_NEVER;
    model_flow_advance(&gpu->flow, gpu->device, w->now_ns);
    GA_TRY(sim_watch_device(w, g));
    uint32_t ended[MODEL_FLOW_WORKS], engines[MODEL_FLOW_WORKS], count = 0;
    struct model_work work;
    while (model_flow_take(&gpu->flow, 0, &work)) {
        ended[count] = (uint32_t)(work.id - 1);
        engines[count] = work.engine;
        sim_events_end(w, &w->requests[ended[count]], &work);
        GA_TRY(sim_watch_ended(w, ended[count++], &work));
    }
    for (uint32_t i = 0; i < count; i++) {
        GA_TRY(operation_end(w, ended[i], engines[i]));
    }
    while (gpu->overflow.first != SIM_NONE && gpu->flow.count < MODEL_FLOW_WORKS) {
        GA_TRY(sim_gpu_submit(w, sim_list_take(w, &gpu->overflow)));
    }
    return flow_event(w, g);
}
