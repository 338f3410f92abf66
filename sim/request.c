/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request: it arrives, waits for a server thread of its node, gets a GPU, does its
 * phases, and exits. */
#include <math.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/world.h"

static const struct sim_stream_keys *keys_of(const struct sim_world *w, uint32_t stream)
{
    return &w->scenario->streams[w->streams[stream].section];
}

static const struct sim_app *app_of(const struct sim_world *w, uint32_t stream)
{
    return &w->apps[keys_of(w, stream)->app_index];
}

static enum ga_status request_make(struct sim_world *w, uint32_t *request)
{
    if (w->free_request != SIM_NONE) {
        *request = w->free_request;
        w->free_request = w->requests[*request].next;
        return GA_OK;
    }
    SIM_GROW(w->requests, w->request_count, w->request_room);
    *request = w->request_count++;
    return GA_OK;
}

/* ---- arrivals */

uint64_t sim_request_next_arrival(const struct sim_scenario *scenario, const struct sim_app *app,
                                  struct sim_stream *stream, uint64_t now_ns)
{
    const struct sim_stream_keys *keys = &scenario->streams[stream->section];
    const uint64_t until_ns = scenario->run.until_ns;
    const uint32_t all =
        keys->arrivals == SIM_ARRIVALS_TRACE ? app->template_count : keys->requests;
    if (all != 0 && stream->issued >= all) {
        return SCHED_NEVER;
    }
    uint64_t at_ns = now_ns;
    if (keys->arrivals == SIM_ARRIVALS_EXPONENTIAL) {
        const double runtime_ns = (double)(app->templates[0].alone_ns - app->reference.context_ns);
        const double mean_ns =
            keys->mean_ns != 0 ? (double)keys->mean_ns : keys->alpha * runtime_ns;
        at_ns += (uint64_t)ceil(sim_random_exponential(&stream->random, mean_ns));
    } else if (keys->arrivals == SIM_ARRIVALS_TRACE) {
        const uint64_t arrival_ns = app->templates[stream->issued].arrival_ns;
        const bool after = arrival_ns == SIM_ARRIVES_AFTER && stream->issued != 0;
        const uint64_t given_ns =
            keys->start_ns + (arrival_ns == SIM_ARRIVES_AFTER ? 0 : arrival_ns);
        at_ns = after ? SCHED_NEVER : given_ns > now_ns ? given_ns : now_ns;
    }
    return until_ns != 0 && at_ns != SCHED_NEVER && at_ns >= until_ns ? SCHED_NEVER : at_ns;
}

/* Puts the event of the next arrival, which follows one at the world's time. */
static enum ga_status arrival_put(struct sim_world *w, uint32_t stream, uint64_t from_ns)
{
    const uint64_t at_ns =
        sim_request_next_arrival(w->scenario, app_of(w, stream), &w->streams[stream], from_ns);
    if (at_ns == SCHED_NEVER) {
        return GA_OK;
    }
    w->arrivals++;
    return SIM_PUT(w, at_ns, SIM_EVENT_ARRIVAL, stream);
}

enum ga_status sim_request_streams_start(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->stream_count; i++) {
        GA_TRY(arrival_put(w, i, keys_of(w, i)->start_ns));
    }
    return GA_OK;
}

/* ---- server threads and GPUs */

static uint32_t gpu_choose(struct sim_world *w, uint32_t stream)
{
    struct sim_node *node = &w->nodes[w->streams[stream].node];
    switch ((enum sim_balance)w->scenario->run.balance) {
    case SIM_BALANCE_FIRST:
        return node->first_gpu;
    case SIM_BALANCE_GRR_NODE:
        return node->first_gpu + node->turn++ % node->gpu_count;
    case SIM_BALANCE_GRR:
        return w->turn++ % w->gpu_count;
    case SIM_BALANCE_FIXED:
        break;
    }
    return keys_of(w, stream)->gpu;
}

static enum ga_status request_begin(struct sim_world *w, uint32_t request)
{
    struct sim_request *r = &w->requests[request];
    w->nodes[w->streams[r->stream].node].threads++;
    r->begin_ns = w->now_ns;
    sim_events_request(w, r, "begin");
    r->state = SIM_REQUEST_HOST;
    r->gpu = gpu_choose(w, r->stream);
    r->phase = r->round = 0;
    GA_TRY(sim_gpu_join(w, request));
    const uint64_t context_ns =
        w->scenario->run.isolation == SIM_ISOLATION_PACKED ? 0 : w->gpus[r->gpu].device->context_ns;
    r->phase = SIM_NONE; /* before the first */
    return SIM_PUT(w, w->now_ns + context_ns, SIM_EVENT_PHASE, request);
}

static bool thread_is_free(const struct sim_node *node)
{
    return node->keys->threads == 0 || node->threads < node->keys->threads;
}

