/* Launches and occupancy. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/work.h"

static CUresult launch(CUfunction f, const struct sg_launch_shape *shape, CUstream handle,
                       void **params, void **extra)
{
    struct sg_context *context;
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_function *function = NULL;
    struct sg_stream *stream;
    result = sg_function_find(f, context, &function);
    if (result == CUDA_SUCCESS) {
        result = sg_call_stream(context, handle, &stream);
    }
    if (result == CUDA_SUCCESS) {
        result = sg_launch_submit(stream, function, shape, params, extra);
    }
    return sg_leave(result);
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
    return launch(f, &shape, hStream, kernelParams, extra);
}

/* Attributes that change nothing here are passed over; those that would change what the kernel may
 * do are refused. */
static CUresult launch_attribute(const CUlaunchAttribute *attribute)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return value->cooperative == 0 ? CUDA_SUCCESS
                                       : front_unsupported("cooperative kernel launches");
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return value->clusterDim.x <= 1 && value->clusterDim.y <= 1 && value->clusterDim.z <= 1
                   ? CUDA_SUCCESS
                   : front_unsupported("thread block clusters");
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        return CUDA_SUCCESS; /* allows overlap, does not demand it */
    default:
        return front_unsupported("a launch attribute of cuLaunchKernelEx");
    }
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    if (config == NULL || (config->numAttrs != 0 && config->attrs == NULL)) {
        CUresult state = sg_process_state();
        return state != CUDA_SUCCESS ? state : CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult result = launch_attribute(&config->attrs[i]);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    struct sg_launch_shape shape = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes};
    return launch(f, &shape, config->hStream, kernelParams, extra);
}

/* The attribute COOPERATIVE_LAUNCH says 0. */
CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams)
{
    (void)f, (void)gridDimX, (void)gridDimY, (void)gridDimZ, (void)blockDimX, (void)blockDimY;
    (void)blockDimZ, (void)sharedMemBytes, (void)hStream, (void)kernelParams;
    return front_unsupported("cuLaunchCooperativeKernel");
}

/* ---- occupancy ---- */

/* Copies the facts of the function, so that the lock need not be held. */
static CUresult occupancy_kernel(CUfunction handle, struct sg_kernel *kernel, uint64_t *shared_max)
{
    struct sg_context *context;
    struct sg_function *function = NULL;
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = sg_function_find(handle, context, &function);
    if (result == CUDA_SUCCESS) {
        int set = function->settings->dynamic_shared_max;
        unsigned by_default = sg_dynamic_shared_default(function->kernel);
        *kernel = *function->kernel;
        *shared_max = set > 0 && (unsigned)set > by_default ? (unsigned)set : by_default;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    struct sg_kernel kernel;
    uint64_t shared_max;
    CUresult result = occupancy_kernel(func, &kernel, &shared_max);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (numBlocks == NULL || blockSize <= 0 ||
        (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *numBlocks = (int)sg_occupancy_blocks(&kernel, (unsigned)blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                             int blockSize, size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize)
{
    struct sg_kernel kernel;
    uint64_t shared_max;
    CUresult result = occupancy_kernel(func, &kernel, &shared_max);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (dynamicSmemSize == NULL || numBlocks <= 0 || blockSize <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *dynamicSmemSize =
        (size_t)sg_occupancy_shared(&kernel, (unsigned)numBlocks, (unsigned)blockSize);
    return CUDA_SUCCESS;
}

/* The largest block (whole warps) among those that keep the most threads on a multiprocessor. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags)
{
    struct sg_kernel kernel;
    uint64_t shared_max;
    CUdevice device = 0;
    int sms = 0;
    CUresult result = occupancy_kernel(func, &kernel, &shared_max);
    if (result == CUDA_SUCCESS) {
        result = cuCtxGetDevice(&device);
    }
    if (result == CUDA_SUCCESS) {
        result = cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (minGridSize == NULL || blockSize == NULL || blockSizeLimit < 0 ||
        (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned limit = sg_occupancy_threads_max(&kernel);
    if (blockSizeLimit != 0 && (unsigned)blockSizeLimit < limit) {
        limit = (unsigned)blockSizeLimit;
    }
    unsigned best_threads = 0, best_size = 0, best_blocks = 0;
    unsigned first = (limit + SG_WARP_LANES - 1) / SG_WARP_LANES * SG_WARP_LANES;
    for (unsigned at = first; at > 0; at -= SG_WARP_LANES) {
        unsigned size = at < limit ? at : limit;
        size_t shared = blockSizeToDynamicSMemSize != NULL ? blockSizeToDynamicSMemSize((int)size)
                                                           : dynamicSMemSize;
        unsigned blocks = sg_occupancy_blocks(&kernel, size, shared);
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best_size = size;
            best_blocks = blocks;
        }
    }
    *blockSize = (int)best_size;
    *minGridSize = (int)best_blocks * sms;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, 0);
}
