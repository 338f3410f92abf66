/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of GPUs over time: how much of each bin an engine was busy, gaps, spans, and the service
 * of tenants.
 *
 * Note: how long the run will be is not known, so a bin is 1 ms at first, and all of them become
 * twice as long whenever the run has outgrown them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/world.h"

#define WATCH_GAP_NS 1000000

/* ---- bins */

static void bins_fold(struct sim_world *w)
{
    const uint32_t bins = w->scenario->run.bins;
    for (uint32_t g = 0; g < w->gpu_count; g++) {
        float *use = w->result->gpus[g].use;
        for (uint32_t b = 0; b < bins; b++) {
            for (uint32_t e = 0; e < GPU_ENGINES; e++) {
                const float first = 2 * b < bins ? use[2 * b * GPU_ENGINES + e] : 0;
                const float second = 2 * b + 1 < bins ? use[(2 * b + 1) * GPU_ENGINES + e] : 0;
                use[b * GPU_ENGINES + e] = (first + second) / 2;
            }
        }
    }
    w->result->bin_ns *= 2;
}

/* The engine was busy for `busy_ns` of the time from `from_ns` on until now, evenly. */
static void bins_add(struct sim_world *w, float *use, uint32_t engine, uint64_t from_ns,
                     double busy_ns)
{
    const double rate = busy_ns / (double)(w->now_ns - from_ns);
    const uint64_t bin_ns = w->result->bin_ns;
    for (uint64_t at = from_ns; at < w->now_ns;) {
        const uint64_t bin = at / bin_ns, end = (bin + 1) * bin_ns;
        const uint64_t to = end < w->now_ns ? end : w->now_ns;
        use[bin * GPU_ENGINES + engine] += (float)((double)(to - at) * rate / (double)bin_ns);
        at = to;
    }
}

static void bins_take(struct sim_world *w, uint32_t g)
{
    struct sim_gpu *gpu = &w->gpus[g];
    if (w->now_ns == gpu->seen_ns) {
        return;
    }
    while (w->now_ns > w->result->bin_ns * w->scenario->run.bins) {
        bins_fold(w);
    }
    for (uint32_t e = 0; e < GPU_ENGINES; e++) {
        const uint64_t busy_ns = gpu->flow.busy_ns[e];
        if (busy_ns != gpu->busy_seen_ns[e]) {
            bins_add(w, w->result->gpus[g].use, e, gpu->seen_ns,
                     (double)(busy_ns - gpu->busy_seen_ns[e]));
            gpu->busy_seen_ns[e] = busy_ns;
        }
    }
    gpu->seen_ns = w->now_ns;
}

/* ---- service of tenants */

static double left_of(const struct model_work *work, uint64_t ns)
{
    const double left = work->lead_ns + work->left_ns;
    const double rate = work->lead_ns > 0 ? 1 : work->rate;
    return work->state == MODEL_WORK_RUNS ? fmax(left - (double)ns * rate, 0) : fmax(left, 0);
}

static void service_add(struct sim_world *w, uint32_t request, double left_ns)
{
    struct sim_request *r = &w->requests[request];
    struct sim_tenant_result *tenant = &w->result->tenants[w->streams[r->stream].tenant];
    const double done_ns = r->seen_ns - left_ns;
    tenant->service_ns += done_ns;
    tenant->contended_ns += w->contending == w->tenant_count ? done_ns : 0;
    r->seen_ns = left_ns;
}

static void service_take(struct sim_world *w, const struct sim_gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->flow.count; i++) {
        const struct model_work *work = &gpu->flow.works[i];
        service_add(w, (uint32_t)(work->id - 1), left_of(work, w->now_ns - gpu->flow.settled_ns));
    }
}

void sim_watch_tenant(struct sim_world *w, uint32_t tenant, bool waits)
{
    struct sim_tenant *t = &w->tenants[tenant];
    const bool before = t->waiting != 0;
    t->waiting += waits ? 1 : -1u;
    if (before == (t->waiting != 0)) {
        return;
    }
    const bool all = w->contending == w->tenant_count;
    const bool all_now = w->contending + (waits ? 1 : -1u) == w->tenant_count;
    for (uint32_t g = 0; w->watched && all != all_now && g < w->gpu_count; g++) {
        service_take(w, &w->gpus[g]); /* what was done until now counts as before */
    }
    w->contending += waits ? 1 : -1u;
    if (all_now) {
        w->contended_from_ns = w->now_ns;
    } else if (all) {
        w->contended_ns += w->now_ns - w->contended_from_ns;
    }
}

