/* SPDX-License-Identifier: Apache-2.0 */
/* Launches. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/module/launch.h"
#include "softgpu/module/library.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/streams.h"

static CUresult call_launch(CUfunction f, const struct sg_launch_shape *shape, CUstream handle,
                            void **params, void **extra)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_function *function = NULL;
    struct sg_stream *stream;
    rc = sg_call_stream(context, handle, &stream);
    if (rc == CUDA_SUCCESS) {
        sg_print_due(stream->context->print);
        rc = sg_function_find(f, stream->context, &function);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_launch_submit(stream, function, shape, params, extra);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    struct sg_launch_shape shape = {.grid = {gridDimX, gridDimY, gridDimZ},
                                    .block = {blockDimX, blockDimY, blockDimZ},
                                    .dynamic_shared = sharedMemBytes};
    return call_launch(f, &shape, hStream, kernelParams, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    struct front_launch_options options;
    CUresult rc = sg_process_state();
    if (rc == CUDA_SUCCESS) {
        rc = front_launch_options_read(config, &options);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_launch_shape shape = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .cluster = {options.cluster[0], options.cluster[1], options.cluster[2]},
        .dynamic_shared = config->sharedMemBytes,
        .cooperative = options.cooperative,
        .prioritised = options.prioritised,
        .priority = options.priority};
    if (options.completion != NULL &&
        cuEventQuery(options.completion) == CUDA_ERROR_INVALID_HANDLE) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    rc = call_launch(f, &shape, config->hStream, kernelParams, extra);
    return rc == CUDA_SUCCESS && options.completion != NULL
               ? cuEventRecordWithFlags(options.completion, config->hStream, options.event_flags)
               : rc;
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams)
{
    struct sg_launch_shape shape = {.grid = {gridDimX, gridDimY, gridDimZ},
                                    .block = {blockDimX, blockDimY, blockDimZ},
                                    .dynamic_shared = sharedMemBytes,
                                    .cooperative = true};
    return call_launch(f, &shape, hStream, kernelParams, NULL);
}
