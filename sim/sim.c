/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of events. */
#include "sim/sim.h"

#include <stdlib.h>

#include "sim/world.h"

#define PROGRESS_EVENTS (1u << 18)

static enum ga_status event_take(struct sim_world *w, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_ARRIVAL:
        w->arrivals--;
        return sim_request_arrive(w, event->target);
    case SIM_EVENT_PHASE:
        return sim_request_go_on(w, event->target);
    case SIM_EVENT_REACHED:
        return sim_gpu_reach(w, event->target);
    case SIM_EVENT_SUBMIT:
        return sim_gpu_submit(w, event->target);
    case SIM_EVENT_CPU:
        return sim_node_step(w, event->target);
    case SIM_EVENT_SEEN:
        return sim_gpu_seen(w, event->target);
    case SIM_EVENT_FLOW:
        return sim_gpu_step(w, event->target);
    case SIM_EVENT_AGAIN:
        if (w->gpus[event->target].again_ns == event->at_ns) {
            w->gpus[event->target].again_ns = SCHED_NEVER;
            return sim_gpu_undecided(w, event->target);
        }
        return GA_OK;
    }
    return GA_INVALID;
}

static enum ga_status sim_events_take(struct sim_world *w)
{
    const struct sim_options *options = w->options;
    struct sim_event event;
    while (sim_queue_take(&w->queue, &event)) {
        w->now_ns = event.at_ns;
        GA_TRY(event_take(w, &event));
        if (w->undecided_count != 0) {
            GA_TRY(sim_gpu_decide(w));
        }
        if (++w->result->events % PROGRESS_EVENTS == 0 && options->progress != NULL) {
            options->progress(options->user, w->now_ns, w->ended, w->planned);
        }
        if (w->live == 0 && w->arrivals == 0) {
            break; /* what may be left are decisions about nothing */
        }
    }
    return GA_OK;
}

enum ga_status sim_run(const struct sim_scenario *scenario, const struct sim_options *options,
                       struct sim_result *result, char *why, size_t why_room)
{
    struct sim_world w;
    enum ga_status status = sim_world_init(&w, scenario, options, result, why, why_room);
    if (status == GA_OK) {
        sim_events_begin(&w);
        status = sim_request_streams_start(&w);
    }
    if (status == GA_OK) {
        status = sim_events_take(&w);
    }
    if (status == GA_OK) {
        result->end_ns = w.now_ns;
        sim_watch_finish(&w);
        sim_measure_finish(&w);
    }
    sim_world_fini(&w);
    if (status != GA_OK) {
        sim_result_free(result);
    }
    return status;
}

void sim_result_free(struct sim_result *result)
{
    for (uint32_t i = 0; i < result->gpu_count; i++) {
        free(result->gpus[i].use);
    }
    for (uint32_t i = 0; i < result->stream_count; i++) {
        free(result->streams[i].completions_ns);
    }
    free(result->gpus);
    free(result->streams);
    free(result->tenants);
    free(result->spans);
    *result = (struct sim_result){.seed = 0};
}
