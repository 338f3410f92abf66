/* SPDX-License-Identifier: Apache-2.0 */
/* Work whose end moves: the same as a timeline without slices, and turns of contexts with them. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "model/flow.h"

#define US UINT64_C(1000)

static struct soft_device device;
static struct model_flow flow;

static void fresh(void)
{
    device = (struct soft_device){
        .copy_engines = 2, .concurrent_kernels = true, .overlap_contexts = true};
    memset(&flow, 0, sizeof flow);
}

TestSuite(flow, .init = fresh);

static struct model_demand demand_of(uint64_t ns, double slots)
{
    return (struct model_demand){.ns = ns, .share = {slots, slots, 0}};
}

static void add(uint64_t at_ns, uint64_t id, uint64_t context, enum gpu_engine engine,
                struct model_demand demand)
{
    model_flow_advance(&flow, &device, at_ns);
    cr_assert_eq(model_flow_add(&flow, &device, id, context, engine, &demand), GA_OK);
}

static struct model_period period_of(uint64_t id)
{
    struct model_period period = {0};
    cr_assert(model_flow_foresee(&flow, &device, id, &period), "%d", (int)id);
    return period;
}

static void expect_end(uint64_t id, uint64_t end_ns)
{
    uint64_t found = period_of(id).end_ns;
    cr_expect_eq(found, end_ns, "work %d ends at %llu, not %llu", (int)id,
                 (unsigned long long)found, (unsigned long long)end_ns);
}

Test(flow, ends_move_when_other_work_comes)
{
    device.context_slice_ns = 100 * US;
    add(0, 1, 1, GPU_COMPUTE, demand_of(1000 * US, 1));
    expect_end(1, 1000 * US);
    add(500 * US, 2, 2, GPU_COMPUTE, demand_of(200 * US, 1));
    expect_end(2, 800 * US); /* two slices, with one of the other between them */
    expect_end(1, 1200 * US);
}

Test(flow, without_slices_another_context_waits_for_what_came_before)
{
    device.switch_ns = 25 * US;
    add(0, 1, 1, GPU_COMPUTE, demand_of(1000 * US, 1));
    add(10 * US, 2, 2, GPU_COMPUTE, demand_of(100 * US, 1));
    add(20 * US, 3, 1, GPU_COMPUTE, demand_of(100 * US, 1));
    expect_end(1, 1000 * US);
    expect_end(2, 1125 * US);
    expect_end(3, 1250 * US);
}

Test(flow, each_slice_of_another_context_costs_a_switch)
{
    device.switch_ns = 10 * US;
    device.context_slice_ns = 100 * US;
    add(0, 1, 1, GPU_COMPUTE, demand_of(200 * US, 1));
    add(0, 2, 2, GPU_COMPUTE, demand_of(200 * US, 1));
    /* 1: 0-100, 2: 110-210, 1: 220-320, 2: 330-430 */
    expect_end(1, 320 * US);
    expect_end(2, 430 * US);
}

Test(flow, packed_applications_share_without_switches)
{
    device.switch_ns = 10 * US;
    device.context_slice_ns = 100 * US;
    add(0, 1, 7, GPU_COMPUTE, demand_of(200 * US, 0.5));
    add(0, 2, 7, GPU_COMPUTE, demand_of(200 * US, 0.5));
    add(0, 3, 7, GPU_COMPUTE, demand_of(200 * US, 0.5));
    expect_end(1, 200 * US);
    expect_end(2, 200 * US);
    expect_end(3, 400 * US);
}

Test(flow, a_copy_that_has_begun_is_not_interrupted)
{
    device.overlap_contexts = false;
    device.context_slice_ns = 100 * US;
    add(0, 1, 1, GPU_H2D, demand_of(500 * US, 0));
    add(10 * US, 2, 2, GPU_COMPUTE, demand_of(50 * US, 1));
    add(10 * US, 3, 1, GPU_COMPUTE, demand_of(300 * US, 1)); /* beside the copy */
    expect_end(1, 500 * US);
    expect_end(2, 550 * US);
    expect_end(3, 310 * US);
}

