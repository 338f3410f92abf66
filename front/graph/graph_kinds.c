/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of each kind of node, made from CUgraphNodeParams. */
#include "front/graph/graph_kinds.h"

#include <string.h>

#include "api/constants.h"
#include "front/front.h"
#include "front/graph/graph_memory.h"
#include "front/graph/graph_params.h"

/* ---- from the program's parameters ---- */

static CUresult graph_kind_context(CUcontext said, CUcontext otherwise, CUcontext *context)
{
    *context = said != NULL ? said : otherwise;
    return *context != NULL ? front_host.context_check(*context) : front_context_need(context);
}

static CUresult graph_kind_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *said, CUcontext otherwise,
                                  const struct front_node_params *before,
                                  struct front_node_params *params)
{
    CUlaunchConfig config = {.gridDimX = said->gridDimX,
                             .gridDimY = said->gridDimY,
                             .gridDimZ = said->gridDimZ,
                             .blockDimX = said->blockDimX,
                             .blockDimY = said->blockDimY,
                             .blockDimZ = said->blockDimZ,
                             .sharedMemBytes = said->sharedMemBytes};
    if (before != NULL) {
        config.attrs = before->kernel.attributes;
        config.numAttrs = before->kernel.attribute_count;
    }
    if (said->func == NULL && said->kern == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUcontext context;
    CUresult rc = graph_kind_context(said->func == NULL ? said->ctx : NULL, otherwise, &context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    CUfunction function = said->func != NULL ? said->func : (CUfunction)said->kern;
    rc =
        front_kernel_node_make(params, context, function, &config, said->kernelParams, said->extra);
    if (rc == CUDA_SUCCESS) {
        params->kernel.of_kernel = said->func == NULL;
    }
    return rc;
}

static CUresult graph_kind_conditional(const CUDA_CONDITIONAL_NODE_PARAMS *said,
                                       CUcontext otherwise, struct front_node_params *params)
{
    bool good = said->size != 0;
    switch ((int)said->type) {
    case CU_GRAPH_COND_TYPE_IF:
        good = good && said->size <= 2;
        break;
    case CU_GRAPH_COND_TYPE_WHILE:
        good = said->size == 1;
        break;
    case FRONT_COND_TYPE_SWITCH:
        good = good && said->size <= API_GRAPH_BODIES_MAX;
        break;
    default:
        good = false;
        break;
    }
    CUcontext context;
    CUresult rc = graph_kind_context(said->ctx, otherwise, &context);
    if (rc == CUDA_SUCCESS && good) {
        *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                             .conditional = {.handle = said->handle,
                                                             .type = said->type,
                                                             .context = context,
                                                             .count = said->size}};
    }
    return rc == CUDA_SUCCESS && !good ? CUDA_ERROR_INVALID_VALUE : rc;
}

static CUresult graph_kind_child(const CUDA_CHILD_GRAPH_NODE_PARAMS *said,
                                 struct front_node_params *params)
{
#if CUDA_VERSION >= 12090
    if (said->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        return front_unsupported("CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE");
    }
    if (said->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
#endif
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = said->graph};
    return front_graph_check(said->graph);
}

CUresult front_node_params_make(const CUgraphNodeParams *said, CUcontext otherwise,
                                const struct front_node_params *before,
                                struct front_node_params *params)
{
    CUcontext context = NULL;
    CUresult rc;
    switch ((int)said->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return graph_kind_kernel(&said->kernel, otherwise, before, params);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (said->memcpy.flags != 0 || said->memcpy.reserved != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        rc = graph_kind_context(said->memcpy.copyCtx, otherwise, &context);
        return rc == CUDA_SUCCESS ? front_copy_node_make(params, context, &said->memcpy.copyParams)
                                  : rc;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS_v1 fill = {.dst = said->memset.dst,
                                                 .pitch = said->memset.pitch,
                                                 .value = said->memset.value,
                                                 .elementSize = said->memset.elementSize,
                                                 .width = said->memset.width,
                                                 .height = said->memset.height};
        rc = graph_kind_context(said->memset.ctx, otherwise, &context);
        return rc == CUDA_SUCCESS ? front_fill_node_make(params, context, &fill) : rc;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        return front_host_node_make(params, said->host.fn, said->host.userData);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return graph_kind_child(&said->graph, params);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return front_event_node_make(params, said->type, said->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return front_event_node_make(params, said->type, said->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        rc = graph_kind_context(said->memOp.ctx, otherwise, &context);
        return rc == CUDA_SUCCESS
                   ? front_values_node_make(params, context, said->memOp.count,
                                            said->memOp.paramArray, said->memOp.flags)
                   : rc;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 alloc;
        _Static_assert(sizeof alloc == sizeof said->alloc, "one shape by two names");
        memcpy(&alloc, &said->alloc, sizeof alloc);
        return front_alloc_node_make(params, &alloc);
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return front_free_node_make(params, said->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return graph_kind_conditional(&said->conditional, otherwise, params);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return front_unsupported("graph nodes of external semaphores");
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}
