/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about kernel nodes. They translate their own structures to CUgraphNodeParams and use
 * the calls for all kinds. */
#include "front/graph/graph_kernel.h"

#include <stddef.h>
#include <string.h>

#include "api/launch_attributes.h"
#include "front/front.h"
#include "front/graph/graph_kinds.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_params.h"

/* ---- kernels: the structure grew at its end ---- */

static CUgraphNodeParams of_kernel(const void *said, size_t bytes)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&params.kernel, said, bytes);
    return params;
}

static CUresult kernel_get(CUgraphNode handle, void *out, size_t bytes)
{
    struct front_node *node;
    CUresult rc = front_node_enter(handle, CU_GRAPH_NODE_TYPE_KERNEL, out, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_kernel_node *kernel = &node->params.kernel;
    const CUDA_KERNEL_NODE_PARAMS_v3 found = {
        .func = kernel->of_kernel && bytes == sizeof found ? NULL : kernel->function,
        .gridDimX = kernel->grid[0],
        .gridDimY = kernel->grid[1],
        .gridDimZ = kernel->grid[2],
        .blockDimX = kernel->block[0],
        .blockDimY = kernel->block[1],
        .blockDimZ = kernel->block[2],
        .sharedMemBytes = kernel->shared_bytes,
        .kernelParams = kernel->param_count != 0 ? kernel->param_values : NULL,
        .kern =
            kernel->kernel, /* set besides func: the CUDA runtime identifies its kernels by it */
        .ctx = kernel->context};
    memcpy(out, &found, bytes);
    return front_graph_leave(CUDA_SUCCESS);
}

#define KERNEL_CALLS(version, type)                                                                \
    CUresult CUDAAPI cuGraphAddKernelNode##version(CUgraphNode *phGraphNode, CUgraph hGraph,       \
                                                   const CUgraphNode *dependencies,                \
                                                   size_t numDependencies, const type *nodeParams) \
    {                                                                                              \
        if (nodeParams == NULL) {                                                                  \
            return front_graph_invalid();                                                          \
        }                                                                                          \
        CUgraphNodeParams params = of_kernel(nodeParams, sizeof *nodeParams);                      \
        return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);        \
    }                                                                                              \
    CUresult CUDAAPI cuGraphKernelNodeGetParams##version(CUgraphNode hNode, type *nodeParams)      \
    {                                                                                              \
        return kernel_get(hNode, nodeParams, sizeof *nodeParams);                                  \
    }                                                                                              \
    CUresult CUDAAPI cuGraphKernelNodeSetParams##version(CUgraphNode hNode,                        \
                                                         const type *nodeParams)                   \
    {                                                                                              \
        if (nodeParams == NULL) {                                                                  \
            return front_graph_invalid();                                                          \
        }                                                                                          \
        CUgraphNodeParams params = of_kernel(nodeParams, sizeof *nodeParams);                      \
        return cuGraphNodeSetParams(hNode, &params);                                               \
    }                                                                                              \
    CUresult CUDAAPI cuGraphExecKernelNodeSetParams##version(                                      \
        CUgraphExec hGraphExec, CUgraphNode hNode, const type *nodeParams)                         \
    {                                                                                              \
        if (nodeParams == NULL) {                                                                  \
            return front_graph_invalid();                                                          \
        }                                                                                          \
        CUgraphNodeParams params = of_kernel(nodeParams, sizeof *nodeParams);                      \
        return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);                               \
    }

KERNEL_CALLS(, CUDA_KERNEL_NODE_PARAMS_v1)
KERNEL_CALLS(_v2, CUDA_KERNEL_NODE_PARAMS_v2)

_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v1, extra) ==
                       offsetof(CUDA_KERNEL_NODE_PARAMS_v3, extra) &&
                   sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3),
               "one structure that grew");

/* ---- attributes of kernels ---- */

static CUlaunchAttribute *attribute_find(const struct front_kernel_node *kernel,
                                         CUkernelNodeAttrID id)
{
    for (unsigned i = 0; i < kernel->attribute_count; i++) {
        if (kernel->attributes[i].id == id) {
            return &kernel->attributes[i];
        }
    }
    return NULL;
}

static bool attribute_known(CUkernelNodeAttrID id)
{
    switch ((int)id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case API_LAUNCH_PREFERRED_CLUSTER_DIMENSION:
    case API_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE:
    case API_LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return true;
    default:
        return false;
    }
}

CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const CUlaunchAttribute *found = attribute_find(&node->params.kernel, attr);
    if (found == NULL && !attribute_known(attr)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *value_out = found != NULL ? found->value : (CUkernelNodeAttrValue){{0}};
    return front_graph_leave(CUDA_SUCCESS);
}

CUlaunchConfig front_kernel_node_config(const struct front_kernel_node *kernel, CUstream stream)
{
    return (CUlaunchConfig){.gridDimX = kernel->grid[0],
                            .gridDimY = kernel->grid[1],
                            .gridDimZ = kernel->grid[2],
                            .blockDimX = kernel->block[0],
                            .blockDimY = kernel->block[1],
                            .blockDimZ = kernel->block[2],
                            .sharedMemBytes = kernel->shared_bytes,
                            .hStream = stream,
                            .attrs = kernel->attributes,
                            .numAttrs = kernel->attribute_count};
}

/* Sets the attributes of the node. Nothing changes if a launch with them would fail. */
static CUresult attributes_set(struct front_node *node, CUlaunchAttribute *attributes,
                               unsigned count)
{
    const struct front_kernel_node *old = &node->params.kernel;
    CUlaunchConfig config = front_kernel_node_config(old, NULL);
    config.attrs = attributes;
    config.numAttrs = count;
    struct front_node_params params;
    CUresult rc = front_kernel_node_make(&params, old->context, old->function, &config,
                                         old->param_count != 0 ? old->param_values : NULL, NULL);
    if (rc == CUDA_SUCCESS) {
        params.kernel.of_kernel = old->of_kernel;
        front_node_params_free(&node->params);
        node->params = params;
    }
    return rc;
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue *value)
{
    struct front_node *node;
    CUlaunchAttribute all[FRONT_NODE_ATTRIBUTES_MAX];
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_kernel_node *kernel = &node->params.kernel;
    unsigned count = kernel->attribute_count;
    if (!attribute_known(attr) || count >= FRONT_NODE_ATTRIBUTES_MAX) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if ((int)attr == API_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE) { /* no node is one */
        int wanted;
        memcpy(&wanted, value, sizeof wanted);
        return front_graph_leave(
            wanted == 0 ? CUDA_SUCCESS : front_unsupported("a kernel node that kernels update"));
    }
    const CUlaunchAttribute *found = attribute_find(kernel, attr);
    unsigned at = found != NULL ? (unsigned)(found - kernel->attributes) : count++;
    for (unsigned i = 0; i < kernel->attribute_count; i++) {
        all[i] = kernel->attributes[i];
    }
    all[at] = (CUlaunchAttribute){.id = attr, .value = *value};
    return front_graph_leave(attributes_set(node, all, count));
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    struct front_node *to;
    CUresult rc = front_node_enter(dst, CU_GRAPH_NODE_TYPE_KERNEL, dst, &to);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_node *from = front_node_find(src);
    return front_graph_leave(from != NULL && from->params.type == CU_GRAPH_NODE_TYPE_KERNEL
                                 ? attributes_set(to, from->params.kernel.attributes,
                                                  from->params.kernel.attribute_count)
                                 : CUDA_ERROR_INVALID_VALUE);
}
