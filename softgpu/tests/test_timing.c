/* SPDX-License-Identifier: Apache-2.0 */
/* The timing model: how long work takes alone, and when it is over beside other work. */
#include <criterion/criterion.h>
#include <string.h>

#include "model/counts.h"
#include "softgpu/process/config.h"
#include "model/timeline.h"
#include "model/constants.h"

static struct soft_device device_of(const char *text)
{
    static struct sg_config config;
    char why[512];
    cr_assert_eq(sg_config_read(text, &config, why, sizeof why), GA_OK, "%s", why);
    return config.devices[0];
}

static struct model_demand kernel(const struct soft_device *device, uint64_t blocks,
                                  enum model_count kind, uint64_t for_each_block)
{
    struct model_counts counts = {0};
    counts.of[kind] = blocks * for_each_block;
    const struct model_grid grid = {
        .blocks = blocks, .block_threads = 256, .blocks_sm = 4, .counts = &counts};
    return model_timing_kernel(device, &grid);
}

/* ---- alone ---- */

Test(timing, copies_take_latency_and_bandwidth)
{
    struct soft_device c2050 = device_of("model=c2050");
    struct model_demand copy = model_timing_copy(&c2050, GPU_H2D, 0, false);
    cr_assert_eq(copy.ns, 10000);
    copy = model_timing_copy(&c2050, GPU_D2H, 62400000, false);
    cr_assert_eq(copy.ns, 10000 + 10000000); /* 8 GB/s, of which 0.78 */
    copy = model_timing_copy(&c2050, GPU_D2H, 62400000, true);
    cr_assert_eq(copy.ns, 10000 + 20000000);
    struct soft_device slow_down = device_of("model=c2050,h2d_bandwidth_mbs=800,h2d_latency=1ns");
    copy = model_timing_copy(&slow_down, GPU_H2D, 624000, false);
    cr_assert_eq(copy.ns, 1 + 1000000);
    struct model_demand fill = model_timing_fill(&c2050, 122400000); /* 144 GB/s, of which 0.85 */
    cr_assert_eq(fill.ns, 1000000);
    cr_assert_eq(fill.share[MODEL_RESOURCE_BANDWIDTH], 1);
}

/* The kernel may use 5 of 10 multiprocessors: it takes twice the time and half of the device. */
Test(timing, kernels_of_a_part_take_a_part)
{
    struct soft_device device = device_of("sms=10,clock_mhz=1000,cores=64,f64_ratio=4");
    struct model_counts counts = {0};
    counts.of[MODEL_COUNT_F32] = 40 * 1000;
    struct model_grid grid = {
        .blocks = 40, .block_threads = 256, .blocks_sm = 4, .sms = 5, .counts = &counts};
    struct model_demand part = model_timing_kernel(&device, &grid);
    cr_assert_eq(part.ns, 4000);
    cr_assert_float_eq(part.share[MODEL_RESOURCE_ISSUE], 0.5, 1e-9);
    cr_assert_float_eq(part.share[MODEL_RESOURCE_SLOTS], 0.5, 1e-9);
    grid.sms = 10;
    cr_assert_eq(model_timing_kernel(&device, &grid).ns, 2000);
    grid.sms = 5;
    cr_assert_float_eq(model_timing_kernel_of(&device, &grid, 7).share[MODEL_RESOURCE_SLOTS], 0.5,
                       1e-9);
}

Test(timing, kernels_take_their_busiest_unit)
{
    struct soft_device device = device_of("sms=10,clock_mhz=1000,cores=64,f64_ratio=4");
    /* 1000 instructions of a warp for each of 40 blocks: 4 on each multiprocessor, 2 a clock */
    struct model_demand f32 = kernel(&device, 40, MODEL_COUNT_F32, 1000);
    cr_assert_eq(f32.ns, 2000);
    cr_assert_eq(f32.lead_ns, MODEL_LAUNCH_NS);
    cr_assert_float_eq(f32.share[MODEL_RESOURCE_ISSUE], 1, 1e-9);
    cr_assert_float_eq(f32.share[MODEL_RESOURCE_SLOTS], 1, 1e-9);
    cr_assert_eq(f32.share[MODEL_RESOURCE_BANDWIDTH], 0);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_F64, 1000).ns, 8000);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_INT, 1000).ns, 2000);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_SPECIAL, 1000).ns, 8000);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_SHARED, 1000).ns, 4000);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_MATRIX, 1000).ns, 125);
    device.clock_mhz = 2000;
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_F32, 1000).ns, 1000);
    device.sms = 20;
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_F32, 1000).ns, 500);
}

