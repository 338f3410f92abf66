/* SPDX-License-Identifier: Apache-2.0 */
/* Places work on the timeline of a device. */
#include "model/timeline.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define RATE_MIN 1e-6 /* rates below this count as 0 */

/* False for numbers that are none, too. */
static bool span_is_good(const struct model_timeline_span *span, uint64_t last_ns)
{
    bool good = span->start_ns <= span->end_ns && span->end_ns <= last_ns;
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        good = good && span->used[r] >= 0 && span->used[r] <= 1;
    }
    return good;
}

void model_timeline_copy(struct model_timeline *to, const struct model_timeline *from,
                         uint64_t now_ns)
{
    const uint64_t last_ns = now_ns + MODEL_TIMELINE_AHEAD_NS;
    memcpy(to, from, offsetof(struct model_timeline, spans));
    bool good = to->span_count <= MODEL_TIMELINE_SPANS && to->owner_ns <= last_ns &&
                to->kernels_until_ns <= last_ns && to->copies_until_ns[0] <= last_ns &&
                to->copies_until_ns[1] <= last_ns;
    for (uint32_t i = 0; good && i < to->span_count; i++) {
        to->spans[i] = from->spans[i];
        good = span_is_good(&to->spans[i], last_ns);
    }
    if (!good) {
        memset(to, 0, offsetof(struct model_timeline, spans));
    }
}

static uint64_t timeline_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The end of the last work of the owner that excludes other contexts. */
static uint64_t owned_until(const struct model_timeline *line, const struct soft_device *device)
{
    uint64_t until = line->kernels_until_ns;
    if (!device->overlap_contexts) {
        until = timeline_later(until,
                               timeline_later(line->copies_until_ns[0], line->copies_until_ns[1]));
    }
    return until;
}

/* The earliest time at which the context may use the engines that contexts do not share. */
static uint64_t timeline_own(struct model_timeline *line, const struct soft_device *device,
                             uint64_t context, uint64_t ready_ns)
{
    if (line->owner != context) {
        uint64_t from = timeline_later(ready_ns, owned_until(line, device));
        line->owner_ns = line->owner == 0 ? from : from + device->switch_ns;
        line->owner = context;
    }
    return timeline_later(ready_ns, line->owner_ns);
}

static struct model_period place_copy(struct model_timeline *line, const struct soft_device *device,
                                      enum gpu_engine engine, const struct model_demand *demand,
                                      uint64_t from_ns)
{
    uint64_t *until = &line->copies_until_ns[device->copy_engines == 1 ? 0 : engine - GPU_H2D];
    uint64_t start = timeline_later(from_ns, *until);
    *until = start + demand->ns;
    return (struct model_period){start, *until};
}

/* The rate at which work with this demand proceeds at `at_ns`, and the time until which that rate
 * holds. */
static double rate_at(const struct model_timeline *line, const struct model_demand *demand,
                      uint64_t at_ns, uint64_t *until_ns)
{
    double used[MODEL_RESOURCES] = {0}, rate = 1;
    *until_ns = UINT64_MAX;
    for (uint32_t i = 0; i < line->span_count; i++) {
        const struct model_timeline_span *span = &line->spans[i];
        bool now = span->start_ns <= at_ns && at_ns < span->end_ns;
        uint64_t change = now ? span->end_ns : span->start_ns;
        if (change > at_ns && change < *until_ns) {
            *until_ns = change;
        }
        for (int r = 0; now && r < MODEL_RESOURCES; r++) {
            used[r] += span->used[r];
        }
    }
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        double left = used[r] < 1 ? 1 - used[r] : 0;
        if (demand->share[r] > left) {
            rate = fmin(rate, left / demand->share[r]);
        }
    }
    return rate > RATE_MIN ? rate : 0;
}

/* Forgets the span that ends first, to make room; nothing is placed before its end any more. */
static void span_forget(struct model_timeline *line)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < line->span_count; i++) {
        first = line->spans[i].end_ns < line->spans[first].end_ns ? i : first;
    }
    line->owner_ns = timeline_later(line->owner_ns, line->spans[first].end_ns);
    line->spans[first] = line->spans[--line->span_count];
}

static void span_add(struct model_timeline *line, const struct model_demand *demand, double rate,
                     uint64_t start_ns, uint64_t end_ns)
{
    if (line->span_count == MODEL_TIMELINE_SPANS) {
        span_forget(line);
    }
    struct model_timeline_span *span = &line->spans[line->span_count++];
    *span =
        (struct model_timeline_span){.work = line->work, .start_ns = start_ns, .end_ns = end_ns};
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        span->used[r] = demand->share[r] * rate;
    }
}

static struct model_period place_kernel(struct model_timeline *line,
                                        const struct model_demand *demand, uint64_t from_ns)
{
    struct model_timeline_span parts[MODEL_TIMELINE_SPANS]; /* used[0]: the rate */
    uint32_t count = 0;
    uint64_t at = from_ns, start = 0;
    double left = (double)demand->ns;
    while (left >= 1) {
        uint64_t until;
        double rate = rate_at(line, demand, at, &until);
        if (count == MODEL_TIMELINE_SPANS - 1 && until != UINT64_MAX) {
            at = timeline_later(at, line->kernels_until_ns); /* after all other kernels */
            rate = 1;
            until = UINT64_MAX;
        }
        if (rate == 0) {
            at = until; /* no rate: work that ends then is in the way */
            continue;
        }
        double need = ceil(left / rate);
        uint64_t end = need < (double)(until - at) ? at + (uint64_t)need : until;
        left -= (double)(end - at) * rate;
        start = start == 0 ? at : start;
        parts[count++] =
            (struct model_timeline_span){.start_ns = at, .end_ns = end, .used = {rate}};
        at = end;
    }
    for (uint32_t i = 0; i < count; i++) {
        span_add(line, demand, parts[i].used[0], parts[i].start_ns, parts[i].end_ns);
    }
    line->kernels_until_ns = timeline_later(line->kernels_until_ns, at);
    return (struct model_period){start == 0 ? from_ns : start, at};
}

struct model_period model_timeline_place(struct model_timeline *line,
                                         const struct soft_device *device, enum gpu_engine engine,
                                         uint64_t context, const struct model_demand *demand,
                                         uint64_t ready_ns)
{
    bool compute = engine == GPU_COMPUTE;
    uint64_t from = ready_ns;
    if (compute || !device->overlap_contexts) {
        from = timeline_own(line, device, context, from);
    }
    from += demand->lead_ns;
    if (!compute) {
        return place_copy(line, device, engine, demand, from);
    }
    if (device->concurrent_kernels) {
        return place_kernel(line, demand, from);
    }
    from = timeline_later(from, line->kernels_until_ns);
    line->kernels_until_ns = from + demand->ns;
    return (struct model_period){from, from + demand->ns};
}
