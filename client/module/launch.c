/* SPDX-License-Identifier: Apache-2.0 */
/* Launches. Cached facts decide as much as they can here: those errors come from the call
 * itself. */
#include "client/module/launch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/log.h"
#include "base/readable.h"
#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/memory/mirror.h"
#include "client/module/function.h"
#include "client/module/module.h"
#include "client/session/server_devices.h"
#include "front/front.h"

#define STACK_PARAMS 4096u

struct shape {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, flags;
    uint32_t cluster[3]; /* 0: not said */
};

static bool within(const uint32_t *at, const int32_t *attributes, CUdevice_attribute first)
{
    for (int i = 0; i < 3; i++) {
        if (at[i] == 0 || at[i] > (uint32_t)attributes[(int)first + i]) {
            return false;
        }
    }
    return true;
}

static int launch_device_attribute(const void *of, CUdevice_attribute which)
{
    return ((const struct client_device *)of)->attributes[which];
}

/* All blocks must fit on the device at once. */
static CUresult check_cooperative(const struct client_function *function, const struct shape *shape)
{
    const struct client_device *device = function->object.context->device;
    if (device->attributes[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] == 0) {
        return front_unsupported("cuLaunchCooperativeKernel");
    }
    struct front_sm sm;
    struct front_kernel kernel;
    front_sm_read(&sm, launch_device_attribute, device);
    front_kernel_read(&kernel, function->attributes);
    unsigned each = front_occupancy_blocks(
        &sm, &kernel, shape->block[0] * shape->block[1] * shape->block[2], shape->shared_bytes);
    return front_cooperative_check(
        (unsigned __int128)shape->grid[0] * shape->grid[1] * shape->grid[2], each,
        (unsigned)device->attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
}

static CUresult check_cluster(const struct client_function *function, const struct shape *shape)
{
    const int32_t *device = function->object.context->device->attributes;
    const int32_t *kernel = function->attributes;
    struct front_cluster facts = {
        .possible = device[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] != 0,
        .must_be_set = kernel[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] != 0,
        .non_portable = kernel[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] != 0};
    for (int i = 0; i < 3; i++) {
        facts.required[i] = (unsigned)kernel[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i];
    }
    return front_cluster_check(&facts, shape->grid, shape->cluster);
}

static CUresult check(const struct client_function *function, const struct shape *shape)
{
    const int32_t *device = function->object.context->device->attributes;
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (!within(shape->grid, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
        !within(shape->block, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
        threads > (uint64_t)device[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK]) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (threads > (uint64_t)function->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    int32_t dynamic = function->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    if (shape->shared_bytes > (uint32_t)dynamic) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = check_cluster(function, shape);
    return rc == CUDA_SUCCESS && (shape->flags & API_LAUNCH_COOPERATIVE) != 0
               ? check_cooperative(function, shape)
               : rc;
}

/* ---- parameters */

struct params {
    const void *bytes;
    uint32_t size;
    bool pinned; /* there may be an address of pinned memory in them */
    uint8_t few[STACK_PARAMS];
};

/* Room for the rare kernel with many parameters: one buffer per thread, freed at its end. */
static pthread_key_t large_key;
static pthread_once_t large_once = PTHREAD_ONCE_INIT;

static void large_key_make(void)
{
    (void)pthread_key_create(&large_key, free);
}

static uint8_t *large_room(void)
{
    (void)pthread_once(&large_once, large_key_make);
    uint8_t *room = pthread_getspecific(large_key);
    if (room == NULL) {
        room = malloc(API_PARAM_BYTES_MAX);
        (void)pthread_setspecific(large_key, room);
    }
    return room;
}

/* Pinned memory may be named by the program's address, in pointers or in structures of pointers.
 * Most parameters are pointers and numbers: what has just been written is not read again. */
static inline bool param_copy(uint8_t *to, const void *from, uint32_t size)
{
    uint64_t word = 0;
    if (size == sizeof(uint32_t)) {
        memcpy(to, from, sizeof(uint32_t));
    } else if (size == sizeof word) {
        memcpy(&word, from, sizeof word);
        memcpy(to, &word, sizeof word);
    } else {
        memcpy(to, from, size);
        return size > sizeof word;
    }
    return client_window_other(word);
}

/* How many parameters a kernel has, and of how many bytes, is what the server says, and the program
 * is read accordingly: a server that is broken must not end it. The kernel's first launch tells. */
static bool params_fit(struct client_function *function, void **values)
{
    bool fit = ga_readable(values, function->param_count * sizeof *values);
    for (uint32_t i = 0; fit && i < function->param_count; i++) {
        fit = values[i] == NULL || ga_readable(values[i], function->params[i].size);
    }
    if (!fit) {
        ga_error("%s: a parameter lies where the program has no memory; its server says that the "
                 "kernel has %u of them, of %u bytes together",
                 function->name, function->param_count, function->param_bytes);
    }
    function->params_fit = fit;
    return fit;
}

static CUresult launch_gather(struct client_function *function, void **values,
                              struct params *params)
{
    if (!function->params_fit && !params_fit(function, values)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    params->size = function->param_bytes;
    uint8_t *to = params->size <= STACK_PARAMS ? params->few : large_room();
    if (to == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (function->param_gaps) {
        memset(to, 0, params->size); /* what lies between parameters is nobody's business */
    }
    const struct client_param *param = function->params, *end = param + function->param_count;
    bool pinned = false;
    for (; param != end; param++, values++) {
        if (*values == NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        pinned |= param_copy(to + param->offset, *values, param->size);
    }
    params->pinned = pinned;
    params->bytes = to;
    return CUDA_SUCCESS;
}

/* A list of names and values: the block of parameters as the kernel declares it. */
static CUresult from_extra(void **extra, struct params *params)
{
    static const size_t none = 0;
    const size_t *size = &none;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            params->bytes = extra[1];
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            size = extra[1];
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (size == NULL || *size > API_PARAM_BYTES_MAX || (params->bytes == NULL && *size != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    params->size = (uint32_t)*size;
    return CUDA_SUCCESS;
}

static CUresult find_params(struct client_function *function, void **values, void **extra,
                            struct params *params)
{
    params->bytes = NULL;
    params->size = 0;
    params->pinned = extra != NULL;
    if (values != NULL && extra != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (extra != NULL) {
        CUresult rc = from_extra(extra, params);
        return rc == CUDA_SUCCESS && params->size < function->param_bytes ? CUDA_ERROR_INVALID_VALUE
                                                                          : rc;
    }
    if (function->param_count == 0) {
        return CUDA_SUCCESS;
    }
    return values != NULL ? launch_gather(function, values, params) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the launch */

static CUresult find_pinned(struct client_context *context, const struct params *params)
{
    CUresult rc = CUDA_SUCCESS;
    for (uint32_t at = 0; rc == CUDA_SUCCESS && at + 8 <= params->size; at += 8) {
        uint64_t word;
        memcpy(&word, params->bytes + at, sizeof word);
        if (client_window_other(word)) {
            rc = client_mirror_need(context, word);
        }
    }
    return rc;
}

static CUresult launch(CUfunction f, const struct shape *shape, CUstream stream, void **values,
                       void **extra)
{
    struct client_call call;
    struct client_function *function;
    struct params params;
    struct ga_launch_args args;
    front_output_write(); /* what has come of earlier kernels, as CUDA does it here */
    CUresult rc = client_call_enter(&call, API_OP_ga_launch);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, stream, &args.stream);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_function_resolve(call.context, f, &function);
    }
    if (rc == CUDA_SUCCESS && function->object.context != call.context) {
        rc = CUDA_ERROR_INVALID_HANDLE; /* function and stream belong to one context */
    }
    if (rc == CUDA_SUCCESS) {
        rc = check(function, shape);
    }
    if (rc == CUDA_SUCCESS) {
        rc = find_params(function, values, extra, &params);
    }
    if (rc == CUDA_SUCCESS && params.pinned) {
        rc = find_pinned(call.context, &params);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (client_mirrors_some()) {
        client_mirror_detach(call.context->session, params.bytes, params.size, args.stream);
    }
    CU_TRY(client_mirrors_before(&call, args.stream));
    memcpy(args.grid, shape->grid, sizeof args.grid);
    memcpy(args.block, shape->block, sizeof args.block);
    args.shared_bytes = shape->shared_bytes;
    args.flags = shape->flags;
    args.function = function->object.handle;
    args.param_bytes = params.size;
    args.params = params.bytes;
    return client_post_ga_launch(&call, &args);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    const struct shape shape = {.grid = {gridDimX, gridDimY, gridDimZ},
                                .block = {blockDimX, blockDimY, blockDimZ},
                                .shared_bytes = sharedMemBytes};
    return launch(f, &shape, hStream, kernelParams, extra);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams)
{
    const struct shape shape = {.grid = {gridDimX, gridDimY, gridDimZ},
                                .block = {blockDimX, blockDimY, blockDimZ},
                                .shared_bytes = sharedMemBytes,
                                .flags = API_LAUNCH_COOPERATIVE};
    return launch(f, &shape, hStream, kernelParams, NULL);
}

static CUresult shape_of(const CUlaunchConfig *config, struct front_launch_options *said,
                         struct shape *out)
{
    CU_TRY(front_launch_options_read(config, said));
    const struct front_launch_options options = *said;
    struct shape shape = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                          .shared_bytes = config->sharedMemBytes,
                          .flags = options.cooperative ? API_LAUNCH_COOPERATIVE : 0,
                          .cluster = {options.cluster[0], options.cluster[1], options.cluster[2]}};
    if (options.cluster[0] * options.cluster[1] * options.cluster[2] > 1) {
        shape.flags |= API_LAUNCH_CLUSTER;
        /* A size that does not fit is refused before it is sent. */
        for (unsigned i = 0; i < 3; i++) {
            shape.flags |= ((options.cluster[i] - 1) & 15) << (API_LAUNCH_CLUSTER_SHIFT + 4 * i);
        }
    }
    if (options.prioritised) {
        int priority = options.priority < INT8_MIN   ? INT8_MIN
                       : options.priority > INT8_MAX ? INT8_MAX
                                                     : options.priority;
        shape.flags |= API_LAUNCH_PRIORITY | (uint32_t)priority << API_LAUNCH_PRIORITY_SHIFT;
    }
    *out = shape;
    return CUDA_SUCCESS;
}

CUresult client_launch_check(struct client_context *context, CUfunction f,
                             const CUlaunchConfig *config)
{
    struct front_launch_options options;
    struct client_function *function;
    struct shape shape;
    CU_TRY(shape_of(config, &options, &shape));
    CU_TRY(client_function_resolve(context, f, &function));
    if (function->object.context != context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return check(function, &shape);
}

static CUresult launch_with(const CUlaunchConfig *config, CUfunction f, void **values, void **extra)
{
    struct front_launch_options options;
    struct shape shape;
    CU_TRY(shape_of(config, &options, &shape));
    if (options.completion == NULL) {
        return launch(f, &shape, config->hStream, values, extra);
    }
    if (cuEventQuery(options.completion) == CUDA_ERROR_INVALID_HANDLE) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(launch(f, &shape, config->hStream, values, extra));
    return cuEventRecordWithFlags(options.completion, config->hStream, options.event_flags);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    CU_TRY(client_usable());
    return launch_with(config, f, kernelParams, extra);
}
