/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy of clusters, which the server's driver is asked about; that of blocks is decided in
 * front/. */
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/module/function.h"
#include "front/front.h"

static CUresult occupancy_ask(uint32_t question, CUfunction function, const CUlaunchConfig *config,
                              int *answer)
{
    struct client_call call;
    struct front_launch_options options;
    struct ga_occupancy_clusters_args args = {.question = question};
    struct ga_occupancy_clusters_results results;
    CU_TRY(client_call_enter(&call, API_OP_ga_occupancy_clusters));
    CU_TRY(client_function_check(&call, function, &args.function));
    CU_TRY(front_launch_options_read(config, &options));
    if (answer == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    args.shared_bytes = config->sharedMemBytes;
    memcpy(args.block, &config->blockDimX, sizeof args.block);
    memcpy(args.grid, &config->gridDimX, sizeof args.grid);
    memcpy(args.cluster, options.cluster, sizeof args.cluster);
    CU_TRY(client_wait_ga_occupancy_clusters(&call, &args, false, &results));
    *answer = (int)results.answer;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                    const CUlaunchConfig *config)
{
    return occupancy_ask(API_CLUSTER_LARGEST, func, config, clusterSize);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                              const CUlaunchConfig *config)
{
    return occupancy_ask(API_CLUSTER_COUNT, func, config, numClusters);
}
