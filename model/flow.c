/* SPDX-License-Identifier: Apache-2.0 */
#include "model/flow.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "model/flow_settle.h"

/* ---- what anybody may have written */

static bool work_is_good(const struct model_work *work, uint64_t now_ns)
{
    const double most = MODEL_TIMELINE_AHEAD_NS;
    bool good = work->id != 0 && work->context != 0 && work->engine < GPU_ENGINES &&
                work->state < MODEL_WORK_STATES && work->begun <= 1 && work->lead_ns >= 0 &&
                work->lead_ns <= most && work->left_ns >= -most && work->left_ns <= most &&
                work->rate >= 0 && work->rate <= 1 && work->start_ns <= now_ns &&
                work->end_ns <= now_ns;
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        good = good && work->share[r] >= 0 && work->share[r] <= 1;
    }
    return good;
}

void model_flow_copy(struct model_flow *to, const struct model_flow *from, uint64_t now_ns)
{
    const uint64_t last_ns = now_ns + MODEL_TIMELINE_AHEAD_NS;
    memcpy(to, from, offsetof(struct model_flow, works));
    bool good = to->count <= MODEL_FLOW_WORKS && to->now_ns <= now_ns &&
                to->settled_ns <= to->now_ns && (to->count == 0 || to->next_ns >= to->now_ns) &&
                to->owner_ns <= last_ns && to->slice_ns <= last_ns;
    uint32_t ended = 0;
    for (uint32_t i = 0; good && i < to->count; i++) {
        to->works[i] = from->works[i];
        good = work_is_good(&to->works[i], to->now_ns);
        ended += to->works[i].state == MODEL_WORK_ENDED;
    }
    bool stale = to->count != ended && to->now_ns + MODEL_FLOW_STALE_NS < now_ns;
    to->ended = ended;
    if (!good || stale) {
        memset(to, 0, offsetof(struct model_flow, works));
    }
}

void model_flow_write(struct model_flow *to, const struct model_flow *from)
{
    memcpy(to, from, offsetof(struct model_flow, works) + from->count * sizeof from->works[0]);
}

/* ---- time */

void model_flow_advance(struct model_flow *flow, const struct soft_device *device, uint64_t now_ns)
{
    while (flow->next_ns <= now_ns && flow->count > flow->ended) {
        flow->now_ns = flow->next_ns > flow->now_ns ? flow->next_ns : flow->now_ns;
        model_flow_settle(flow, device);
    }
    flow->now_ns = now_ns;
}

enum ga_status model_flow_add(struct model_flow *flow, const struct soft_device *device,
                              uint64_t id, uint64_t context, enum gpu_engine engine,
                              const struct model_demand *demand)
{
    if (flow->count == MODEL_FLOW_WORKS) {
        return GA_NO_MEMORY;
    }
    struct model_work *work = &flow->works[flow->count++];
    *work = (struct model_work){.id = id,
                                .context = context,
                                .engine = engine,
                                .lead_ns = (double)demand->lead_ns,
                                .left_ns = (double)demand->ns};
    memcpy(work->share, demand->share, sizeof work->share);
    model_flow_settle(flow, device);
    return GA_OK;
}

/* ---- ends */

static void flow_remove(struct model_flow *flow, uint32_t i)
{
    flow->ended -= flow->works[i].state == MODEL_WORK_ENDED;
    flow->count--;
    memmove(&flow->works[i], &flow->works[i + 1], (flow->count - i) * sizeof flow->works[0]);
}

bool model_flow_take(struct model_flow *flow, uint64_t id, struct model_work *ended)
{
    for (uint32_t i = 0; flow->ended != 0 && i < flow->count; i++) {
        const struct model_work *work = &flow->works[i];
        if (work->state == MODEL_WORK_ENDED && (id == 0 || work->id == id)) {
            *ended = *work;
            flow_remove(flow, i);
            return true;
        }
    }
    return false;
}

static const struct model_work *flow_find(const struct model_flow *flow, uint64_t id)
{
    for (uint32_t i = 0; i < flow->count; i++) {
        if (flow->works[i].id == id) {
            return &flow->works[i];
        }
    }
    return NULL;
}

bool model_flow_foresee(const struct model_flow *flow, const struct soft_device *device,
                        uint64_t id, struct model_period *period)
{
    const uint64_t last_ns = flow->now_ns + MODEL_FLOW_AHEAD_NS;
    struct model_flow ahead;
    model_flow_write(&ahead, flow);
    for (unsigned changes = 0;; changes++) {
        const struct model_work *work = flow_find(&ahead, id);
        if (work == NULL || (work->state != MODEL_WORK_ENDED && ahead.next_ns == MODEL_NEVER)) {
            return false;
        }
        if (work->state == MODEL_WORK_ENDED) {
            *period = (struct model_period){work->start_ns, work->end_ns};
            return true;
        }
        if (changes == MODEL_FLOW_CHANGES || ahead.next_ns > last_ns) {
            uint64_t until_ns = ahead.next_ns < last_ns ? ahead.next_ns : last_ns;
            *period = (struct model_period){work->start_ns, until_ns};
            return true;
        }
        model_flow_advance(&ahead, device, ahead.next_ns);
    }
}

void model_flow_forget(struct model_flow *flow, bool (*gone)(const void *data, uint64_t id),
                       const void *data)
{
    for (uint32_t i = flow->count; i-- > 0;) {
        if (gone(data, flow->works[i].id)) {
            flow_remove(flow, i);
        }
    }
    flow->next_ns = flow->now_ns;
}
