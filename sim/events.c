/* SPDX-License-Identifier: Apache-2.0 */
/* The log of events of a run: a text with a line for each, from which others can recompute what the
 * simulator tells (sim/tests/recount.py does). docs/simulator.md has its form. */
#include <inttypes.h>

#include "sim/output.h"
#include "sim/world.h"

void sim_events_begin(const struct sim_world *w)
{
    FILE *out = w->options->events;
    if (out == NULL) {
        return;
    }
    fputs("gpuaas-events 1\n", out);
    for (uint32_t i = 0; i < w->stream_count; i++) {
        const struct sim_stream_keys *keys = &w->scenario->streams[w->streams[i].section];
        fprintf(out, "stream %u %s %s %u\n", i, keys->name,
                w->result->tenants[w->streams[i].tenant].name, keys->weight);
    }
}

void sim_events_request(const struct sim_world *w, const struct sim_request *r, const char *what)
{
    if (w->options->events != NULL) {
        fprintf(w->options->events, "%s %" PRIu64 " %u.%u\n", what, w->now_ns, r->stream,
                r->number);
    }
}

void sim_events_reach(const struct sim_world *w, const struct sim_request *r, uint32_t engine)
{
    if (w->options->events != NULL) {
        fprintf(w->options->events, "reach %" PRIu64 " %u.%u %u %s\n", w->now_ns, r->stream,
                r->number, r->gpu, sim_engine_names[engine]);
    }
}

void sim_events_end(const struct sim_world *w, const struct sim_request *r,
                    const struct model_work *work)
{
    if (w->options->events != NULL) {
        fprintf(w->options->events, "end %" PRIu64 " %u.%u %u %s %" PRIu64 "\n", w->now_ns,
                r->stream, r->number, r->gpu, sim_engine_names[work->engine], work->start_ns);
    }
}
