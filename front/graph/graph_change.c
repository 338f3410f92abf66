/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the parameters of nodes: of graphs, where anything may change, and of executables,
 * where cuda.h limits it (at cuGraphExecUpdate and the calls of each kind). */
#include "front/graph/graph_change.h"

#include <string.h>

#include "front/front.h"
#include "front/graph/graph_exec.h"
#include "front/graph/graph_kinds.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_params.h"

/* ---- nodes of graphs ---- */

static bool settable(CUgraphNodeType type)
{
    return type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && type != CU_GRAPH_NODE_TYPE_MEM_FREE &&
           type != CU_GRAPH_NODE_TYPE_GRAPH && type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* Makes the new parameters of a node that has `old`, in the context of `old`. */
static CUresult changed(const struct front_node_params *old, const CUgraphNodeParams *said,
                        struct front_node_params *params)
{
    CUcontext context = NULL;
    if (said->type != old->type) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!settable(old->type)) {
        return front_unsupported(
            "parameters of child graph, conditional or memory nodes that change");
    }
    switch ((int)old->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        context = old->kernel.context;
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        context = old->copy.context;
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        context = old->fill.context;
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        context = old->values.context;
        break;
    default:
        break;
    }
    return front_node_params_make(said, context, old, params);
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_node *node = front_node_find(hNode);
    struct front_node_params params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    if (node == NULL || nodeParams == NULL) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = changed(&node->params, nodeParams, &params);
    if (rc == CUDA_SUCCESS) {
        front_node_params_free(&node->params);
        node->params = params;
    }
    return front_graph_leave(rc);
}

/* ---- limits of executables ---- */

static bool cooperative(const struct front_kernel_node *kernel)
{
    bool found = false;
    for (unsigned i = 0; i < kernel->attribute_count; i++) {
        found |= kernel->attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
                 kernel->attributes[i].value.cooperative != 0;
    }
    return found;
}

