/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy of clusters. All multiprocessors of a software GPU are one group, so a cluster may be
 * anywhere, and its blocks alone decide how many fit. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/module/launch.h"
#include "softgpu/module/library.h"
#include "softgpu/module/occupancy.h"
#include "softgpu/stream/green.h"

/* Enters; the lock is held on success. */
static CUresult call_occupancy_enter(CUfunction handle, const CUlaunchConfig *config,
                                     const int *answer, struct sg_function **function,
                                     struct front_launch_options *options)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_function_find(handle, context, function);
    if (rc == CUDA_SUCCESS) {
        rc = front_launch_options_read(config, options);
    }
    if (rc == CUDA_SUCCESS && (answer == NULL || config->blockDimX == 0 || config->blockDimY == 0 ||
                               config->blockDimZ == 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

/* Blocks of the launch that fit on its multiprocessors at once. */
static uint64_t resident(const struct sg_function *function, const CUlaunchConfig *config)
{
    const struct sg_context *context = function->module->context;
    const struct sg_green *green = sg_green_current(context);
    unsigned sms = green != NULL ? green->sm_count : sg_context_sms(context);
    uint64_t threads = config->blockDimX;
    threads *= config->blockDimY < SG_BLOCK_THREADS_MAX ? config->blockDimY : SG_BLOCK_THREADS_MAX;
    threads = threads < SG_BLOCK_THREADS_MAX ? threads * config->blockDimZ : threads;
    return threads <= SG_BLOCK_THREADS_MAX
               ? sg_occupancy_resident(function, sms, (unsigned)threads, config->sharedMemBytes)
               : 0;
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                    const CUlaunchConfig *config)
{
    struct sg_function *function;
    struct front_launch_options options;
    CU_TRY(call_occupancy_enter(func, config, clusterSize, &function, &options));
    const struct sg_kernel *kernel = function->kernel;
    uint32_t required = kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2];
    uint64_t fitting = resident(function, config), most = sg_cluster_most(function);
    *clusterSize = required != 0 ? (int)required : (int)(fitting < most ? fitting : most);
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                              const CUlaunchConfig *config)
{
    struct sg_function *function;
    struct front_launch_options options;
    CUresult rc = call_occupancy_enter(func, config, numClusters, &function, &options);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const uint32_t *size = options.cluster[0] != 0 ? options.cluster : function->kernel->cluster;
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    rc = size[0] != 0 ? sg_cluster_check(function, grid, options.cluster)
                      : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (rc == CUDA_SUCCESS) {
        *numClusters = (int)(resident(function, config) / (size[0] * size[1] * size[2]));
    }
    return sg_leave(rc);
}
