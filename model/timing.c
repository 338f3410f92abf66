/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of the timing model. */
#include "model/timing.h"

#include <math.h>

#include "model/counts.h"
#include "model/constants.h"

#define WARP_LANES 32

static double timing_smaller(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static uint64_t timing_rounded(double ns)
{
    return ns < 9e18 ? (uint64_t)llround(ns) : UINT64_C(9000000000000000000);
}

static uint64_t quotient_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Lanes that a multiprocessor serves in a clock. */
static double timing_lanes(const struct soft_device *device, enum model_count kind)
{
    double cores = device->cores;
    switch (kind) {
    case MODEL_COUNT_F32:
        return cores;
    case MODEL_COUNT_F64:
        return cores / device->f64_ratio;
    case MODEL_COUNT_INT:
        return timing_smaller(cores, MODEL_INT_LANES);
    case MODEL_COUNT_SPECIAL:
        return cores / MODEL_SPECIAL_SHARE;
    case MODEL_COUNT_MATRIX:
        return cores * MODEL_MATRIX_GAIN;
    case MODEL_COUNT_SHARED:
        return MODEL_SHARED_LANES;
    case MODEL_COUNT_GLOBAL:
        return MODEL_GLOBAL_LANES;
    default:
        return cores < MODEL_CORES_FEW ? cores : MODEL_ISSUE_LANES;
    }
}

/* Clocks of one multiprocessor for all counted instructions: those of its busiest unit. */
static double clocks_of(const struct soft_device *device, const struct model_counts *counts)
{
    double clocks = 0;
    for (int kind = 0; kind < MODEL_COUNT_BYTES; kind++) {
        double warps = (double)atomic_load(&counts->of[kind]);
        clocks = most(clocks, warps * WARP_LANES / timing_lanes(device, (enum model_count)kind));
    }
    return clocks;
}

/* Clocks of a warp that has a multiprocessor for itself. */
static double warp_clocks(const struct model_grid *grid)
{
    uint64_t warps = grid->blocks * quotient_up(grid->block_threads, WARP_LANES);
    const struct model_counts *counts = grid->counts;
    double clocks = (double)atomic_load(&counts->of[MODEL_COUNT_ISSUE]) * MODEL_ISSUE_CLOCKS +
                    (double)atomic_load(&counts->of[MODEL_COUNT_GLOBAL]) * MODEL_GLOBAL_CLOCKS;
    return clocks / (double)warps;
}

static uint32_t sms_of(const struct soft_device *device, const struct model_grid *grid)
{
    return grid->sms != 0 ? grid->sms : device->sms;
}

/* Its share of the device, at most. */
static double timing_part(const struct soft_device *device, const struct model_grid *grid)
{
    return (double)sms_of(device, grid) / device->sms;
}

static double timing_slots(const struct soft_device *device, const struct model_grid *grid)
{
    return timing_smaller(timing_part(device, grid),
                          (double)grid->blocks / ((double)device->sms * grid->blocks_sm));
}

static double memory_ns(const struct soft_device *device, double bytes)
{
    return bytes * 1000 / (device->memory_mbs * MODEL_MEMORY_SHARE);
}

struct model_demand model_timing_kernel(const struct soft_device *device,
                                        const struct model_grid *grid)
{
    double clock_ns = 1000.0 / device->clock_mhz;
    uint32_t sms = sms_of(device, grid);
    uint64_t busiest = quotient_up(grid->blocks, sms);
    uint64_t waves = quotient_up(grid->blocks, (uint64_t)sms * grid->blocks_sm);
    double all_ns = clocks_of(device, grid->counts) * clock_ns; /* on one multiprocessor */
    double issue_ns = all_ns * (double)busiest / (double)grid->blocks;
    double latency_ns = (double)waves * warp_clocks(grid) * clock_ns;
    double bytes_ns = memory_ns(device, (double)atomic_load(&grid->counts->of[MODEL_COUNT_BYTES]));
    double ns = most(most(issue_ns, latency_ns), bytes_ns);
    struct model_demand demand = {.lead_ns = MODEL_LAUNCH_NS, .ns = timing_rounded(ns)};
    demand.share[MODEL_RESOURCE_SLOTS] = timing_slots(device, grid);
    if (ns > 0) {
        demand.share[MODEL_RESOURCE_ISSUE] =
            timing_smaller(timing_part(device, grid), all_ns / device->sms / ns);
        demand.share[MODEL_RESOURCE_BANDWIDTH] = timing_smaller(1, bytes_ns / ns);
    }
    return demand;
}

struct model_demand model_timing_kernel_of(const struct soft_device *device,
                                           const struct model_grid *grid, uint64_t ns)
{
    struct model_demand demand = {.lead_ns = MODEL_LAUNCH_NS, .ns = ns};
    demand.share[MODEL_RESOURCE_SLOTS] = timing_slots(device, grid);
    return demand;
}

struct model_demand model_timing_copy(const struct soft_device *device, enum gpu_engine way,
                                      uint64_t bytes, bool pageable)
{
    bool up = way == GPU_H2D;
    double mbs = (up ? device->h2d_mbs : device->d2h_mbs) * MODEL_PCIE_SHARE;
    double ns = (double)bytes * 1000 / (pageable ? mbs * MODEL_PAGEABLE_SHARE : mbs);
    uint64_t latency = up ? device->h2d_latency_ns : device->d2h_latency_ns;
    return (struct model_demand){.ns = latency + timing_rounded(ns)};
}

struct model_demand model_timing_fill(const struct soft_device *device, uint64_t bytes)
{
    struct model_demand demand = {.lead_ns = MODEL_LAUNCH_NS,
                                  .ns = timing_rounded(memory_ns(device, (double)bytes))};
    demand.share[MODEL_RESOURCE_SLOTS] = MODEL_FILL_SLOTS;
    demand.share[MODEL_RESOURCE_ISSUE] = MODEL_FILL_ISSUE;
    demand.share[MODEL_RESOURCE_BANDWIDTH] = 1;
    return demand;
}