enum ga_status sim_request_arrive(struct sim_world *w, uint32_t stream)
{
    uint32_t request;
    GA_TRY(request_make(w, &request));
    struct sim_stream *s = &w->streams[stream];
    struct sim_node *node = &w->nodes[s->node];
    const struct sim_app *app = app_of(w, stream);
    w->requests[request] = (struct sim_request){
        .stream = stream,
        .number = s->issued,
        .next = SIM_NONE,
        .template = &app->templates[s->issued % app->template_count],
        .state = SIM_REQUEST_QUEUED,
        .arrival_ns = w->now_ns,
        .span_ns = SCHED_NEVER,
    };
    s->issued++;
    sim_events_request(w, &w->requests[request], "arrive");
    sim_measure_live(w, 1);
    if (keys_of(w, stream)->arrivals != SIM_ARRIVALS_CLOSED) {
        GA_TRY(arrival_put(w, stream, w->now_ns));
    }
    if (thread_is_free(node)) {
        return request_begin(w, request);
    }
    sim_list_put(w, &node->queue, request);
    return GA_OK;
}

static enum ga_status request_end(struct sim_world *w, uint32_t request)
{
    const struct sim_request ended = w->requests[request];
    struct sim_node *node = &w->nodes[w->streams[ended.stream].node];
    sim_gpu_leave(w, request);
    sim_events_request(w, &ended, "exit");
    GA_TRY(sim_gpu_undecided(w, ended.gpu));
    GA_TRY(sim_measure_request(w, &ended));
    sim_measure_live(w, -1);
    w->requests[request].state = SIM_REQUEST_FREE;
    w->requests[request].next = w->free_request;
    w->free_request = request;
    w->ended++;
    node->threads--;
    if (node->queue.first != SIM_NONE) {
        GA_TRY(request_begin(w, sim_list_take(w, &node->queue)));
    }
    const struct sim_app *app = app_of(w, ended.stream);
    const uint32_t issued = w->streams[ended.stream].issued;
    const bool after = keys_of(w, ended.stream)->arrivals == SIM_ARRIVALS_TRACE &&
                       ended.number + 1 == issued && issued < app->template_count &&
                       app->templates[issued].arrival_ns == SIM_ARRIVES_AFTER;
    if (keys_of(w, ended.stream)->arrivals == SIM_ARRIVALS_CLOSED) {
        return arrival_put(w, ended.stream, w->now_ns);
    }
    w->arrivals += after;
    return after ? SIM_PUT(w, w->now_ns, SIM_EVENT_ARRIVAL, ended.stream) : GA_OK;
}

/* ---- phases */

static uint64_t forward_ns(struct sim_world *w)
{
    const struct sim_run_keys *run = &w->scenario->run;
    double spread = run->forward_spread / 100;
    if (spread == 0 || run->forward_ns == 0) {
        return run->forward_ns;
    }
    return (uint64_t)((double)run->forward_ns *
                      (1 + spread * (2 * sim_random_unit(&w->calls) - 1)));
}

/* An operation goes to its GPU; the bytes of a copy to the device go before it. */
static enum ga_status operation_begin(struct sim_world *w, uint32_t request,
                                      const struct sim_phase *phase)
{
    const struct sim_request *r = &w->requests[request];
    const uint32_t from = w->streams[r->stream].node, to = w->gpus[r->gpu].node;
    uint64_t at_ns = w->now_ns;
    if (from != to) {
        at_ns = phase->kind == GPU_PHASE_H2D ? sim_node_send(w, from, to, phase->bytes) : at_ns;
        at_ns += w->nodes[from].keys->link_latency_ns;
    }
    at_ns += forward_ns(w);
    return at_ns == w->now_ns ? sim_gpu_reach(w, request)
                              : SIM_PUT(w, at_ns, SIM_EVENT_REACHED, request);
}

/* True: the bytes of a copy to the host are on their way, and SIM_EVENT_PHASE tells their arrival.
 */
static bool bytes_return(struct sim_world *w, uint32_t request, uint64_t *at_ns)
{
    const struct sim_request *r = &w->requests[request];
    const uint32_t from = w->gpus[r->gpu].node, to = w->streams[r->stream].node;
    if (from == to || r->phase == SIM_NONE || r->template->phases[r->phase].kind != GPU_PHASE_D2H) {
        return false;
    }
    *at_ns = sim_node_send(w, from, to, r->template->phases[r->phase].bytes);
    return true;
}

static enum ga_status phase_begin(struct sim_world *w, uint32_t request)
{
    struct sim_request *r = &w->requests[request];
    r->phase++; /* from SIM_NONE: 0 */
    if (r->phase >= r->template->phase_count) {
        r->phase = 0;
        r->round++;
    }
    if (r->round >= r->template->rounds || r->template->phase_count == 0) {
        return request_end(w, request);
    }
    const struct sim_phase *phase = &r->template->phases[r->phase];
    return phase->kind == GPU_PHASE_DFL ? sim_node_compute(w, request, phase->ns)
                                        : operation_begin(w, request, phase);
}

enum ga_status sim_request_go_on(struct sim_world *w, uint32_t request)
{
    uint64_t at_ns;
    if (w->requests[request].state == SIM_REQUEST_HOST && bytes_return(w, request, &at_ns)) {
        w->requests[request].state = SIM_REQUEST_RETURNS;
        return SIM_PUT(w, at_ns, SIM_EVENT_PHASE, request);
    }
    w->requests[request].state = SIM_REQUEST_HOST;
    return phase_begin(w, request);
}
