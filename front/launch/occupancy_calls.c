/* SPDX-License-Identifier: Apache-2.0 */
/* The occupancy calls, answered from the library's facts about the function and the device; no
 * GPU is asked. */
#include "front/front.h"
#include "front/launch/occupancy.h"

/* The function, device and facts of a query. */
struct subject {
    struct front_sm sm;
    struct front_kernel kernel;
    int multiprocessors;
};

static int occupancy_attribute(const void *of, CUdevice_attribute which)
{
    int value = 0;
    (void)front_host.device_attribute(*(const CUdevice *)of, which, &value);
    return value;
}

static CUresult function_read(CUfunction function, struct front_kernel *kernel)
{
    int32_t facts[FRONT_KERNEL_FACTS];
    for (int i = 0; i < FRONT_KERNEL_FACTS; i++) {
        CUresult rc = cuFuncGetAttribute(&facts[i], (CUfunction_attribute)i, function);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    front_kernel_read(kernel, facts);
    return CUDA_SUCCESS;
}

static CUresult subject_read(CUfunction function, struct subject *subject)
{
    CUdevice device;
    CUresult rc = function_read(function, &subject->kernel);
    if (rc == CUDA_SUCCESS) {
        rc = cuCtxGetDevice(&device);
    }
    if (rc == CUDA_SUCCESS) {
        front_sm_read(&subject->sm, occupancy_attribute, &device);
        subject->multiprocessors =
            occupancy_attribute(&device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    }
    return rc;
}

static bool occupancy_flags_known(unsigned flags)
{
    return (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) == 0;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    struct subject subject;
    CUresult rc = subject_read(func, &subject);
    if (rc == CUDA_SUCCESS &&
        (numBlocks == NULL || blockSize <= 0 || !occupancy_flags_known(flags))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *numBlocks = (int)front_occupancy_blocks(&subject.sm, &subject.kernel, (unsigned)blockSize,
                                                 dynamicSMemSize);
    }
    return rc;
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
    struct subject subject;
    uint64_t dynamic;
    CUresult rc = subject_read(func, &subject);
    if (rc == CUDA_SUCCESS &&
        (dynamicSmemSize == NULL || numBlocks <= 0 || blockSize <= 0 ||
         !front_occupancy_shared(&subject.sm, &subject.kernel, (unsigned)numBlocks,
                                 (unsigned)blockSize, &dynamic))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *dynamicSmemSize = (size_t)dynamic;
    }
    return rc;
}

/* Finds the largest block, in whole warps, among those that keep the most threads on a
 * multiprocessor. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags)
{
    struct subject subject;
    CUresult rc = subject_read(func, &subject);
    if (rc == CUDA_SUCCESS && (minGridSize == NULL || blockSize == NULL || blockSizeLimit < 0 ||
                               !occupancy_flags_known(flags))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    unsigned most = subject.kernel.threads_max, warp = subject.sm.warp_lanes;
    most = blockSizeLimit != 0 && (unsigned)blockSizeLimit < most ? (unsigned)blockSizeLimit : most;
    unsigned best_threads = 0, best_blocks = 0, best_size = 0;
    for (unsigned at = (most + warp - 1) / warp * warp; at > 0; at -= warp) {
        unsigned size = at < most ? at : most;
        uint64_t dynamic = blockSizeToDynamicSMemSize != NULL
                               ? blockSizeToDynamicSMemSize((int)size)
                               : dynamicSMemSize;
        unsigned blocks = front_occupancy_blocks(&subject.sm, &subject.kernel, size, dynamic);
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best_blocks = blocks;
            best_size = size;
        }
        if (best_threads == subject.sm.threads) {
            break; /* no size is better */
        }
    }
    *minGridSize = (int)best_blocks * subject.multiprocessors;
    *blockSize = (int)best_size;
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
