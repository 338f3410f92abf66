/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: creating, launching and destroying them. The library runs the plan
 * (front_graph_host). */
#include "front/graph/graph_exec.h"

#include <stdlib.h>

#include "front/front.h"
#include "front/graph/graph_copy.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_plan.h"

#define EXECS_MAX 1048576u

/* Newer than the oldest cuda.h that we build with. */
#define CONDITIONAL_HANDLE_UNUSED ((CUgraphInstantiateResult)5)

static struct ga_handle_table execs; /* under the graphs' lock */

static struct front_exec *exec_find(CUgraphExec handle)
{
    return ga_handle_table_find(&execs, (uint64_t)(uintptr_t)handle);
}

const struct front_graph *front_exec_graph(CUgraphExec handle)
{
    const struct front_exec *exec = exec_find(handle);
    return exec != NULL ? exec->graph : NULL;
}

/* ---- the end ---- */

static void source_leave(const struct front_exec *exec)
{
    struct front_graph *source = front_graph_find(exec->source);
    if (source != NULL && source->serial == exec->source_serial) {
        source->execs--;
    }
}

/* The library has nothing left of it: the last launch is done, or there was none. */
static void exec_gone(void *argument)
{
    struct front_exec *exec = argument;
    front_plan_free(&exec->plan);
    front_graph_lock();
    if (exec->graph != NULL) {
        front_graph_free(exec->graph);
    }
    (void)front_graph_leave(CUDA_SUCCESS);
    pthread_mutex_destroy(&exec->lock);
    free(exec->by_origin);
    free(exec);
}

static void exec_drop(struct front_exec *exec)
{
    front_graph_lock();
    bool last = --exec->references == 0;
    (void)front_graph_leave(CUDA_SUCCESS);
    if (last) {
        front_graph_host.exec_destroy(exec->host, exec_gone, exec);
    }
}

CUresult front_exec_enter(CUgraphExec handle, struct front_exec **exec)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_exec *found = exec_find(handle);
    if (found == NULL) {
        (void)front_graph_leave(CUDA_SUCCESS);
        return CUDA_ERROR_INVALID_VALUE;
    }
    found->references++;
    (void)front_graph_leave(CUDA_SUCCESS);
    pthread_mutex_lock(&found->lock);
    *exec = found;
    return CUDA_SUCCESS;
}

CUresult front_exec_leave(struct front_exec *exec, CUresult rc)
{
    pthread_mutex_unlock(&exec->lock);
    exec_drop(exec);
    return rc;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    front_graph_lock();
    struct front_exec *exec = exec_find(hGraphExec);
    if (exec == NULL) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    (void)ga_handle_table_remove(&execs, exec->handle);
    source_leave(exec);
    (void)front_graph_leave(CUDA_SUCCESS);
    exec_drop(exec);
    return front_host.process_state();
}

/* ---- the beginning ---- */

static void nodes_gather(struct front_exec *exec, struct front_graph *graph)
{
    ga_list_each (at, following, &graph->nodes) {
        struct front_node *node = ga_container(at, struct front_node, in_graph);
        if (exec->by_origin != NULL) {
            exec->by_origin[exec->node_count] = node;
        }
        exec->node_count++;
        for (unsigned i = 0; i < node->graph_count; i++) {
            nodes_gather(exec, node->graphs[i]);
        }
    }
}

static int origins_compare(const void *left, const void *right)
{
    const struct front_node *const *a = left, *const *b = right;
    return ((*a)->origin > (*b)->origin) - ((*a)->origin < (*b)->origin);
}