Test(timing, the_multiprocessor_with_most_blocks_decides)
{
    struct soft_device device = device_of("sms=10,clock_mhz=1000,cores=64");
    cr_assert_eq(kernel(&device, 10, MODEL_COUNT_F32, 1000).ns, 500);
    cr_assert_eq(kernel(&device, 11, MODEL_COUNT_F32, 1000).ns, 1000);
    cr_assert_eq(kernel(&device, 1, MODEL_COUNT_F32, 1000).ns, 500);
    struct model_demand one = kernel(&device, 1, MODEL_COUNT_F32, 1000);
    cr_assert_float_eq(one.share[MODEL_RESOURCE_SLOTS], 1.0 / 40, 1e-9);
    cr_assert_float_eq(one.share[MODEL_RESOURCE_ISSUE], 1.0 / 10, 1e-9);
}

Test(timing, few_warps_wait_for_their_own_instructions)
{
    struct soft_device device = device_of("sms=10,clock_mhz=1000,cores=64");
    /* 8 warps in a block, 100 instructions each: 4 clocks from one to the next */
    cr_assert_eq(kernel(&device, 1, MODEL_COUNT_ISSUE, 800).ns, 400);
    cr_assert_eq(kernel(&device, 1, MODEL_COUNT_GLOBAL, 80).ns, 10 * MODEL_GLOBAL_CLOCKS);
    cr_assert_eq(kernel(&device, 40, MODEL_COUNT_ISSUE, 800).ns, 800); /* 32 warps, 4 a clock */
}

Test(timing, memory_has_its_bandwidth)
{
    struct soft_device device = device_of("model=h200");
    struct model_demand copy = kernel(&device, 10560, MODEL_COUNT_BYTES, 4080000000 / 10560);
    cr_assert_float_eq((double)copy.ns, 1e6, 10); /* 4.8 TB/s, of which 0.85 */
    cr_assert_eq(copy.share[MODEL_RESOURCE_BANDWIDTH], 1);
}

/* ---- beside others ---- */

static struct model_timeline line;
static struct soft_device device;

static void fresh(void)
{
    memset(&line, 0, sizeof line);
    device = device_of("model=a100,switch_time=25us");
}

TestSuite(timeline, .init = fresh);

static const struct model_demand half = {.ns = 1000, .share = {0.5, 0.5, 0.1}};
static const struct model_demand whole = {.ns = 1000, .share = {1, 1, 0.1}};
static const struct model_demand copy = {.ns = 600};

static uint64_t end(enum gpu_engine engine, uint64_t context, const struct model_demand *demand,
                    uint64_t ready)
{
    return model_timeline_place(&line, &device, engine, context, demand, ready).end_ns;
}

Test(timeline, kernels_that_fit_share_the_device)
{
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 100), 1100);
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 100), 1100);
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 100), 2100); /* the first two are in the way */
}

Test(timeline, whole_kernels_take_turns)
{
    struct model_period second;
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 0), 1000);
    second = model_timeline_place(&line, &device, GPU_COMPUTE, 1, &whole, 0);
    cr_assert_eq(second.start_ns, 1000);
    cr_assert_eq(second.end_ns, 2000);
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 5000), 6000);
}

Test(timeline, what_is_left_is_taken_at_a_slower_rate)
{
    const struct model_demand most = {.ns = 1000, .share = {0.75, 0.2, 0}};
    cr_assert_eq(end(GPU_COMPUTE, 1, &most, 0), 1000);
    /* a quarter is left: half the rate for 1000, then all of it */
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 0), 1500);
}

