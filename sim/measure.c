/* SPDX-License-Identifier: Apache-2.0 */
/* Completion times, and the metrics of evaluations. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sim/grow.h"
#include "sim/world.h"

#define BSLD_NS_MIN (10.0 * GA_NS_PER_S) /* bounded slowdown: shorter requests count as this */

double sim_jain(const double *numbers, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += numbers[i];
        squares += numbers[i] * numbers[i];
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 1;
}

void sim_measure_live(struct sim_world *w, int change)
{
    w->result->requests_ns += (double)w->live * (double)(w->now_ns - w->live_seen_ns);
    w->live_seen_ns = w->now_ns;
    w->live += (uint64_t)change;
}

void sim_measure_wait(struct sim_world *w, const struct sim_request *r)
{
    struct sim_waits *waits = &w->waits[w->streams[r->stream].section];
    const double wait_ns = fmax((double)(w->now_ns - r->reached_ns) - r->demand_ns, 0);
    /* Eighths of a power of two: three bits behind the leading one. */
    const uint64_t ns = (uint64_t)wait_ns + 8;
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(ns);
    waits->bins[(power - 3) * 8 + (uint32_t)(ns >> (power - 3) & 7)]++;
    waits->count++;
    waits->sum_ns += wait_ns;
}

/* The upper end of the bin that has the operation which so many others do not exceed. */
static double wait_at(const struct sim_waits *waits, double part)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < SIM_WAIT_BINS; i++) {
        seen += waits->bins[i];
        if ((double)seen >= part * (double)waits->count) {
            return ldexp(8 + i % 8 + 1, (int)(i / 8)) - 8;
        }
    }
    return 0;
}

static void waits_finish(const struct sim_waits *waits, struct sim_stream_result *result)
{
    result->operations = waits->count;
    if (waits->count != 0) {
        result->operation_wait_mean_ns = waits->sum_ns / (double)waits->count;
        result->operation_wait_p99_ns = wait_at(waits, 0.99);
    }
}

/* The first requests of a stream, whose caches and queues are not yet what they will be. */
static bool is_warm_up(const struct sim_world *w, const struct sim_request *r,
                       const struct sim_stream_keys *keys)
{
    const struct sim_run_keys *run = &w->scenario->run;
    if (keys->requests != 0) {
        return (uint64_t)r->number * 100 < (uint64_t)keys->requests * run->warmup_percent;
    }
    return r->arrival_ns * 100 < run->until_ns * run->warmup_percent;
}

enum ga_status sim_measure_request(struct sim_world *w, const struct sim_request *r)
{
    const uint32_t section = w->streams[r->stream].section;
    struct sim_stream_result *result = &w->result->streams[section];
    const uint64_t took_ns = w->now_ns - r->arrival_ns;
    result->requests++;
    w->result->completions_ns += (double)took_ns;
    if (is_warm_up(w, r, result->keys)) {
        return GA_OK;
    }
    const double took = fmax((double)took_ns, 1), alone = (double)r->template->alone_ns;
    SIM_GROW(result->completions_ns, result->counted, w->completion_rooms[section]);
    result->completions_ns[result->counted++] = took_ns;
    result->completion_mean_ns += took;
    result->wait_mean_ns += (double)(r->begin_ns - r->arrival_ns);
    result->alone_mean_ns += alone;
    result->slowdown_mean += took / fmax(alone, 1);
    result->speed_mean += alone / took;
    result->bounded_slowdown_mean += fmax(1, took / fmax(alone, BSLD_NS_MIN));
    return GA_OK;
}

static int completion_order(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static void shares_measure(struct sim_world *w, struct sim_metrics *metrics)
{
    double shares[SIM_WATCHED_TENANTS], all = 0;
    metrics->jain_share = -1;
    metrics->contended_share = 0;
    if (!w->watched || w->tenant_count < 2) {
        return;
    }
    for (uint32_t t = 0; t < w->tenant_count; t++) {
        shares[t] = w->result->tenants[t].contended_ns / w->result->tenants[t].weight;
        all += shares[t];
    }
    metrics->contended_share = (double)w->contended_ns / fmax((double)w->now_ns, 1);
    metrics->jain_share = all > 0 ? sim_jain(shares, w->tenant_count) : -1;
}

void sim_measure_finish(struct sim_world *w)
{
    struct sim_metrics *metrics = &w->result->metrics;
    double squares = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < w->result->stream_count; i++) {
        struct sim_stream_result *s = &w->result->streams[i];
        waits_finish(&w->waits[i], s);
        if (s->counted == 0) {
            continue;
        }
        const double n = (double)s->counted;
        s->completion_mean_ns /= n;
        s->wait_mean_ns /= n;
        s->alone_mean_ns /= n;
        s->slowdown_mean /= n;
        s->speed_mean /= n;
        s->bounded_slowdown_mean /= n;
        qsort(s->completions_ns, s->counted, sizeof *s->completions_ns, completion_order);
        counted++;
        squares += s->slowdown_mean * s->slowdown_mean;
        metrics->antt += s->slowdown_mean;
        metrics->stp += s->speed_mean;
        metrics->bounded_slowdown += s->bounded_slowdown_mean;
    }
    const double n = counted != 0 ? counted : 1;
    metrics->jain_slow = squares > 0 ? metrics->antt * metrics->antt / (n * squares) : 1;
    metrics->antt /= n;
    metrics->weighted_speedup = metrics->stp / n;
    metrics->bounded_slowdown /= n;
    shares_measure(w, metrics);
}