Test(flow, copies_go_beside_the_kernels_of_other_contexts)
{
    device.context_slice_ns = 100 * US;
    add(0, 1, 1, GPU_COMPUTE, demand_of(1000 * US, 1));
    add(0, 2, 2, GPU_H2D, demand_of(300 * US, 0));
    add(0, 3, 3, GPU_H2D, demand_of(300 * US, 0));
    add(0, 4, 3, GPU_D2H, demand_of(300 * US, 0));
    expect_end(1, 1000 * US);
    expect_end(2, 300 * US);
    expect_end(3, 600 * US);
    expect_end(4, 300 * US);
}

Test(flow, ended_work_stays_until_it_is_taken)
{
    struct model_work ended;
    add(0, 1, 1, GPU_COMPUTE, demand_of(100 * US, 1));
    cr_expect_not(model_flow_take(&flow, 1, &ended));
    cr_expect_eq(flow.next_ns, 100 * US);
    model_flow_advance(&flow, &device, 5000 * US);
    cr_expect_eq(flow.busy_ns[GPU_COMPUTE], 100 * US);
    cr_assert(model_flow_take(&flow, 0, &ended));
    cr_expect_eq(ended.id, 1);
    cr_expect_eq(ended.end_ns, 100 * US);
    cr_expect_not(model_flow_take(&flow, 0, &ended));
    cr_expect_eq(flow.next_ns, MODEL_NEVER);
}

/* Code that looks again when it is told to learns the end, though it looks ahead a bounded time
 * only. */
Test(flow, a_distant_end_is_found_by_asking_again)
{
    const uint64_t second = 1000000 * US;
    device.context_slice_ns = 1024 * US;
    add(0, 1, 1, GPU_COMPUTE, demand_of(20 * second, 1));
    expect_end(1, MODEL_FLOW_AHEAD_NS);
    add(0, 2, 2, GPU_COMPUTE, demand_of(30 * second, 1));
    struct model_work ended;
    unsigned asked = 0;
    while (!model_flow_take(&flow, 2, &ended)) {
        struct model_period period = period_of(2);
        cr_assert_gt(period.end_ns, flow.now_ns);
        model_flow_advance(&flow, &device, period.end_ns);
        asked++;
    }
    cr_expect_eq(ended.end_ns, 50 * second, "%llu", (unsigned long long)ended.end_ns);
    cr_expect_leq(asked, 2 * 40 * second / (1024 * US) / MODEL_FLOW_CHANGES + 3);
    cr_expect_not(model_flow_foresee(&flow, &device, 2, &(struct model_period){0}));
}

Test(flow, that_nobody_looked_at_for_long_is_a_new_one)
{
    static struct model_flow to;
    add(0, 1, 1, GPU_COMPUTE, demand_of(100 * US, 1));
    model_flow_copy(&to, &flow, MODEL_FLOW_STALE_NS);
    cr_expect_eq(to.count, 1);
    model_flow_copy(&to, &flow, MODEL_FLOW_STALE_NS + 1);
    cr_expect_eq(to.count, 0);
    model_flow_advance(&flow, &device, 100 * US); /* what has ended keeps no one waiting */
    model_flow_copy(&to, &flow, 2 * MODEL_FLOW_STALE_NS);
    cr_expect_eq(to.count, 1);
}

static bool is_even(const void *data, uint64_t id)
{
    (void)data;
    return id % 2 == 0;
}

Test(flow, what_is_forgotten_makes_room_at_once)
{
    add(0, 2, 2, GPU_COMPUTE, demand_of(1000 * US, 1));
    add(0, 3, 3, GPU_COMPUTE, demand_of(100 * US, 1));
    model_flow_advance(&flow, &device, 50 * US);
    model_flow_forget(&flow, is_even, NULL);
    expect_end(3, 150 * US);
}

