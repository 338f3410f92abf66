/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/monitor.h"

#include "api/calls.h"
#include "server/session/conn.h"
#include "server/session/meter_gpu.h"

#define DISTANCES 31u /* 1 to so many launches from one look to the next */

static uint64_t monitor_load(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* xorshift32 (Marsaglia, 2003). */
static uint32_t distance(struct monitor *monitor)
{
    uint32_t x = monitor->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    monitor->random = x;
    return 1 + x % DISTANCES;
}

void monitor_init(struct monitor *monitor)
{
    *monitor = (struct monitor){.left = 1, .from = 1, .random = 2463534242u};
}

static void launches_add(struct monitor *monitor, uint64_t count)
{
    struct figures_shape *shape = monitor->shape;
    uint32_t share = atomic_load_explicit(&shape->share, memory_order_relaxed);
    atomic_store_explicit(&shape->count, monitor_load(&shape->count) + count, memory_order_relaxed);
    monitor->gpu->tally.count += count;
    monitor->gpu->tally.filled += count * share;
}

void monitor_settle(struct monitor *monitor)
{
    if (monitor->shape != NULL) {
        launches_add(monitor, monitor->from - monitor->left);
    }
    monitor->from = monitor->left;
}

void monitor_wake(struct monitor *monitor)
{
    monitor_settle(monitor);
    monitor->left = 1;
    monitor->from = 1;
}

/* ---- shapes */

static bool is_shape(const struct figures_shape *shape, uint64_t function,
                     const struct ga_launch_args *args)
{
    bool same = monitor_load(&shape->count) != 0 && monitor_load(&shape->function) == function &&
                shape->shared_bytes == args->shared_bytes;
    for (unsigned i = 0; same && i < 3; i++) {
        same = shape->grid[i] == args->grid[i] && shape->block[i] == args->block[i];
    }
    return same;
}

/* Warps that have a place on the GPU of the current context. 0: the driver does not say. */
static uint32_t device_warps(const struct cuda_driver *driver)
{
    CUdevice device;
    int sms = 0, threads = 0, warp = 0;
    if (driver->cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
            CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                                     device) != CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) !=
            CUDA_SUCCESS ||
        warp <= 0) {
        return 0;
    }
    return (uint32_t)(sms * (threads / warp));
}

/* The share of the places for warps that a launch fills: all of it, or as many of its blocks as fit
 * at a time. What the driver does not say counts whole. */
static uint32_t share_of(const struct cuda_driver *driver, struct meter_gpu *gpu,
                         const struct server_function *function, const struct ga_launch_args *args)
{
    const uint32_t *grid = args->grid, *block = args->block;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    CUdevice device;
    int fit = 0, sms = 0;
    gpu->warps = gpu->warps != 0 ? gpu->warps : device_warps(driver);
    if (gpu->warps == 0 || threads == 0 || threads > INT32_MAX ||
        driver->cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
            CUDA_SUCCESS ||
        driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, function->real, (int)threads,
                                                            args->shared_bytes) != CUDA_SUCCESS) {
        return FIGURES_WHOLE;
    }
    uint64_t places = (uint64_t)fit * (uint64_t)sms;
    uint64_t warps = (blocks < places ? blocks : places) * ((threads + 31) / 32);
    return warps < gpu->warps ? (uint32_t)(warps * FIGURES_WHOLE / gpu->warps) : FIGURES_WHOLE;
}

/* Its row; or the one of the least frequent shape, which it takes over. */
static struct figures_shape *shape_find(const struct cuda_driver *driver, struct meter_gpu *gpu,
                                        const struct server_function *function,
                                        const struct ga_launch_args *args)
{
    struct figures_shape *shapes = gpu->figures->shapes, *least = shapes;
    for (unsigned i = 0; i < FIGURES_SHAPES; i++) {
        if (is_shape(&shapes[i], function->handle, args)) {
            return &shapes[i];
        }
        least = monitor_load(&shapes[i].count) < monitor_load(&least->count) ? &shapes[i] : least;
    }
    for (unsigned i = 0; i < 3; i++) {
        atomic_store_explicit(&least->grid[i], args->grid[i], memory_order_relaxed);
        atomic_store_explicit(&least->block[i], args->block[i], memory_order_relaxed);
    }
    atomic_store_explicit(&least->shared_bytes, args->shared_bytes, memory_order_relaxed);
    atomic_store_explicit(&least->function, function->handle, memory_order_relaxed);
    atomic_store_explicit(&least->share, share_of(driver, gpu, function, args),
                          memory_order_relaxed);
    return least;
}

void monitor_look(struct server_conn *conn, const struct server_function *function,
                  const struct ga_launch_args *args)
{
    struct monitor *monitor = &conn->monitor;
    struct meter_gpu *gpu = conn->meter.gpu;
    monitor->left = 1; /* this one counts by itself */
    monitor_settle(monitor);
    if (gpu != NULL) {
        monitor->gpu = gpu;
        monitor->shape = shape_find(conn->driver, gpu, function, args);
        launches_add(monitor, 1);
    }
    monitor->left = distance(monitor);
    monitor->from = monitor->left;
}
