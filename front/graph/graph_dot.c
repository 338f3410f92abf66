/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphDebugDotPrint: a graph in the language of graphviz, children and bodies as clusters. */
#include <inttypes.h>
#include <stdio.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {"KERNEL",         "MEMCPY",       "MEMSET",
                                        "HOST",           "GRAPH",        "EMPTY",
                                        "WAIT_EVENT",     "EVENT_RECORD", "EXT_SEMAS_SIGNAL",
                                        "EXT_SEMAS_WAIT", "MEM_ALLOC",    "MEM_FREE",
                                        "BATCH_MEM_OP",   "CONDITIONAL"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "UNKNOWN";
}

static bool wants(unsigned flags, unsigned detail)
{
    return (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | detail)) != 0;
}

static void kernel_print(FILE *to, const struct front_kernel_node *kernel, unsigned flags)
{
    const char *name;
    if (cuFuncGetName(&name, kernel->function) == CUDA_SUCCESS) {
        fprintf(to, "\\n%s", name);
    }
    if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) {
        fprintf(to, "\\ngrid %u x %u x %u, block %u x %u x %u, shared memory %u", kernel->grid[0],
                kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1],
                kernel->block[2], kernel->shared_bytes);
    }
    if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)) {
        for (unsigned i = 0; i < kernel->attribute_count; i++) {
            fprintf(to, "\\nattribute %u", (unsigned)kernel->attributes[i].id);
        }
    }
}

static void params_print(FILE *to, const struct front_node_params *params, unsigned flags)
{
    const CUDA_MEMCPY3D *copy = &params->copy.copy;
    const CUDA_MEMSET_NODE_PARAMS_v1 *fill = &params->fill.fill;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        kernel_print(to, &params->kernel, flags);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) {
            fprintf(to, "\\n%zu x %zu x %zu bytes", copy->WidthInBytes, copy->Height, copy->Depth);
        }
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
            fprintf(to, "\\n%#" PRIx64 ": %zu x %zu of %u bytes, value %#x", (uint64_t)fill->dst,
                    fill->width, fill->height, fill->elementSize, fill->value);
        }
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) {
            fprintf(to, "\\nfunction %p, data %p", (void *)(uintptr_t)params->host.fn,
                    params->host.userData);
        }
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)) {
            fprintf(to, "\\nevent %p", (void *)params->event);
        }
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) {
            fprintf(to, "\\n%#" PRIx64 ": %zu bytes", (uint64_t)params->alloc.wanted.dptr,
                    params->alloc.wanted.bytesize);
        }
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) {
            fprintf(to, "\\n%#" PRIx64, (uint64_t)params->free);
        }
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) {
            fprintf(to, "\\n%u operations", params->values.count);
        }
        break;
    default:
        break;
    }
}

static void graph_print(FILE *to, const struct front_graph *graph, unsigned flags)
{
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        fprintf(to, "\"n%" PRIu64 "\" [shape=box label=\"%s", node->serial,
                type_name(node->params.type));
        params_print(to, &node->params, flags);
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
            fprintf(to, "\\nnode %#" PRIx64, node->handle);
        }
        fprintf(to, "\"];\n");
        for (unsigned i = 0; i < node->graph_count; i++) {
            fprintf(to, "subgraph \"cluster_%" PRIu64 "_%u\" {\nlabel=\"n%" PRIu64 "\";\n",
                    node->serial, i, node->serial);
            graph_print(to, node->graphs[i], flags);
            fprintf(to, "}\n");
        }
    }
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        for (unsigned i = 0; i < node->after.count; i++) {
            fprintf(to, "\"n%" PRIu64 "\" -> \"n%" PRIu64 "\"", node->serial,
                    node->after.items[i].node->serial);
            if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO)) {
                fprintf(to, " [label=\"%u\"]", i);
            }
            fprintf(to, ";\n");
        }
    }
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    const unsigned known = (CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS << 1) - 1;
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_graph *graph = front_graph_find(hGraph);
    if (graph == NULL || path == NULL || (flags & ~known) != 0) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    FILE *to = fopen(path, "we");
    if (to == NULL) {
        return front_graph_leave(CUDA_ERROR_OPERATING_SYSTEM);
    }
    fprintf(to, "digraph \"graph_%" PRIu64 "\" {\n", graph->serial);
    graph_print(to, graph, flags);
    fprintf(to, "}\n");
    bool written = ferror(to) == 0;
    written = fclose(to) == 0 && written;
    return front_graph_leave(written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}