static CUresult nodes_index(struct front_exec *exec)
{
    nodes_gather(exec, exec->graph);
    exec->by_origin = calloc((size_t)exec->node_count + 1, sizeof(struct front_node *));
    if (exec->by_origin == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->node_count = 0;
    nodes_gather(exec, exec->graph);
    qsort(exec->by_origin, exec->node_count, sizeof(struct front_node *), origins_compare);
    return CUDA_SUCCESS;
}

struct front_node *front_exec_node(const struct front_exec *exec, uint64_t serial)
{
    unsigned from = 0, to = exec->node_count;
    while (from < to) {
        unsigned middle = from + (to - from) / 2;
        if (exec->by_origin[middle]->origin < serial) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < exec->node_count && exec->by_origin[from]->origin == serial
               ? exec->by_origin[from]
               : NULL;
}

/* Every condition needs a node, and no two nodes share a condition. */
static int conditions_unused(const struct front_graph *graph)
{
    int unused = (int)graph->condition_count - (int)graph->conditional_nodes;
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        for (unsigned i = 0; i < node->graph_count; i++) {
            unused += conditions_unused(node->graphs[i]);
        }
    }
    return unused;
}

/* Makes the copy of the graph and its plan. The lock is held. */
static CUresult exec_plan(struct front_exec *exec, struct front_graph *graph,
                          CUDA_GRAPH_INSTANTIATE_PARAMS *said)
{
    struct front_node *cyclic = NULL;
    bool body = graph->owner != NULL && graph->owner->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    CUresult rc = body || (graph->execs != 0 && front_graph_unique(graph))
                      ? CUDA_ERROR_INVALID_VALUE
                      : front_graph_copy(graph, false, &exec->graph);
    if (rc == CUDA_SUCCESS) {
        rc = nodes_index(exec);
    }
    if (rc == CUDA_SUCCESS && conditions_unused(graph) > 0) {
        said->result_out = CONDITIONAL_HANDLE_UNUSED;
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_plan_make(exec->graph, &exec->plan, &cyclic);
    }
    if (cyclic != NULL) {
        said->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        ga_list_each (at, following, &graph->nodes) {
            const struct front_node *node = ga_container(at, struct front_node, in_graph);
            if (node->serial == cyclic->origin) {
                said->hErrNode_out = (CUgraphNode)(uintptr_t)node->handle;
            }
        }
    }
    return rc;
}

static CUresult exec_make(CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS *said,
                          struct front_exec **made)
{
    struct front_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->flags = said->flags & ~(uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    exec->references = 1;
    pthread_mutex_init(&exec->lock, NULL);
    front_graph_lock();
    struct front_graph *graph = front_graph_find(handle);
    CUresult rc = graph != NULL ? exec_plan(exec, graph, said) : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS) {
        exec->source = handle;
        exec->source_serial = graph->serial;
        graph->execs++;
    }
    rc = front_graph_leave(rc);
    if (rc == CUDA_SUCCESS) {
        rc = front_graph_host.instantiate(&exec->plan, exec->flags, &exec->host);
    }
    if (rc != CUDA_SUCCESS) {
        front_graph_lock();
        source_leave(exec);
        (void)front_graph_leave(rc);
        exec_gone(exec);
        return rc;
    }
    *made = exec;
    return CUDA_SUCCESS;
}

#define FLAGS_KNOWN                                                                                \
    ((uint64_t)(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |                                  \
                CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |   \
                CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))

static CUresult exec_flags_check(uint64_t flags)
{
    const uint64_t clash =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    if ((flags & ~FLAGS_KNOWN) != 0 || (flags & clash) == clash) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0
               ? front_unsupported("CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH")
               : CUDA_SUCCESS;
}

static CUresult exec_instantiate(CUgraphExec *out, CUgraph graph,
                                 CUDA_GRAPH_INSTANTIATE_PARAMS *said)
{
    struct front_exec *exec = NULL;
    said->hErrNode_out = NULL;
    said->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    CUresult rc = front_graph_check(graph);
    if (rc == CUDA_SUCCESS) {
        rc = out == NULL ? CUDA_ERROR_INVALID_VALUE : exec_flags_check(said->flags);
    }
    if (rc == CUDA_SUCCESS) {
        rc = exec_make(graph, said, &exec);
    }
    if (rc == CUDA_SUCCESS && (said->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
        rc = front_graph_host.upload(exec->host, said->hUploadStream);
    }
    if (exec == NULL) {
        return rc;
    }
    front_graph_lock();
    if (execs.limit == 0) {
        ga_handle_table_init(&execs, GA_HANDLE_EXEC, EXECS_MAX);
    }
    if (rc == CUDA_SUCCESS && ga_handle_table_make(&execs, exec, &exec->handle) != GA_OK) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc == CUDA_SUCCESS) {
        *out = (CUgraphExec)(uintptr_t)exec->handle;
        said->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    } else {
        source_leave(exec);
    }
    (void)front_graph_leave(rc);
    if (rc != CUDA_SUCCESS) {
        exec_drop(exec);
    }
    return rc;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    return instantiateParams != NULL ? exec_instantiate(phGraphExec, hGraph, instantiateParams)
                                     : front_graph_invalid();
}

CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                                   CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    if (instantiateParams == NULL || instantiateParams->hUploadStream != NULL) {
        return cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
    }
    instantiateParams->hUploadStream = CU_STREAM_PER_THREAD;
    CUresult rc = cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
    instantiateParams->hUploadStream = NULL;
    return rc;
}

/* Without a stream nothing can be uploaded. */
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                             unsigned long long flags)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS said = {.flags = flags};
    return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) == 0
               ? exec_instantiate(phGraphExec, hGraph, &said)
               : front_graph_invalid();
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                       CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS said = {.flags = 0};
    if (logBuffer != NULL && bufferSize != 0) {
        logBuffer[0] = 0;
    }
    CUresult rc = exec_instantiate(phGraphExec, hGraph, &said);
    if (phErrorNode != NULL) {
        *phErrorNode = said.hErrNode_out;
    }
    return rc;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                    CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

/* ---- using it ---- */

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct front_exec *exec;
    CUresult rc = front_exec_enter(hGraphExec, &exec);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (flags == NULL) {
        return front_exec_leave(exec, CUDA_ERROR_INVALID_VALUE);
    }
    *flags = exec->flags;
    return front_exec_leave(exec, CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
    struct front_exec *exec;
    CUresult rc = front_exec_enter(hGraphExec, &exec);
    return rc == CUDA_SUCCESS ? front_exec_leave(exec, front_graph_host.upload(exec->host, hStream))
                              : rc;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    struct front_exec *exec;
    CUresult rc = front_exec_enter(hGraphExec, &exec);
    return rc == CUDA_SUCCESS ? front_exec_leave(exec, front_graph_host.launch(exec->host, hStream))
                              : rc;
}
