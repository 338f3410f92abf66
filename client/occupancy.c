/* The block size that keeps a device busiest: the driver's answer for every candidate. */
#include "client/state.h"

struct search {
    CUfunction function;
    CUoccupancyB2DSize shared_of; /* NULL: `shared_bytes` for every block size */
    size_t shared_bytes;
    unsigned flags;
    int best_blocks, best_size, best_threads;
};

static CUresult try_size(struct search *search, int size)
{
    int blocks;
    size_t shared = search->shared_of != NULL ? search->shared_of(size) : search->shared_bytes;
    CUresult rc = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, search->function,
                                                                       size, shared, search->flags);
    if (rc == CUDA_SUCCESS && blocks * size > search->best_threads) {
        search->best_threads = blocks * size;
        search->best_blocks = blocks;
        search->best_size = size;
    }
    return rc;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags)
{
    struct client_context *context;
    struct client_function *function;
    struct search search = {.function = func,
                            .shared_of = blockSizeToDynamicSMemSize,
                            .shared_bytes = dynamicSMemSize,
                            .flags = flags};
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (minGridSize == NULL || blockSize == NULL || blockSizeLimit < 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_function_resolve(context, func, &function);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const int32_t *device = context->device->attributes;
    int warp = device[CU_DEVICE_ATTRIBUTE_WARP_SIZE];
    int most = function->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    int resident = device[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR];
    most = blockSizeLimit != 0 && blockSizeLimit < most ? blockSizeLimit : most;
    for (int size = (most + warp - 1) / warp * warp; size > 0 && rc == CUDA_SUCCESS; size -= warp) {
        rc = try_size(&search, size < most ? size : most);
        if (search.best_threads == resident) {
            break; /* no size can do better */
        }
    }
    if (rc == CUDA_SUCCESS) {
        *minGridSize = search.best_blocks * device[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
        *blockSize = search.best_size;
    }
    return rc;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, 0);
}
