/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches: argument checks, the copy of the parameters, and the run. */
#include "softgpu/module/launch.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "softgpu/engine/budget.h"
#include "model/counts.h"
#include "softgpu/module/device_launch.h"
#include "softgpu/module/fault_log.h"
#include "softgpu/module/occupancy.h"
#include "softgpu/module/timed.h"
#include "softgpu/module/workspace.h"
#include "softgpu/node/time_slices.h"
#include "softgpu/process/attributes.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/process/report.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/streams.h"

struct launch {
    struct sg_item item;      /* first */
    struct sg_module *module; /* held */
    const struct sg_kernel *kernel;
    struct sg_launch_shape shape;
    uint32_t stack_bytes;
    unsigned dynamic_max; /* settings of the function, for the number of blocks that fit */
    int carveout;
    struct sg_print *print;              /* held */
    struct sg_device_launch_facts facts; /* for kernels that launch kernels */
    uint64_t workspace;                  /* of a cooperative grid; otherwise 0 */
    _Alignas(16) uint8_t params[];       /* kernel->param_bytes */
};

static CUresult fault_result(enum sg_fault_code code)
{
    switch (code) {
    case SG_FAULT_NONE:
        return CUDA_SUCCESS;
    case SG_FAULT_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SG_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SG_FAULT_ASSERT:
        return CUDA_ERROR_ASSERT;
    case SG_FAULT_STACK:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case SG_FAULT_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case SG_FAULT_INVALID_PC:
        return CUDA_ERROR_INVALID_PC;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static void launch_give_way(void *turn)
{
    sg_turn_wait(turn, &sg_process.stop);
}

/* The demand on the device by the instructions that were executed. */
static struct model_demand launch_demand(const struct launch *launch,
                                         const struct model_counts *counts)
{
    const struct sg_device *device = launch->module->context->device;
    const struct sg_launch_shape *shape = &launch->shape;
    if (sg_timed_is(device, launch->kernel)) {
        return sg_timed_demand(launch->params);
    }
    struct model_grid grid = {.blocks = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2],
                              .block_threads = shape->block[0] * shape->block[1] * shape->block[2],
                              .counts = counts};
    uint64_t fitting =
        sg_occupancy_blocks(device, launch->kernel, launch->dynamic_max, launch->carveout,
                            grid.block_threads, shape->dynamic_shared);
    grid.blocks_sm = fitting != 0 ? (uint32_t)fitting : 1;
    grid.sms = sg_stream_sms(launch->item.stream);
    return device->config.execute || device->config.kernel_ns == 0
               ? model_timing_kernel(&device->config, &grid)
               : model_timing_kernel_of(&device->config, &grid, device->config.kernel_ns);
}

/* The stricter one of device and context. */
static uint64_t launch_limit_ns(const struct sg_context *context)
{
    uint64_t all = context->device->config.kernel_limit_ns;
    uint64_t own = atomic_load_explicit(&context->kernel_limit_ns, memory_order_relaxed);
    return all == 0 || (own != 0 && own < all) ? own : all;
}

static CUresult launch_run(struct sg_item *item)
{
    struct launch *launch = ga_container(item, struct launch, item);
    const struct sg_device *device = launch->module->context->device;
    const struct sg_capability *capability = sg_device_capability(device);
    const struct sg_launch_shape *shape = &launch->shape;
    struct sg_node_engine *turn = device->engines[GPU_COMPUTE].turn;
    struct sg_launch run = {.image = launch->module->image,
                            .kernel = launch->kernel,
                            .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
                            .block = {shape->block[0], shape->block[1], shape->block[2]},
                            .cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
                            .dynamic_shared = shape->dynamic_shared,
                            .params = launch->params,
                            .owner = launch->module->context->life,
                            .map = device->map,
                            .sm_count = sg_stream_sms(item->stream),
                            .clock_mhz = device->config.clock_mhz,
                            .warps_sm = capability->threads_sm / SG_WARP_LANES,
                            .shared_unit = front_shared_unit(capability->number / 10),
                            .shared_reserved = capability->shared_reserved,
                            .max_workers = sg_stream_sms(item->stream),
                            .stack_bytes = launch->stack_bytes,
                            .stop = &sg_process.stop,
                            .limit_ns = launch_limit_ns(launch->module->context),
                            .waiting = &turn->waiting,
                            .give_way = launch_give_way,
                            .turn = turn,
                            .heap = launch->module->context->heap,
                            .objects = launch->module->context->objects,
                            .launcher = launch->module->launcher,
                            .pending_launches = (uint32_t)launch->facts.launch_count,
                            .facts = &launch->facts.public,
                            .printer = sg_print_printer(launch->print)};
    run.workspace = (void *)(uintptr_t)launch->workspace;
    struct model_counts counts = {0};
    struct sg_fault fault = {.code = SG_FAULT_NONE};
    if (device->config.execute) {
        run.counts = device->config.timing ? &counts : NULL;
        sg_grid_run(sg_process.pool, &run, &fault);
    } else {
        sg_grid_estimate(&run, &counts);
    }
    if (device->config.timing) {
        item->demand = launch_demand(launch, &counts);
    }
    if (fault.code != SG_FAULT_NONE && fault.code != SG_FAULT_STOPPED) {
        sg_fault_log(&fault, device);
    }
    return fault_result(fault.code);
}

static void launch_item_drop(struct sg_item *item)
{
    struct launch *launch = ga_container(item, struct launch, item);
    if (launch->workspace != 0) {
        sg_workspace_give(launch->workspace);
    }
    sg_module_drop(launch->module);
    sg_print_drop(launch->print);
}

static struct front_cluster cluster_facts(const struct sg_function *function)
{
    const struct sg_kernel *kernel = function->kernel;
    return (struct front_cluster){
        .possible = function->module->context->device->config.capability >= 90,
        .must_be_set = kernel->explicit_cluster,
        .non_portable = function->settings->non_portable_cluster ||
                        kernel->max_cluster > FRONT_CLUSTER_PORTABLE,
        .required = {kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]}};
}

