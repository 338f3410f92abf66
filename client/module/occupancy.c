/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy of clusters, which the server's driver is asked about; that of blocks is decided in
 * front/. */
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/module/function.h"
#include "front/front.h"

static CUresult ask(uint32_t question, CUfunction function, const CUlaunchConfig *config,
                    int *answer)
{
    struct client_call call;
    struct front_launch_options options;
    struct ga_occupancy_clusters_args args = {.question = question};
    struct ga_occupancy_clusters_results results;
    CUresult rc = client_call_enter(&call, API_OP_ga_occupancy_clusters);
    if (rc == CUDA_SUCCESS) {
        rc = client_function_check(&call, function, &args.function);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_launch_options_read(config, &options);
    }
    if (rc == CUDA_SUCCESS && answer == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    args.shared_bytes = config->sharedMemBytes;
    memcpy(args.block, &config->blockDimX, sizeof args.block);
    memcpy(args.grid, &config->gridDimX, sizeof args.grid);
    memcpy(args.cluster, options.cluster, sizeof args.cluster);
    CLIENT_CALL_RESULTS(&call, ga_occupancy_clusters, &args, false, &results, rc);
    if (rc == CUDA_SUCCESS) {
        *answer = (int)results.answer;
    }
    return rc;
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                    const CUlaunchConfig *config)
{
    return ask(API_CLUSTER_LARGEST, func, config, clusterSize);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                              const CUlaunchConfig *config)
{
    return ask(API_CLUSTER_COUNT, func, config, numClusters);
}