Test(timeline, bandwidth_is_shared_too)
{
    const struct model_demand streams = {.ns = 1000, .share = {0.25, 0.1, 1}};
    cr_assert_eq(end(GPU_COMPUTE, 1, &streams, 0), 1000);
    cr_assert_eq(end(GPU_COMPUTE, 1, &streams, 0), 2000);
}

Test(timeline, without_concurrent_kernels_each_waits)
{
    device.concurrent_kernels = false;
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 0), 1000);
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 0), 2000);
}

Test(timeline, a_launch_waits_for_its_latency_only)
{
    struct model_demand late = half;
    late.lead_ns = 300;
    cr_assert_eq(end(GPU_COMPUTE, 1, &late, 0), 1300);
    cr_assert_eq(end(GPU_COMPUTE, 1, &late, 1300), 2600);
}

Test(timeline, copies_of_a_context_run_beside_its_kernels)
{
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 0), 1000);
    cr_assert_eq(end(GPU_H2D, 1, &copy, 0), 600);
    cr_assert_eq(end(GPU_D2H, 1, &copy, 0), 600);
    cr_assert_eq(end(GPU_H2D, 1, &copy, 0), 1200);
}

Test(timeline, one_copy_engine_takes_both_directions_in_turn)
{
    device.copy_engines = 1;
    cr_assert_eq(end(GPU_H2D, 1, &copy, 0), 600);
    cr_assert_eq(end(GPU_D2H, 1, &copy, 0), 1200);
}

Test(timeline, contexts_take_turns_and_pay_for_changing)
{
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 0), 1000);
    cr_assert_eq(end(GPU_COMPUTE, 2, &half, 0), 1000 + 25000 + 1000);
    cr_assert_eq(end(GPU_COMPUTE, 2, &half, 0), 27000); /* beside the other one */
    cr_assert_eq(end(GPU_COMPUTE, 1, &half, 0), 27000 + 25000 + 1000);
    device.switch_ns = 0;
    cr_assert_eq(end(GPU_COMPUTE, 2, &half, 0), 54000);
}

Test(timeline, whether_copies_wait_for_kernels_of_other_contexts_is_the_devices)
{
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 0), 1000);
    cr_assert_eq(end(GPU_H2D, 2, &copy, 0), 600);
    fresh();
    device.overlap_contexts = false; /* Fermi */
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 0), 1000);
    cr_assert_eq(end(GPU_H2D, 2, &copy, 0), 1000 + 25000 + 600);
    cr_assert_eq(end(GPU_COMPUTE, 1, &whole, 0), 26600 + 25000 + 1000);
}

/* Never more than there is, and no work lost, with more kernels than the table holds. */
Test(timeline, many_kernels_stay_within_the_device)
{
    uint64_t last = 0;
    double work = 0;
    for (unsigned i = 0; i < 4 * MODEL_TIMELINE_SPANS; i++) {
        double share = 0.05 + 0.3 * (i % 7) / 7;
        struct model_demand demand = {.ns = 500 + i % 13 * 100, .share = {share, share / 2, 0}};
        struct model_period period =
            model_timeline_place(&line, &device, GPU_COMPUTE, 1, &demand, i * 10);
        cr_assert_geq(period.end_ns - period.start_ns, demand.ns);
        cr_assert_geq(period.start_ns, i * 10);
        last = period.end_ns > last ? period.end_ns : last;
        work += share * (double)demand.ns;
        double used = 0;
        for (uint32_t s = 0; s < line.span_count; s++) {
            const struct model_timeline_span *span = &line.spans[s];
            bool now = span->start_ns <= period.start_ns && period.start_ns < span->end_ns;
            used += now ? span->used[MODEL_RESOURCE_SLOTS] : 0;
        }
        cr_assert_leq(used, 1 + 1e-6);
    }
    cr_assert_geq((double)last, work * 0.999);
}