/* ---- spans and gaps */

static enum ga_status span_close(struct sim_world *w, struct sim_request *r, uint32_t engine,
                                 uint64_t to_ns)
{
    struct sim_result *result = w->result;
    const struct sim_span span = {r->span_ns, to_ns, r->gpu, engine, w->streams[r->stream].section};
    r->span_ns = SCHED_NEVER;
    if (span.from_ns < w->options->spans_to_ns && span.to_ns > w->options->spans_from_ns) {
        SIM_GROW(result->spans, result->span_count, result->span_room);
        result->spans[result->span_count++] = span;
    }
    return GA_OK;
}

enum ga_status sim_watch_ended(struct sim_world *w, uint32_t request, const struct model_work *work)
{
    struct sim_request *r = &w->requests[request];
    service_add(w, request, 0);
    return r->span_ns == SCHED_NEVER ? GA_OK : span_close(w, r, work->engine, w->now_ns);
}

static void gap_take(struct sim_world *w, uint32_t g, bool running)
{
    struct sim_gpu *gpu = &w->gpus[g];
    struct sim_gpu_result *result = &w->result->gpus[g];
    if (running && !gpu->running) {
        const uint64_t gap_ns = w->now_ns - gpu->idle_from_ns;
        result->idle_ns += gap_ns;
        result->idle_gaps += gap_ns > WATCH_GAP_NS;
    } else if (!running && gpu->running) {
        gpu->idle_from_ns = w->now_ns;
    }
    gpu->running = running;
}

enum ga_status sim_watch_device(struct sim_world *w, uint32_t g)
{
    const struct sim_gpu *gpu = &w->gpus[g];
    if (!w->watched) {
        return GA_OK;
    }
    const bool spans = w->options->spans_from_ns != w->options->spans_to_ns;
    bool running = false;
    bins_take(w, g);
    service_take(w, gpu);
    for (uint32_t i = 0; i < gpu->flow.count; i++) {
        const struct model_work *work = &gpu->flow.works[i];
        struct sim_request *r = &w->requests[work->id - 1];
        const bool runs = work->state == MODEL_WORK_RUNS && work->begun != 0;
        running = running || runs;
        if (spans && runs && r->span_ns == SCHED_NEVER) {
            r->span_ns = w->now_ns;
        } else if (spans && !runs && r->span_ns != SCHED_NEVER) {
            GA_TRY(span_close(w, r, work->engine, w->now_ns));
        }
    }
    gap_take(w, g, running);
    return GA_OK;
}

static int span_order(const void *a, const void *b)
{
    const struct sim_span *one = a, *other = b;
    if (one->from_ns != other->from_ns) {
        return one->from_ns < other->from_ns ? -1 : 1;
    }
    return one->stream < other->stream ? -1 : one->stream > other->stream;
}

void sim_watch_finish(struct sim_world *w)
{
    if (w->contending == w->tenant_count) {
        w->contended_ns += w->now_ns - w->contended_from_ns;
    }
    struct sim_result *result = w->result;
    if (result->span_count != 0) {
        qsort(result->spans, result->span_count, sizeof *result->spans, span_order);
    }
    for (uint32_t g = 0; g < w->gpu_count; g++) {
        memcpy(result->gpus[g].busy_ns, w->gpus[g].flow.busy_ns, sizeof result->gpus[g].busy_ns);
        if (w->watched) {
            bins_take(w, g);
            result->gpus[g].idle_ns += w->gpus[g].running ? 0 : w->now_ns - w->gpus[g].idle_from_ns;
        }
    }
    result->bin_count =
        w->watched ? (uint32_t)((w->now_ns + result->bin_ns - 1) / result->bin_ns) : 0;
    result->bin_ns = w->watched ? result->bin_ns : 0;
}