Test(flow, work_of_no_time_begins_where_it_ends)
{
    struct model_demand demand = {.lead_ns = 3 * US};
    add(100 * US, 1, 1, GPU_COMPUTE, demand);
    cr_expect_eq(period_of(1).start_ns, 103 * US);
    cr_expect_eq(period_of(1).end_ns, 103 * US);
    add(100 * US, 2, 1, GPU_H2D, demand_of(0, 0));
    cr_expect_eq(period_of(2).start_ns, 100 * US);
}

Test(flow, has_an_end)
{
    struct model_demand demand = demand_of(US, 1);
    for (uint64_t id = 1; id <= MODEL_FLOW_WORKS; id++) {
        add(0, id, 1, GPU_COMPUTE, demand);
    }
    cr_expect_eq(model_flow_add(&flow, &device, 1000, 1, GPU_COMPUTE, &demand), GA_NO_MEMORY);
    expect_end(MODEL_FLOW_WORKS, MODEL_FLOW_WORKS * US);
}

/* ---- against the timeline, with random work */

static uint64_t state;

static uint64_t random_below(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % bound;
}

static struct model_demand random_demand(void)
{
    struct model_demand demand = {.lead_ns = 3 * US, .ns = random_below(500) * US};
    for (int r = 0; r < MODEL_RESOURCES; r++) {
        demand.share[r] = (double)(1 + random_below(4)) / 4;
    }
    return demand;
}

static void compare(uint64_t seed, uint64_t contexts)
{
    enum { WORKS = 20 };
    static struct model_timeline line;
    struct model_period placed[WORKS];
    state = seed;
    fresh();
    memset(&line, 0, sizeof line);
    device.copy_engines = 1 + (uint32_t)random_below(2);
    device.concurrent_kernels = random_below(4) != 0;
    device.overlap_contexts = random_below(2) == 0;
    device.switch_ns = random_below(50) * US;
    uint64_t at = 0;
    for (uint64_t i = 0; i < WORKS; i++) {
        struct model_demand demand = random_demand();
        uint64_t kind = random_below(3), context = 1 + random_below(contexts);
        at += random_below(300) * US;
        demand.lead_ns = kind == GPU_COMPUTE ? demand.lead_ns : 0;
        placed[i] =
            model_timeline_place(&line, &device, (enum gpu_engine)kind, context, &demand, at);
        add(at, i + 1, context, (enum gpu_engine)kind, demand);
    }
    for (uint64_t i = 0; i < WORKS; i++) {
        struct model_work ended;
        model_flow_advance(&flow, &device, flow.now_ns + 100000 * US);
        cr_assert(model_flow_take(&flow, i + 1, &ended));
        double late = (double)ended.end_ns - (double)placed[i].end_ns;
        cr_assert(fabs(late) < 100, "seed %d, work %d: %g ns later", (int)seed, (int)i, late);
    }
}

Test(flow, of_one_context_ends_when_the_timeline_says)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        compare(seed, 1);
    }
}

Test(flow, of_several_contexts_ends_when_the_timeline_says)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        compare(seed, 3);
    }
}

/* ---- what others may have written */

Test(flow, rubbish_is_a_new_flow)
{
    static struct model_flow from, to;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        state = seed;
        fresh();
        device.context_slice_ns = 1000 * US;
        for (uint64_t i = 0; i < 6; i++) {
            add(i * 100 * US, i + 1, 1 + i % 3, (enum gpu_engine)random_below(3), random_demand());
        }
        from = flow;
        uint8_t *bytes = (uint8_t *)&from;
        for (int i = 0; i < 4; i++) {
            bytes[random_below(offsetof(struct model_flow, works) + 6 * sizeof from.works[0])] =
                (uint8_t)random_below(256);
        }
        model_flow_copy(&to, &from, 1000 * US);
        model_flow_advance(&to, &device, 1000 * US);
        cr_assert_leq(to.count, MODEL_FLOW_WORKS);
        struct model_period period;
        (void)model_flow_foresee(&to, &device, 1, &period);
    }
}
