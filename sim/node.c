/* SPDX-License-Identifier: Apache-2.0 */
/* Processors that requests share, and links between nodes. */
#include <math.h>

#include "sim/world.h"

/* No more requests than processors compute at a time. */
static bool node_is_roomy(const struct sim_node *node)
{
    return node->keys->threads != 0 && node->keys->threads <= node->keys->cpus;
}

static double node_rate(const struct sim_node *node)
{
    return node->cpu.count > node->keys->cpus ? node->keys->cpus / (double)node->cpu.count : 1;
}

static void virtual_go_on(struct sim_node *node, uint64_t now_ns)
{
    node->virtual_ns += (double)(now_ns - node->virtual_at_ns) * node_rate(node);
    node->virtual_at_ns = now_ns;
}

static enum ga_status cpu_event(struct sim_world *w, uint32_t n)
{
    struct sim_node *node = &w->nodes[n];
    node->cpu_ns = SCHED_NEVER;
    if (node->cpu.count == 0) {
        return GA_OK;
    }
    double left = fmax((double)node->cpu.events[0].at_ns - node->virtual_ns, 0);
    node->cpu_ns = w->now_ns + (uint64_t)ceil(left / node_rate(node));
    return SIM_PUT(w, node->cpu_ns, SIM_EVENT_CPU, n);
}

enum ga_status sim_node_compute(struct sim_world *w, uint32_t request, uint64_t ns)
{
    const uint32_t n = w->streams[w->requests[request].stream].node;
    struct sim_node *node = &w->nodes[n];
    if (node_is_roomy(node)) {
        return SIM_PUT(w, w->now_ns + ns, SIM_EVENT_PHASE, request);
    }
    virtual_go_on(node, w->now_ns);
    GA_TRY(sim_queue_put(&node->cpu, (uint64_t)node->virtual_ns + ns, SIM_EVENT_PHASE, request));
    return cpu_event(w, n);
}

enum ga_status sim_node_step(struct sim_world *w, uint32_t n)
{
    struct sim_node *node = &w->nodes[n];
    if (node->cpu_ns != w->now_ns) {
        return GA_OK; /* it has changed since */
    }
    virtual_go_on(node, w->now_ns);
    while (node->cpu.count != 0 && (double)node->cpu.events[0].at_ns <= node->virtual_ns + 0.5) {
        struct sim_event ended;
        (void)sim_queue_take(&node->cpu, &ended);
        GA_TRY(SIM_PUT(w, w->now_ns, SIM_EVENT_PHASE, ended.target));
    }
    return cpu_event(w, n);
}

uint64_t sim_node_send(struct sim_world *w, uint32_t from, uint32_t to, uint64_t bytes)
{
    struct sim_node *source = &w->nodes[from], *sink = &w->nodes[to];
    const uint32_t slower =
        source->keys->link_mbs == 0 ? sink->keys->link_mbs
        : sink->keys->link_mbs == 0 || source->keys->link_mbs < sink->keys->link_mbs
            ? source->keys->link_mbs
            : sink->keys->link_mbs;
    if (slower == 0) {
        return w->now_ns; /* ideal */
    }
    uint64_t begin = w->now_ns;
    begin = source->link_out_ns > begin ? source->link_out_ns : begin;
    begin = sink->link_in_ns > begin ? sink->link_in_ns : begin;
    uint64_t end = begin + (uint64_t)ceil((double)bytes * 1000 / slower);
    source->link_out_ns = sink->link_in_ns = end;
    return end;
}
