/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/stream/device_ledger.h"

#include "base/clock.h"
#include "softgpu/node/node.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/streams.h"

static void ledger_read(struct model_ledger *ledger, const struct sg_device *device, uint64_t now)
{
    model_ledger_copy(ledger, &device->node->ledger, now);
    model_ledger_settle(ledger, &device->config, now);
}

/* Whether other processes have work that has not ended. */
static bool others_work(const struct model_ledger *ledger, uint64_t now)
{
    bool any = false;
    for (uint32_t i = 0; i < ledger->count && !any; i++) {
        const struct model_placed *work = &ledger->works[i];
        any = work->end_ns > now && !sg_node_work_is_mine(work->id);
    }
    return any;
}

struct model_period sg_ledger_begin(struct sg_item *item, uint64_t context, uint64_t ready_ns)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_ledger ledger;
    struct model_period period;
    sg_node_lock();
    uint64_t now = ga_clock_ns();
    (void)sg_node_work_look(device->node);
    ledger_read(&ledger, device, now);
    bool others = others_work(&ledger, now);
    uint64_t id = sg_node_work_id();
    struct model_placed *work = model_ledger_place(&ledger, &device->config, id, item->engine,
                                                   context, &item->demand, ready_ns, now, &period);
    if (work != NULL && others && period.start_ns > now) {
        work->moves = 1;
        item->work_id = id;
    }
    model_ledger_write(&device->node->ledger, &ledger);
    sg_node_unlock();
    return period;
}

bool sg_ledger_foresee(const struct sg_item *item, struct model_period *period)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_ledger ledger;
    sg_node_lock();
    ledger_read(&ledger, device, ga_clock_ns());
    model_ledger_write(&device->node->ledger, &ledger);
    sg_node_unlock();
    const struct model_placed *work = model_ledger_find(&ledger, item->work_id);
    if (work != NULL) {
        *period = (struct model_period){work->start_ns, work->end_ns};
    }
    return work != NULL;
}

void sg_ledger_end(const struct sg_item *item)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_ledger ledger;
    sg_node_lock();
    model_ledger_copy(&ledger, &device->node->ledger, ga_clock_ns());
    struct model_placed *work = model_ledger_find(&ledger, item->work_id);
    if (work != NULL) {
        model_ledger_take(&ledger, work);
        model_ledger_write(&device->node->ledger, &ledger);
    }
    sg_node_unlock();
}
