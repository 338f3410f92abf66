/* SPDX-License-Identifier: Apache-2.0 */
/* Launches and their priority. The client sends the parameter block as the kernel declares it; the
 * driver is given a pointer to each parameter, which every driver and every kind of launch
 * understands. */
#include <stdio.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/meter/meter.h"
#include "server/meter/monitor.h"
#include "server/objects/handles.h"

static bool flags_known(uint32_t flags)
{
    uint32_t known = API_LAUNCH_COOPERATIVE | API_LAUNCH_PRIORITY | API_LAUNCH_CLUSTER;
    known |= (flags & API_LAUNCH_CLUSTER) != 0 ? 0xfffu << API_LAUNCH_CLUSTER_SHIFT : 0;
    known |= (flags & API_LAUNCH_PRIORITY) != 0 ? 0xffffu << API_LAUNCH_PRIORITY_SHIFT : 0;
    return (flags & ~known) == 0;
}

static CUresult launch_with_attributes(const struct cuda_driver *driver,
                                       const struct server_function *function,
                                       const struct ga_launch_args *args, CUstream stream,
                                       void **pointers)
{
    CUlaunchAttribute attributes[3];
    CUlaunchConfig config = {.gridDimX = args->grid[0],
                             .gridDimY = args->grid[1],
                             .gridDimZ = args->grid[2],
                             .blockDimX = args->block[0],
                             .blockDimY = args->block[1],
                             .blockDimZ = args->block[2],
                             .sharedMemBytes = args->shared_bytes,
                             .hStream = stream,
                             .attrs = attributes};
    if ((args->flags & API_LAUNCH_COOPERATIVE) != 0) {
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    }
    if ((args->flags & API_LAUNCH_PRIORITY) != 0) {
        attributes[config.numAttrs++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_PRIORITY,
            .value.priority = (int16_t)(args->flags >> API_LAUNCH_PRIORITY_SHIFT)};
    }
    if ((args->flags & API_LAUNCH_CLUSTER) != 0) {
        uint32_t sizes = args->flags >> API_LAUNCH_CLUSTER_SHIFT;
        CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
        *attribute = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        attribute->value.clusterDim.x = (sizes & 15) + 1;
        attribute->value.clusterDim.y = (sizes >> 4 & 15) + 1;
        attribute->value.clusterDim.z = (sizes >> 8 & 15) + 1;
    }
    return driver->cuLaunchKernelEx(&config, function->real, pointers, NULL);
}

CUresult server_do_ga_launch(struct server_app *app, const struct ga_launch_args *args)
{
    void *pointers[API_PARAMS_MAX + 1];
    const struct cuda_driver *driver = app->driver;
    const struct server_function *function =
        ga_handle_table_find(&app->objects.functions, args->function);
    CUstream stream;
    CUresult rc = server_handle_stream(app, args->stream, &stream);
    if (function == NULL || rc != CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (args->param_bytes < function->param_bytes || !flags_known(args->flags)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t i = 0; i < function->param_count; i++) {
        pointers[i] = (uint8_t *)(uintptr_t)args->params + function->params[i].offset;
    }
    atomic_store_explicit(&function->module->context->launched, true, memory_order_relaxed);
    if (app->meter.on) {
        meter_work_of(&app->meter, app, API_ENGINE_COMPUTE, args->stream,
                      monitor_launch(app, function, args));
    }
    if (args->flags != 0) {
        return launch_with_attributes(driver, function, args, stream, pointers);
    }
    const uint32_t *grid = args->grid, *block = args->block;
    return driver->cuLaunchKernel(function->real, grid[0], grid[1], grid[2], block[0], block[1],
                                  block[2], args->shared_bytes, stream, pointers, NULL);
}

CUresult server_do_ga_stream_priority(struct server_app *app,
                                      const struct ga_stream_priority_args *args)
{
    CUstream stream;
    const CUstreamAttrValue value = {.priority = args->priority};
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    return app->driver->cuStreamSetAttribute(stream, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                             &value);
}

static CUresult clusters(struct server_app *app, const struct ga_occupancy_clusters_args *args,
                         int *answer)
{
    const struct server_function *function =
        ga_handle_table_find(&app->objects.functions, args->function);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CUlaunchAttribute size = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    size.value.clusterDim.x = args->cluster[0];
    size.value.clusterDim.y = args->cluster[1];
    size.value.clusterDim.z = args->cluster[2];
    const CUlaunchConfig config = {.gridDimX = args->grid[0],
                                   .gridDimY = args->grid[1],
                                   .gridDimZ = args->grid[2],
                                   .blockDimX = args->block[0],
                                   .blockDimY = args->block[1],
                                   .blockDimZ = args->block[2],
                                   .sharedMemBytes = args->shared_bytes,
                                   .attrs = &size,
                                   .numAttrs = args->cluster[0] != 0};
    return args->question == API_CLUSTER_LARGEST
               ? app->driver->cuOccupancyMaxPotentialClusterSize(answer, function->real, &config)
               : app->driver->cuOccupancyMaxActiveClusters(answer, function->real, &config);
}

CUresult server_do_ga_occupancy_clusters(struct server_app *app,
                                         const struct ga_occupancy_clusters_args *args,
                                         struct ga_occupancy_clusters_results *results)
{
    int answer;
    CU_TRY(clusters(app, args, &answer));
    results->answer = (uint32_t)answer;
    return CUDA_SUCCESS;
}
