/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of flow.h. */
#include "model/flow_settle.h"

#include <math.h>

#define RATE_MIN 1e-6 /* rates below this count as 0 */
#define LEFT_MIN 0.5  /* ns; less has ended */

static bool flow_needs_device(const struct soft_device *device, const struct model_work *work)
{
    return work->state != MODEL_WORK_ENDED &&
           (work->engine == GPU_COMPUTE || !device->overlap_contexts);
}

/* ---- what was done since */

static void work_go_on(struct model_work *work, double ns, uint64_t now_ns)
{
    /* Its rate is that of one of the two: there is a change where the lead ends. */
    if (work->lead_ns > 0) {
        work->lead_ns = work->lead_ns - ns < LEFT_MIN ? 0 : work->lead_ns - ns;
    } else {
        work->left_ns -= ns * work->rate;
    }
    if (work->lead_ns == 0 && work->left_ns < LEFT_MIN) {
        work->state = MODEL_WORK_ENDED;
        work->start_ns = work->begun ? work->start_ns : now_ns; /* it took no time */
        work->begun = 1;
        work->end_ns = now_ns;
    }
}

static void flow_go_on(struct model_flow *flow)
{
    double ns = (double)(flow->now_ns - flow->settled_ns);
    bool busy[GPU_ENGINES] = {false};
    for (uint32_t i = 0; i < flow->count; i++) {
        struct model_work *work = &flow->works[i];
        if (work->state == MODEL_WORK_RUNS) {
            busy[work->engine] = busy[work->engine] || work->begun != 0;
            work_go_on(work, ns, flow->now_ns);
            flow->ended += work->state == MODEL_WORK_ENDED;
        }
    }
    for (int engine = 0; engine < GPU_ENGINES; engine++) {
        flow->busy_ns[engine] += busy[engine] ? flow->now_ns - flow->settled_ns : 0;
    }
    flow->settled_ns = flow->now_ns;
}

/* ---- the owner of the device */

/* The context after the owner that has work for the device, around; 0: none, nor has the owner. */
static uint64_t flow_next_context(const struct model_flow *flow, const struct soft_device *device)
{
    uint64_t after = 0, least = 0;
    for (uint32_t i = 0; i < flow->count; i++) {
        uint64_t context = flow->works[i].context;
        if (flow_needs_device(device, &flow->works[i])) {
            least = least == 0 || context < least ? context : least;
            if (context > flow->owner && (after == 0 || context < after)) {
                after = context;
            }
        }
    }
    return after != 0 ? after : least;
}

/* The context whose work was added first; 0: there is no work. */
static uint64_t flow_first_context(const struct model_flow *flow, const struct soft_device *device)
{
    for (uint32_t i = 0; i < flow->count; i++) {
        if (flow_needs_device(device, &flow->works[i])) {
            return flow->works[i].context;
        }
    }
    return 0;
}

/* The owner's work keeps others out: its slice has not ended, or a copy is under way. */
static bool flow_owner_keeps(const struct model_flow *flow, const struct soft_device *device)
{
    bool works = false;
    for (uint32_t i = 0; i < flow->count; i++) {
        const struct model_work *work = &flow->works[i];
        if (work->context == flow->owner && flow_needs_device(device, work)) {
            works = true;
            if (work->engine != GPU_COMPUTE && work->begun) {
                return true;
            }
        }
    }
    return works && flow->now_ns < flow->slice_ns;
}

static void flow_own(struct model_flow *flow, const struct soft_device *device)
{
    const uint64_t slice_ns = device->context_slice_ns;
    if (slice_ns != 0 && flow_owner_keeps(flow, device)) {
        return;
    }
    uint64_t owner =
        slice_ns != 0 ? flow_next_context(flow, device) : flow_first_context(flow, device);
    if (owner == 0) {
        return; /* the last owner does not pay for going on */
    }
    if (owner != flow->owner) {
        flow->owner_ns = flow->now_ns + (flow->owner == 0 ? 0 : device->switch_ns);
        flow->owner = owner;
    }
    uint64_t begin = flow->now_ns > flow->owner_ns ? flow->now_ns : flow->owner_ns;
    flow->slice_ns = begin + slice_ns;
}

/* ---- at which rates */

struct rates {
    double used[MODEL_RESOURCES];
    bool copies[2]; /* an engine is taken */
    bool kernel;    /* a kernel is under way */
    bool behind;    /* work of another context was added before: without slices it is first */
};

static double kernel_rate(const struct soft_device *device, struct rates *rates,
                          const struct model_work *work)
{
    if (!device->concurrent_kernels) {
        double rate = rates->kernel ? 0 : 1;
        rates->kernel = true;
        return rate;
    }
    double rate = 1;
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        double left = rates->used[r] < 1 ? 1 - rates->used[r] : 0;
        if (work->share[r] > left) {
            rate = fmin(rate, left / work->share[r]);
        }
    }
    rate = rate > RATE_MIN ? rate : 0;
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        rates->used[r] += work->share[r] * rate;
    }
    return rate;
}

static double work_rate(const struct model_flow *flow, const struct soft_device *device,
                        struct rates *rates, const struct model_work *work)
{
    if (flow_needs_device(device, work)) {
        bool other = work->context != flow->owner;
        rates->behind = rates->behind || (other && device->context_slice_ns == 0);
        if (other || rates->behind || flow->now_ns < flow->owner_ns) {
            return 0;
        }
    }
    if (work->lead_ns > 0) {
        return 1;
    }
    if (work->engine == GPU_COMPUTE) {
        return kernel_rate(device, rates, work);
    }
    bool *taken = &rates->copies[device->copy_engines == 1 ? 0 : work->engine - GPU_H2D];
    double rate = *taken ? 0 : 1;
    *taken = true;
    return rate;
}

static void flow_change_at(struct model_flow *flow, double ns)
{
    uint64_t change = flow->now_ns + (uint64_t)ceil(fmin(fmax(ns, 0), 9e18));
    flow->next_ns = change < flow->next_ns ? change : flow->next_ns;
}

static void flow_set_rates(struct model_flow *flow, const struct soft_device *device)
{
    struct rates rates = {.used = {0}};
    flow->next_ns = MODEL_NEVER;
    bool others = false, owners = false;
    for (uint32_t i = 0; i < flow->count; i++) {
        struct model_work *work = &flow->works[i];
        if (work->state == MODEL_WORK_ENDED) {
            continue;
        }
        if (flow_needs_device(device, work)) {
            others = others || work->context != flow->owner;
            owners = owners || work->context == flow->owner;
        }
        work->rate = work_rate(flow, device, &rates, work);
        work->state = work->rate > 0 ? MODEL_WORK_RUNS : MODEL_WORK_WAITS;
        if (work->rate == 0) {
            continue;
        }
        if (work->lead_ns > 0) {
            flow_change_at(flow, work->lead_ns);
            continue;
        }
        if (!work->begun) {
            work->begun = 1;
            work->start_ns = flow->now_ns;
        }
        flow_change_at(flow, work->left_ns / work->rate);
    }
    if (owners && flow->now_ns < flow->owner_ns) {
        flow_change_at(flow, (double)(flow->owner_ns - flow->now_ns));
    }
    if (others && device->context_slice_ns != 0 && flow->now_ns < flow->slice_ns) {
        flow_change_at(flow, (double)(flow->slice_ns - flow->now_ns));
    }
}

void model_flow_settle(struct model_flow *flow, const struct soft_device *device)
{
    flow_go_on(flow);
    flow_own(flow, device);
    flow_set_rates(flow, device);
}
