/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/stream/device_flow.h"

#include "base/clock.h"
#include "softgpu/node/node.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/streams.h"

/* No later than it must: what another item of this process begins then is not late by the model
 * because this thread was late. */
static void flow_until(struct model_flow *flow, const struct soft_device *config, uint64_t ns)
{
    model_flow_advance(flow, config, ns > flow->now_ns ? ns : flow->now_ns);
}

struct model_period sg_flow_begin(struct sg_item *item, uint64_t context, uint64_t ready_ns)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_period period = {ready_ns, ready_ns + item->demand.lead_ns + item->demand.ns};
    struct model_flow flow;
    sg_node_lock();
    (void)sg_node_work_look(device->node);
    model_flow_copy(&flow, &device->node->flow, ga_clock_ns());
    flow_until(&flow, &device->config, ready_ns);
    item->late_ns = flow.now_ns - ready_ns;
    uint64_t id = sg_node_work_id();
    if (model_flow_add(&flow, &device->config, id, context, item->engine, &item->demand) == GA_OK) {
        item->work_id = id;
        (void)model_flow_foresee(&flow, &device->config, id, &period);
    }
    model_flow_write(&device->node->flow, &flow);
    sg_node_unlock();
    return period;
}

void sg_flow_foresee(const struct sg_item *item, struct model_period *period)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_flow flow;
    sg_node_lock();
    model_flow_copy(&flow, &device->node->flow, ga_clock_ns());
    (void)model_flow_foresee(&flow, &device->config, item->work_id, period);
    sg_node_unlock();
}

bool sg_flow_ended(const struct sg_item *item, struct model_period *period)
{
    const struct sg_device *device = item->stream->context->device;
    struct model_flow flow;
    struct model_work work;
    sg_node_lock();
    model_flow_copy(&flow, &device->node->flow, ga_clock_ns());
    flow_until(&flow, &device->config, item->end_ns);
    bool ended = model_flow_take(&flow, item->work_id, &work);
    if (ended) {
        *period = (struct model_period){work.start_ns, work.end_ns};
    } else if (!model_flow_foresee(&flow, &device->config, item->work_id, period)) {
        /* Somebody has broken the flow, or it began anew after a process was killed. */
        *period = (struct model_period){item->end_ns, item->end_ns};
        ended = true;
    }
    model_flow_write(&device->node->flow, &flow);
    sg_node_unlock();
    return ended;
}