unsigned sg_cluster_most(const struct sg_function *function)
{
    struct front_cluster facts = cluster_facts(function);
    unsigned most = front_cluster_most(&facts), bound = function->kernel->max_cluster;
    return bound != 0 && bound < most ? bound : most;
}

CUresult sg_cluster_check(const struct sg_function *function, const unsigned grid[3],
                          const unsigned cluster[3])
{
    struct front_cluster facts = cluster_facts(function);
    CUresult rc = front_cluster_check(&facts, grid, cluster);
    unsigned blocks = cluster[0] * cluster[1] * cluster[2]; /* at most 16 */
    return rc == CUDA_SUCCESS && blocks > sg_cluster_most(function)
               ? CUDA_ERROR_INVALID_CLUSTER_SIZE
               : rc;
}

static CUresult shape_check(const struct sg_function *function, const struct sg_launch_shape *shape)
{
    static const unsigned grid_max[3] = {2147483647u, 65535u, 65535u};
    static const unsigned block_max[3] = {1024u, 1024u, 64u};
    const struct sg_kernel *kernel = function->kernel;
    uint64_t threads = 1;
    for (unsigned i = 0; i < 3; i++) {
        if (shape->grid[i] == 0 || shape->grid[i] > grid_max[i] || shape->block[i] == 0 ||
            shape->block[i] > block_max[i]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (kernel->reqntid[0] != 0 && shape->block[i] != kernel->reqntid[i]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        threads *= shape->block[i];
    }
    if (threads > SG_BLOCK_THREADS_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (shape->dynamic_shared > sg_dynamic_shared_max(kernel, function->settings)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (threads > sg_occupancy_threads_max(kernel)) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    CU_TRY(sg_cluster_check(function, shape->grid, shape->cluster));
    unsigned __int128 blocks = (unsigned __int128)shape->grid[0] * shape->grid[1] * shape->grid[2];
    unsigned sms = shape->sms != 0 ? shape->sms : sg_context_sms(function->module->context);
    return shape->cooperative
               ? front_cooperative_check(blocks,
                                         (unsigned)sg_occupancy_resident(
                                             function, 1, (unsigned)threads, shape->dynamic_shared),
                                         sms)
               : CUDA_SUCCESS;
}

/* Blocks that must run side by side have their local memory at once, or there is no launch. */
static CUresult local_memory_check(const struct sg_function *function,
                                   const struct sg_launch_shape *shape)
{
    const uint32_t *blocks = shape->cooperative ? shape->grid : shape->cluster;
    unsigned __int128 bytes =
        sg_launch_local_bytes(function->kernel, shape->block[0] * shape->block[1] * shape->block[2],
                              (uint32_t)function->module->context->stack_bytes);
    for (unsigned i = 0; i < 3; i++) {
        bytes *= blocks[i] != 0 ? blocks[i] : 1;
    }
    if (bytes > sg_budget_most()) {
        sg_tell("%s: %llu bytes of local memory are needed at once, %llu are the most",
                function->kernel->name, bytes > UINT64_MAX ? UINT64_MAX : (unsigned long long)bytes,
                (unsigned long long)sg_budget_most());
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* The packed buffer of `extra`, or NULL with *bytes 0. */
static CUresult launch_extra_read(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            *buffer = extra[i + 1];
        } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            if (extra[i + 1] == NULL) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            memcpy(bytes, extra[i + 1], sizeof *bytes);
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return *buffer == NULL && *bytes != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult params_copy(const struct sg_kernel *kernel, void **params, void **extra,
                            uint8_t *to)
{
    if (params != NULL && extra != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (extra != NULL) {
        const void *buffer;
        size_t bytes;
        CUresult rc = launch_extra_read(extra, &buffer, &bytes);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        if (bytes < kernel->param_bytes) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (buffer != NULL) { /* otherwise there are no parameters */
            memcpy(to, buffer, kernel->param_bytes);
        }
        return CUDA_SUCCESS;
    }
    if (params == NULL) {
        return kernel->param_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        if (params[i] == NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(to + kernel->params[i].offset, params[i], kernel->params[i].size);
    }
    return CUDA_SUCCESS;
}

CUresult sg_launch_make(struct sg_function *function, const struct sg_launch_shape *shape,
                        void **params, void **extra, struct sg_item **item)
{
    struct sg_context *context = function->module->context;
    CUresult rc = shape_check(function, shape);
    if (rc == CUDA_SUCCESS) {
        rc = local_memory_check(function, shape);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_process_pool();
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct launch *launch =
        sg_item_make(sizeof *launch + function->kernel->param_bytes, GPU_COMPUTE, launch_run);
    if (launch == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    rc = params_copy(function->kernel, params, extra, launch->params);
    if (rc == CUDA_SUCCESS && sg_timed_is(context->device, function->kernel)) {
        rc = sg_timed_check(function->kernel, launch->params);
    }
    if (rc == CUDA_SUCCESS && shape->cooperative) {
        launch->workspace = sg_workspace_take();
        rc = launch->workspace != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        free(launch);
        return rc;
    }
    launch->item.drop = launch_item_drop;
    launch->item.note =
        (struct sg_note){.name = function->kernel->name,
                         .unit = "blocks",
                         .amount = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2]};
    launch->item.prioritised = shape->prioritised;
    launch->item.priority = shape->priority;
    launch->module = function->module;
    launch->kernel = function->kernel;
    launch->shape = *shape;
    launch->dynamic_max = sg_dynamic_shared_max(function->kernel, function->settings);
    launch->carveout = function->settings->carveout;
    sg_device_launch_facts_read(&launch->facts, context);
    launch->stack_bytes = (uint32_t)context->stack_bytes;
    launch->print = context->print;
    context->printed |= function->kernel->prints;
    context->heap_used |= function->kernel->mallocs;
    sg_module_hold(launch->module);
    sg_print_hold(launch->print);
    *item = &launch->item;
    return CUDA_SUCCESS;
}

CUresult sg_launch_submit(struct sg_stream *stream, struct sg_function *function,
                          const struct sg_launch_shape *shape, void **params, void **extra)
{
    struct sg_item *item;
    struct sg_launch_shape here = *shape;
    here.sms = sg_stream_sms(stream);
    CUresult rc = function->module->context == stream->context
                      ? sg_launch_make(function, &here, params, extra, &item)
                      : CUDA_ERROR_INVALID_HANDLE;
    if (rc == CUDA_SUCCESS) {
        sg_submit(stream, item);
    }
    return rc;
}
