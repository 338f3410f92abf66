/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/monitor.h"

#include <string.h>

#include "api/calls.h"
#include "server/app/app.h"
#include "server/meter/meter_gpu.h"

static uint64_t monitor_load(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

void monitor_settle(struct monitor *monitor)
{
    if (monitor->shape != NULL && monitor->launches != 0) {
        _Atomic uint64_t *count = &monitor->shape->count;
        atomic_store_explicit(count, monitor_load(count) + monitor->launches, memory_order_relaxed);
    }
    monitor->launches = 0;
}

void monitor_forget(struct monitor *monitor)
{
    monitor_settle(monitor);
    monitor->function = NULL;
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

/* Asks for the places for warps of the GPU of the current context. False: the driver does not say.
 */
static bool device_learn(const struct cuda_driver *driver, struct meter_gpu *gpu)
{
    CUdevice device;
    int sms = 0, threads = 0, warp = 0;
    if (gpu->warps == 0 && driver->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ==
            CUDA_SUCCESS &&
        driver->cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                                     device) == CUDA_SUCCESS &&
        driver->cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) ==
            CUDA_SUCCESS &&
        warp > 0) {
        gpu->sms = (uint32_t)sms;
        gpu->warps = (uint32_t)(sms * (threads / warp));
    }
    return gpu->warps != 0;
}

/* Blocks of this size that fit on a multiprocessor; 0: the driver does not say, or none does. */
static uint64_t blocks_fit(const struct cuda_driver *driver, CUfunction function, uint64_t threads,
                           uint32_t shared_bytes)
{
    int fit = 0;
    return threads != 0 && threads <= INT32_MAX &&
                   driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                       &fit, function, (int)threads, shared_bytes) == CUDA_SUCCESS &&
                   fit > 0
               ? (uint64_t)fit
               : 0;
}

/* The share of the places for warps that a launch fills: all of it, or as many of its blocks as fit
 * at a time. A launch whose share the driver does not know counts whole. */
static uint32_t share_of(const struct cuda_driver *driver, struct meter_gpu *gpu,
                         const struct server_function *function, const struct ga_launch_args *args)
{
    const uint32_t *grid = args->grid, *block = args->block;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    uint64_t fit = blocks_fit(driver, function->real, threads, args->shared_bytes);
    if (fit == 0 || !device_learn(driver, gpu)) {
        return FIGURES_WHOLE;
    }
    uint64_t places = fit * gpu->sms;
    uint64_t warps = (blocks < places ? blocks : places) * ((threads + 31) / 32);
    return warps < gpu->warps ? (uint32_t)(warps * FIGURES_WHOLE / gpu->warps) : FIGURES_WHOLE;
}

/* Its row; or the one of the least frequent shape, which it takes over. */
static struct figures_shape *shape_find(struct figures_shape *shapes, uint64_t function,
                                        const struct ga_launch_args *args)
{
    struct figures_shape *least = shapes;
    for (unsigned i = 0; i < FIGURES_SHAPES; i++) {
        if (is_shape(&shapes[i], function, args)) {
            return &shapes[i];
        }
        least = monitor_load(&shapes[i].count) < monitor_load(&least->count) ? &shapes[i] : least;
    }
    for (unsigned i = 0; i < 3; i++) {
        atomic_store_explicit(&least->grid[i], args->grid[i], memory_order_relaxed);
        atomic_store_explicit(&least->block[i], args->block[i], memory_order_relaxed);
    }
    atomic_store_explicit(&least->shared_bytes, args->shared_bytes, memory_order_relaxed);
    atomic_store_explicit(&least->function, function, memory_order_relaxed);
    return least;
}

static void monitor_look(struct server_app *app, const struct server_function *function,
                         const struct ga_launch_args *args)
{
    struct monitor *monitor = &app->monitor;
    struct meter_gpu *gpu = meter_gpu_find(app, function->module->context->session->ordinal);
    monitor_settle(monitor);
    monitor->function = function;
    memcpy(monitor->grid, args->grid, sizeof monitor->grid);
    memcpy(monitor->block, args->block, sizeof monitor->block);
    monitor->shared_bytes = args->shared_bytes;
    monitor->share = FIGURES_WHOLE;
    monitor->shape = NULL;
    if (gpu != NULL) {
        monitor->share = share_of(app->driver, gpu, function, args);
        monitor->shape = shape_find(gpu->figures->shapes, function->handle, args);
        atomic_store_explicit(&monitor->shape->share, monitor->share, memory_order_relaxed);
    }
}

uint32_t monitor_launch(struct server_app *app, const struct server_function *function,
                        const struct ga_launch_args *args)
{
    struct monitor *monitor = &app->monitor;
    if (monitor->function != function || monitor->shared_bytes != args->shared_bytes ||
        memcmp(monitor->grid, args->grid, sizeof monitor->grid) != 0 ||
        memcmp(monitor->block, args->block, sizeof monitor->block) != 0) {
        monitor_look(app, function, args);
    }
    monitor->launches++;
    return monitor->share;
}
