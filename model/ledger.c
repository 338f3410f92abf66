/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ledger.h"

#include <stddef.h>
#include <string.h>

#define UNLISTED UINT64_C(0) /* the name of all work that found no room */

/* ---- what anybody may have written */

static bool placed_is_good(const struct model_placed *work, uint64_t last_ns)
{
    bool good = work->id != 0 && work->context != 0 && work->engine < GPU_ENGINES &&
                work->moves <= 1 && work->demand.lead_ns <= MODEL_TIMELINE_AHEAD_NS &&
                work->demand.ns <= MODEL_TIMELINE_AHEAD_NS && work->ready_ns <= last_ns &&
                work->start_ns <= work->end_ns && work->end_ns <= last_ns;
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        good = good && work->demand.share[r] >= 0 && work->demand.share[r] <= 1;
    }
    return good;
}

void model_ledger_copy(struct model_ledger *to, const struct model_ledger *from, uint64_t now_ns)
{
    const uint64_t last_ns = now_ns + MODEL_TIMELINE_AHEAD_NS;
    model_timeline_copy(&to->line, &from->line, now_ns);
    to->unlisted_ns = from->unlisted_ns;
    to->count = from->count;
    to->gaps = from->gaps;
    bool good = to->count <= MODEL_LEDGER_WORKS && to->unlisted_ns <= last_ns;
    for (uint32_t i = 0; good && i < to->count; i++) {
        to->works[i] = from->works[i];
        good = placed_is_good(&to->works[i], last_ns);
    }
    if (!good) {
        to->unlisted_ns = 0;
        to->count = to->gaps = 0;
    }
}

void model_ledger_write(struct model_ledger *to, const struct model_ledger *from)
{
    memcpy(&to->line, &from->line,
           offsetof(struct model_timeline, spans) +
               from->line.span_count * sizeof from->line.spans[0]);
    to->unlisted_ns = from->unlisted_ns;
    to->count = from->count;
    to->gaps = from->gaps;
    memcpy(to->works, from->works, from->count * sizeof from->works[0]);
}

/* ---- places */

static uint64_t ledger_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void ledger_remove(struct model_ledger *ledger, uint32_t i)
{
    ledger->count--;
    memmove(&ledger->works[i], &ledger->works[i + 1],
            (ledger->count - i) * sizeof ledger->works[0]);
}

/* Those that nobody asks for. */
static void ledger_prune(struct model_ledger *ledger, uint64_t now_ns)
{
    for (uint32_t i = ledger->count; i-- > 0;) {
        if (ledger->works[i].moves == 0 && ledger->works[i].end_ns <= now_ns) {
            ledger_remove(ledger, i);
        }
    }
}

struct model_placed *model_ledger_place(struct model_ledger *ledger,
                                        const struct soft_device *device, uint64_t id,
                                        enum gpu_engine engine, uint64_t context,
                                        const struct model_demand *demand, uint64_t ready_ns,
                                        uint64_t now_ns, struct model_period *period)
{
    ledger_prune(ledger, now_ns);
    bool room = ledger->count < MODEL_LEDGER_WORKS;
    ledger->line.work = room ? id : UNLISTED;
    *period = model_timeline_place(&ledger->line, device, engine, context, demand, ready_ns);
    if (!room) {
        ledger->unlisted_ns = ledger_later(ledger->unlisted_ns, period->end_ns);
        return NULL;
    }
    struct model_placed *work = &ledger->works[ledger->count++];
    *work = (struct model_placed){.id = id,
                                  .context = context,
                                  .engine = engine,
                                  .demand = *demand,
                                  .ready_ns = ready_ns,
                                  .start_ns = period->start_ns,
                                  .end_ns = period->end_ns};
    return work;
}

struct model_placed *model_ledger_find(struct model_ledger *ledger, uint64_t id)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        if (ledger->works[i].id == id) {
            return &ledger->works[i];
        }
    }
    return NULL;
}

void model_ledger_take(struct model_ledger *ledger, struct model_placed *ended)
{
    ledger_remove(ledger, (uint32_t)(ended - ledger->works));
}

/* ---- gaps */

void model_ledger_forget(struct model_ledger *ledger, bool (*gone)(const void *data, uint64_t id),
                         const void *data)
{
    for (uint32_t i = ledger->count; i-- > 0;) {
        if (gone(data, ledger->works[i].id)) {
            ledger_remove(ledger, i);
            ledger->gaps = 1;
        }
    }
}

static bool stays(const struct model_placed *work, uint64_t now_ns)
{
    return work->moves == 0 || work->start_ns <= now_ns;
}

/* Adds the part of the device that a kernel which stays has. */
static void spans_keep(struct model_timeline *line, const struct model_timeline *before,
                       uint64_t work)
{
    for (uint32_t i = 0; i < before->span_count; i++) {
        if (before->spans[i].work == work && line->span_count < MODEL_TIMELINE_SPANS) {
            line->spans[line->span_count++] = before->spans[i];
        }
    }
}

/* The timeline with nothing but what stays. */
static void ledger_line_keep(struct model_ledger *ledger, const struct model_timeline *before,
                             const struct soft_device *device, uint64_t now_ns)
{
    struct model_timeline *line = &ledger->line;
    uint64_t unlisted_ns = ledger->unlisted_ns;
    memset(line, 0, offsetof(struct model_timeline, spans));
    line->owner = before->owner;
    line->owner_ns = before->owner_ns < now_ns ? before->owner_ns : now_ns;
    line->kernels_until_ns = line->copies_until_ns[0] = line->copies_until_ns[1] = unlisted_ns;
    spans_keep(line, before, UNLISTED);
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct model_placed *work = &ledger->works[i];
        if (!stays(work, now_ns)) {
            continue;
        }
        uint64_t *until =
            work->engine == GPU_COMPUTE
                ? &line->kernels_until_ns
                : &line->copies_until_ns[device->copy_engines == 1 ? 0 : work->engine - GPU_H2D];
        *until = ledger_later(*until, work->end_ns);
        if (work->engine == GPU_COMPUTE) {
            spans_keep(line, before, work->id);
        }
        if (work->engine == GPU_COMPUTE || !device->overlap_contexts) {
            line->owner = work->context;
        }
    }
}

void model_ledger_settle(struct model_ledger *ledger, const struct soft_device *device,
                         uint64_t now_ns)
{
    if (ledger->gaps == 0) {
        return;
    }
    struct model_timeline before;
    memcpy(&before, &ledger->line,
           offsetof(struct model_timeline, spans) +
               ledger->line.span_count * sizeof ledger->line.spans[0]);
    ledger->gaps = 0;
    ledger_line_keep(ledger, &before, device, now_ns);
    for (uint32_t i = 0; i < ledger->count; i++) {
        struct model_placed *work = &ledger->works[i];
        if (!stays(work, now_ns)) {
            ledger->line.work = work->id;
            struct model_period period = model_timeline_place(
                &ledger->line, device, (enum gpu_engine)work->engine, work->context, &work->demand,
                ledger_later(work->ready_ns, now_ns));
            work->start_ns = period.start_ns;
            work->end_ns = period.end_ns;
        }
    }
}
