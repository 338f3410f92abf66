/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of graph nodes, as the calls take them. */
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/structs.h"

static CUDA_KERNEL_NODE_PARAMS_v2 node_kernel(void)
{
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = (CUfunction)good_function(),
                                        .gridDimX = 1,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = 1,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = (void **)structs_parameters()};
}

MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel, node_kernel)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_none, node_kernel, it.func = NULL)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_no_grid, node_kernel, it.gridDimY = 0)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_huge_block, node_kernel, it.blockDimX = 1025)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_shared, node_kernel, it.sharedMemBytes = 1u << 30)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_no_values, node_kernel, it.kernelParams = NULL)
MEMBERS(CUDA_KERNEL_NODE_PARAMS_v2, node_kernel_twice, node_kernel,
        it.extra = (void **)structs_extra())

static CUDA_MEMCPY3D flat_box(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = (const void *)good_host(),
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = good_block(),
                           .WidthInBytes = 16,
                           .Height = 1,
                           .Depth = 1};
}

MEMBERS(CUDA_MEMCPY3D, flat_box, flat_box)
MEMBERS(CUDA_MEMCPY3D, flat_box_from_device, flat_box, it.srcMemoryType = CU_MEMORYTYPE_DEVICE,
        it.srcHost = NULL, it.srcDevice = good_block_2())

static CUDA_MEMSET_NODE_PARAMS node_fill(void)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = good_block(), .value = 5, .elementSize = 4, .width = 16, .height = 1};
}

MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill, node_fill)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_of_three, node_fill, it.elementSize = 3)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_odd, node_fill, it.dst++)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_empty, node_fill, it.width = 0)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_wild, node_fill, it.dst = 0x1000)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_long, node_fill, it.width = (size_t)1 << 40)
MEMBERS(CUDA_MEMSET_NODE_PARAMS, node_fill_high, node_fill, it.height = 2, it.pitch = 64)

static CUDA_HOST_NODE_PARAMS node_host(void)
{
    return (CUDA_HOST_NODE_PARAMS){.fn = (CUhostFn)good_host_function()};
}

MEMBERS(CUDA_HOST_NODE_PARAMS, node_host, node_host)
MEMBERS(CUDA_HOST_NODE_PARAMS, node_host_none, node_host, it.fn = NULL)

static CUDA_BATCH_MEM_OP_NODE_PARAMS node_values(void)
{
    return (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = (CUcontext)good_context(),
                                           .count = 1,
                                           .paramArray =
                                               (CUstreamBatchMemOpParams *)structs_value_steps()};
}

MEMBERS(CUDA_BATCH_MEM_OP_NODE_PARAMS, node_values, node_values)
MEMBERS(CUDA_BATCH_MEM_OP_NODE_PARAMS, node_values_many, node_values, it.count = 256)
MEMBERS(CUDA_BATCH_MEM_OP_NODE_PARAMS, node_values_flags, node_values, it.flags = 1)
MEMBERS(CUDA_BATCH_MEM_OP_NODE_PARAMS, node_values_null, node_values, it.paramArray = NULL)

static CUDA_MEM_ALLOC_NODE_PARAMS node_alloc(void)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = 4096};
}

MEMBERS(CUDA_MEM_ALLOC_NODE_PARAMS, node_alloc, node_alloc)
MEMBERS(CUDA_MEM_ALLOC_NODE_PARAMS, node_alloc_nothing, node_alloc, it.bytesize = 0)
MEMBERS(CUDA_MEM_ALLOC_NODE_PARAMS, node_alloc_no_device, node_alloc,
        it.poolProps.location.id = 1000)
MEMBERS(CUDA_MEM_ALLOC_NODE_PARAMS, node_alloc_exported, node_alloc,
        it.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)

/* Nodes of any kind: a kernel. */
static CUgraphNodeParams node_any(void)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 kernel = node_kernel();
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                               .kernel = {.func = kernel.func,
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 1,
                                          .blockDimY = 1,
                                          .blockDimZ = 1,
                                          .kernelParams = kernel.kernelParams}};
}

MEMBERS(CUgraphNodeParams, node_any, node_any)
MEMBERS(CUgraphNodeParams, node_any_unknown, node_any, it.type = (CUgraphNodeType)UNKNOWN)
MEMBERS(CUgraphNodeParams, node_any_no_grid, node_any, it.kernel.gridDimX = 0)
MEMBERS(CUgraphNodeParams, node_any_empty, node_any, it.type = CU_GRAPH_NODE_TYPE_EMPTY)
MEMBERS(CUgraphNodeParams, node_any_semaphore, node_any,
        it.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
MEMBERS(CUgraphNodeParams, node_any_no_handle, node_any, it = (CUgraphNodeParams){0},
        it.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, it.conditional.size = 1)

/* ---- what stands around nodes */

static CUgraphNode after(void)
{
    return (CUgraphNode)good_kernel_node();
}

MEMBERS(CUgraphNode, after, after)
MEMBERS(CUgraphNode, after_null, after, it = NULL)
MEMBERS(CUgraphNode, after_other, after, it = (CUgraphNode)good_graph())

static CUgraphEdgeData edge(void)
{
    return (CUgraphEdgeData){0};
}

MEMBERS(CUgraphEdgeData, edge, edge)
MEMBERS(CUgraphEdgeData, edge_to, edge, it.to_port = 1)
MEMBERS(CUgraphEdgeData, edge_unknown, edge, it.type = 9)
MEMBERS(CUgraphEdgeData, edge_reserved, edge, it.reserved[2] = 1)

static CUDA_GRAPH_INSTANTIATE_PARAMS instantiation(void)
{
    return (CUDA_GRAPH_INSTANTIATE_PARAMS){.flags = 0};
}

MEMBERS(CUDA_GRAPH_INSTANTIATE_PARAMS, instantiation, instantiation)
MEMBERS(CUDA_GRAPH_INSTANTIATE_PARAMS, instantiation_flags, instantiation, it.flags = 1u << 20)

static CUlaunchAttributeValue node_attribute(void)
{
    return (CUlaunchAttributeValue){.priority = 0};
}

MEMBERS(CUlaunchAttributeValue, node_attribute, node_attribute)

static uint64_t empty_count(void)
{
    return 0;
}

MEMBERS(uint64_t, empty_count, empty_count)