static int priority(const struct front_kernel_node *kernel)
{
    int found = 0;
    for (unsigned i = 0; i < kernel->attribute_count; i++) {
        if (kernel->attributes[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
            found = kernel->attributes[i].value.priority;
        }
    }
    return found;
}

/* Whether both addresses are memory of the same device, or of no device. */
static bool same_memory(uint64_t one, uint64_t other)
{
    struct front_pointer first, second;
    bool is_one = front_host.pointer(one, &first), is_other = front_host.pointer(other, &second);
    if (!is_one || !is_other) {
        return is_one == is_other;
    }
    return first.on_device == second.on_device &&
           (!first.on_device || first.ordinal == second.ordinal);
}

static bool same_side(CUmemorytype old_type, CUdeviceptr old, CUmemorytype type,
                      CUdeviceptr address)
{
    bool addressed = type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
    return old_type == type && (!addressed || same_memory(old, address));
}

static bool copy_allowed(const CUDA_MEMCPY3D *old, const CUDA_MEMCPY3D *now)
{
    return same_side(old->dstMemoryType, old->dstDevice, now->dstMemoryType, now->dstDevice) &&
           same_side(old->srcMemoryType, old->srcDevice, now->srcMemoryType, now->srcDevice);
}

static bool fill_allowed(const CUDA_MEMSET_NODE_PARAMS_v1 *old,
                         const CUDA_MEMSET_NODE_PARAMS_v1 *now)
{
    bool flat = old->height == 1 && now->height == 1;
    bool same = old->height == now->height && old->width == now->width &&
                old->pitch == now->pitch && old->elementSize == now->elementSize;
    return (flat || same) && same_memory(old->dst, now->dst);
}

CUgraphExecUpdateResult front_change_allowed(const struct front_exec *exec,
                                             const struct front_node_params *old,
                                             const struct front_node_params *now)
{
    bool by_priority = (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
    bool allowed = true;
    if (old->type != now->type) {
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    }
    switch ((int)now->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (old->kernel.context != now->kernel.context) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
        }
        if (cooperative(&old->kernel) != cooperative(&now->kernel) ||
            (by_priority && priority(&old->kernel) != priority(&now->kernel))) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
        }
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        allowed = copy_allowed(&old->copy.copy, &now->copy.copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        allowed = fill_allowed(&old->fill.fill, &now->fill.fill);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        allowed = old->conditional.type == now->conditional.type &&
                  old->conditional.count == now->conditional.count &&
                  old->conditional.handle == now->conditional.handle;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        allowed = old->alloc.wanted.dptr == now->alloc.wanted.dptr;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        allowed = old->free == now->free;
        break;
    default:
        break;
    }
    return allowed ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUresult front_change_apply(struct front_exec *exec, struct front_node *node,
                            struct front_node_params *params)
{
    CUresult rc = front_graph_host.exec_set(exec->host, node->number, params);
    if (rc == CUDA_SUCCESS) {
        struct front_node_params old = node->params;
        node->params = *params;
        *params = old;
    }
    front_node_params_free(params);
    return rc;
}

/* ---- nodes of executables ---- */

/* The serial of the node that the program names. */
static CUresult node_serial(CUgraphNode handle, uint64_t *serial)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_node *node = front_node_find(handle);
    *serial = node != NULL ? node->serial : 0;
    return front_graph_leave(node != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Finds the executable and the node. The executable's lock is held on CUDA_SUCCESS. */
static CUresult graph_change_enter(CUgraphExec handle, CUgraphNode of, struct front_exec **exec,
                                   struct front_node **node)
{
    uint64_t serial;
    CUresult rc = node_serial(of, &serial);
    if (rc == CUDA_SUCCESS) {
        rc = front_exec_enter(handle, exec);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *node = front_exec_node(*exec, serial);
    return *node != NULL ? CUDA_SUCCESS : front_exec_leave(*exec, CUDA_ERROR_INVALID_VALUE);
}

static bool flat(const CUDA_MEMCPY3D *copy)
{
    return copy->Height <= 1 && copy->Depth <= 1 && copy->WidthInBytes != 0 &&
           copy->srcMemoryType != CU_MEMORYTYPE_ARRAY && copy->dstMemoryType != CU_MEMORYTYPE_ARRAY;
}

/* A limit that cuGraphExecUpdate does not have: a single copy node must stay one-dimensional. */
static bool single_allowed(const struct front_node_params *old, const struct front_node_params *now)
{
    return old->type != CU_GRAPH_NODE_TYPE_MEMCPY ||
           (flat(&old->copy.copy) && flat(&now->copy.copy));
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUgraphNodeParams *nodeParams)
{
    struct front_exec *exec;
    struct front_node *node;
    struct front_node_params params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    if (nodeParams != NULL && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
    }
    CUresult rc = graph_change_enter(hGraphExec, hNode, &exec, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc =
        nodeParams == NULL ? CUDA_ERROR_INVALID_VALUE : changed(&node->params, nodeParams, &params);
    if (rc != CUDA_SUCCESS) {
        return front_exec_leave(exec, rc);
    }
    if (!single_allowed(&node->params, &params) ||
        front_change_allowed(exec, &node->params, &params) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        front_node_params_free(&params);
        return front_exec_leave(exec, CUDA_ERROR_INVALID_VALUE);
    }
    return front_exec_leave(exec, front_change_apply(exec, node, &params));
}

static bool switchable(const struct front_node *node)
{
    return node->params.type == CU_GRAPH_NODE_TYPE_KERNEL ||
           node->params.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->params.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int isEnabled)
{
    struct front_exec *exec;
    struct front_node *node;
    CUresult rc = graph_change_enter(hGraphExec, hNode, &exec, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (!switchable(node)) {
        return front_exec_leave(exec, CUDA_ERROR_INVALID_VALUE);
    }
    if (node->off != (isEnabled == 0)) {
        rc = front_graph_host.exec_enable(exec->host, node->number, isEnabled != 0);
    }
    if (rc == CUDA_SUCCESS) {
        node->off = isEnabled == 0;
    }
    return front_exec_leave(exec, rc);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int *isEnabled)
{
    struct front_exec *exec;
    struct front_node *node;
    CUresult rc = graph_change_enter(hGraphExec, hNode, &exec, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (!switchable(node) || isEnabled == NULL) {
        return front_exec_leave(exec, CUDA_ERROR_INVALID_VALUE);
    }
    *isEnabled = !node->off;
    return front_exec_leave(exec, CUDA_SUCCESS);
}
