/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a scenario as a trace, without running it. */
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/world.h"

struct trace_rooms {
    size_t streams, requests, phases;
};

static enum ga_status request_add(struct sim_trace *trace, struct trace_rooms *rooms,
                                  const struct sim_template *template, uint64_t arrival_ns)
{
    SIM_GROW(trace->requests, trace->request_count, rooms->requests);
    trace->requests[trace->request_count++] =
        (struct sim_trace_request){.stream = trace->stream_count - 1,
                                   .rounds = template->rounds,
                                   .phase_first = trace->phase_count,
                                   .phase_count = template->phase_count,
                                   .arrival_ns = arrival_ns};
    for (uint32_t i = 0; i < template->phase_count; i++) {
        SIM_GROW(trace->phases, trace->phase_count, rooms->phases);
        trace->phases[trace->phase_count++] = template->phases[i];
    }
    return trace->request_count > SIM_TRACE_REQUESTS_MAX ||
                   trace->phase_count > SIM_TRACE_PHASES_MAX
               ? GA_UNSUPPORTED
               : GA_OK;
}

static enum ga_status stream_add(const struct sim_world *w, uint32_t index, struct sim_trace *trace,
                                 struct trace_rooms *rooms)
{
    struct sim_stream stream = w->streams[index];
    const struct sim_stream_keys *keys = &w->scenario->streams[stream.section];
    const struct sim_app *app = &w->apps[keys->app_index];
    const bool closed = keys->arrivals == SIM_ARRIVALS_CLOSED;
    SIM_GROW(trace->streams, trace->stream_count, rooms->streams);
    char *name = trace->streams[trace->stream_count++];
    int length = keys->count == 1 ? snprintf(name, SIM_NAME_BYTES, "%s", keys->name)
                                  : snprintf(name, SIM_NAME_BYTES, "%.50s-%u", keys->name, index);
    if (length < 0 || length >= SIM_NAME_BYTES || trace->stream_count > SIM_TRACE_STREAMS_MAX) {
        return GA_UNSUPPORTED;
    }
    uint64_t at_ns = keys->start_ns;
    for (;;) {
        at_ns = sim_request_next_arrival(w->scenario, app, &stream, at_ns);
        const bool first = stream.issued == 0;
        const struct sim_template *template = &app->templates[stream.issued % app->template_count];
        const bool after = keys->arrivals == SIM_ARRIVALS_TRACE &&
                           stream.issued < app->template_count &&
                           template->arrival_ns == SIM_ARRIVES_AFTER && !first;
        if (at_ns == SCHED_NEVER && !after) {
            return GA_OK;
        }
        at_ns = at_ns == SCHED_NEVER ? 0 : at_ns;
        stream.issued++;
        GA_TRY(request_add(trace, rooms, template,
                           after || (closed && !first) ? SIM_ARRIVES_AFTER : at_ns));
    }
}

static enum ga_status world_trace(const struct sim_world *w, struct sim_trace *trace, char *why,
                                  size_t why_room)
{
    struct trace_rooms rooms = {0};
    uint32_t model = 0;
    for (uint32_t i = 0; i < w->stream_count; i++) {
        const uint32_t section = w->streams[i].section;
        const struct sim_stream_keys *keys = &w->scenario->streams[section];
        const struct sim_app *app = &w->apps[keys->app_index];
        if (model != 0 && app->reference.model != model) {
            snprintf(why, why_room,
                     "[app.%s] has another reference GPU than those before; a trace has one",
                     keys->app);
            return GA_INVALID;
        }
        model = app->reference.model;
        if (keys->requests == 0) {
            snprintf(why, why_room, "[stream.%s] requests: 0 has no end; a trace needs a number",
                     keys->name);
            return GA_INVALID;
        }
        enum ga_status status = stream_add(w, i, trace, &rooms);
        if (status == GA_UNSUPPORTED) {
            snprintf(why, why_room, "[stream.%s]: too many requests or streams for a trace",
                     keys->name);
            return GA_INVALID;
        }
        GA_TRY(status);
        const struct sim_app_keys *about = &w->scenario->apps[keys->app_index];
        snprintf(trace->gpu, sizeof trace->gpu, "%s",
                 *about->trace != 0 ? app->trace.gpu : about->reference);
    }
    return GA_OK;
}

enum ga_status sim_draw_trace(const struct sim_scenario *scenario, uint64_t seed,
                              struct sim_trace *trace, char *why, size_t why_room)
{
    const struct sim_options options = {.seed = seed};
    struct sim_result unused;
    struct sim_world w;
    *trace = (struct sim_trace){.stream_count = 0};
    enum ga_status status = sim_world_init(&w, scenario, &options, &unused, why, why_room);
    if (status == GA_OK) {
        status = world_trace(&w, trace, why, why_room);
    }
    sim_world_fini(&w);
    sim_result_free(&unused);
    if (status != GA_OK) {
        sim_trace_free(trace);
    }
    return status;
}
