/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/seat_use.h"

#include "base/clock.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

/* False: the driver of the process has no such GPU that clients see. */
static bool seat_use_device(const struct devices *devices, enum conf_driver driver,
                            uint64_t ordinal, struct seat_use *use)
{
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        if (device->gpu->driver == driver && device->ordinal == ordinal) {
            *use = (struct seat_use){.device = device, .gpu = i};
            return true;
        }
    }
    return false;
}

static uint64_t seat_use_load(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void shape_read(const struct figures_shape *from, struct seat_shape *shape)
{
    shape->launches = seat_use_load(&from->count);
    for (unsigned i = 0; i < 3; i++) {
        shape->grid[i] = atomic_load_explicit(&from->grid[i], memory_order_relaxed);
        shape->block[i] = atomic_load_explicit(&from->block[i], memory_order_relaxed);
    }
    shape->shared_bytes = atomic_load_explicit(&from->shared_bytes, memory_order_relaxed);
    uint32_t share = atomic_load_explicit(&from->share, memory_order_relaxed);
    shape->share = share < FIGURES_WHOLE ? share : FIGURES_WHOLE;
}

/* Keeps the shapes in order. */
static void shapes_read(const struct gpu_figures *row, struct seat_use *use)
{
    for (unsigned i = 0; i < FIGURES_SHAPES; i++) {
        struct seat_shape shape;
        shape_read(&row->shapes[i], &shape);
        if (shape.launches == 0) {
            continue;
        }
        uint32_t at = use->shape_count++;
        for (; at > 0 && use->shapes[at - 1].launches < shape.launches; at--) {
            use->shapes[at] = use->shapes[at - 1];
        }
        use->shapes[at] = shape;
    }
}

static void monitor_read(const struct gpu_figures *row, uint64_t most, struct seat_use *use)
{
    for (unsigned way = 0; way < 2; way++) {
        use->copies[way] = seat_use_load(&row->copies[way]);
        use->copied_bytes[way] = seat_use_load(&row->copied_bytes[way]);
    }
    uint64_t demand_ns = seat_use_load(&row->demand_ns);
    use->demand_ns = demand_ns < most ? demand_ns : most;
    shapes_read(row, use);
}

bool seat_use_gpu(const struct usage_seat *seat, uint32_t number, struct seat_use *use)
{
    const struct devices *devices = &seat->room->processes->devices;
    uint64_t gpu = number < FIGURES_GPUS ? seat_use_load(&seat->figures->gpus[number].gpu) : 0;
    return gpu != 0 && seat_use_device(devices, seat->driver, gpu - 1, use);
}

/* The seat's part of the time that several had work for. */
static void times_read(const struct time_share *share, struct seat_use *use)
{
    const enum gpu_engine compute = GPU_COMPUTE;
    use->busy_any_ns = (uint64_t)share->gpu_ns;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        use->busy_ns[i] = (uint64_t)share->engine_ns[i];
    }
    double had = (double)share->had_ns[compute];
    double part = had > 0 ? share->engine_ns[compute] / had : 0;
    use->demand_ns = (uint64_t)((double)use->demand_ns * part);
}

bool seat_use_read(const struct usage_seat *seat, uint32_t number, struct seat_use *use)
{
    struct gpu_times_use times;
    if (!seat_use_gpu(seat, number, use)) {
        return false;
    }
    const struct gpu_figures *row = &seat->figures->gpus[number];
    gpu_times_look(seat->room); /* its phase before the rest */
    use->works = seat_use_load(&row->works);
    monitor_read(row, timers_now(seat->room->timers) - seat->taken_ns, use);
    if (gpu_times_of(seat, number, &times)) {
        use->phase = times.phase;
        times_read(times.share, use);
    }
    return true;
}

uint64_t seat_use_bandwidth(const uint64_t copied_bytes[2], uint64_t busy_any_ns)
{
    double bytes = (double)copied_bytes[0] + (double)copied_bytes[1];
    double rate = busy_any_ns != 0 ? bytes * 1e9 / (double)busy_any_ns : 0;
    return rate < 1e18 ? (uint64_t)rate : 0;
}
