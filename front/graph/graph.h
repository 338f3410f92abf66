/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs. A graph is data of the process, the same in both libraries: front/ implements all
 * cuGraph* calls. The library runs it as an *executable*, made from a plan by the functions of
 * struct front_graph_host.
 *
 * Note: an executable owns a copy of the graph, so later changes of the graph do not reach it, and
 * plans point into that copy. Plans have no child graphs: the nodes of a child become nodes of the
 * plan, between two empty ones.
 *
 * Lock order: the lock of the graphs comes before those of the host. The host must not call
 * front_graph_* with a lock of its own held, and its functions below must not call
 * front_graph_*. */
#ifndef FRONT_GRAPH_GRAPH_H
#define FRONT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* ---- parameters of nodes ---- */

struct front_kernel_node {
    CUfunction function; /* never NULL; the given CUkernel, cast, if `of_kernel` */
    bool of_kernel;
    CUkernel kernel; /* the kernel of a library that the function belongs to; NULL: a module's */
    CUcontext context;
    unsigned grid[3], block[3], shared_bytes;
    unsigned attribute_count; /* valid for front_launch_options_read; at most one of each kind */
    CUlaunchAttribute *attributes;
    unsigned param_count;
    uint32_t param_bytes; /* bytes up to the end of the last parameter */
    uint8_t *param_block; /* laid out as the function declares, padded with zeros */
    void **param_values;  /* pointers into the block, one per parameter */
};

struct front_copy_node {
    CUcontext context;
    CUDA_MEMCPY3D
    copy; /* host pointers are the program's, used when the node runs */
};

struct front_fill_node {
    CUcontext context;
    CUDA_MEMSET_NODE_PARAMS_v1 fill;
};

struct front_values_node { /* batches of cuStreamBatchMemOp */
    CUcontext context;
    unsigned count, flags;
    CUstreamBatchMemOpParams *ops;
};

struct front_conditional_node {
    CUgraphConditionalHandle handle; /* from front_graph_host.condition_make */
    CUgraphConditionalNodeType type;
    CUcontext context;
    unsigned count;
    CUgraph *bodies; /* handles of graphs that belong to the node, in copies as well */
};

struct front_alloc_node {
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted; /* dptr: the address; without access descriptors */
    struct front_graph_memory *memory;    /* one reference is held: nodes share the address */
};

/* Owns everything that it points to; the node owns its graphs. */
struct front_node_params {
    CUgraphNodeType type;
    union {
        struct front_kernel_node kernel;
        struct front_copy_node copy;
        struct front_fill_node fill;
        CUDA_HOST_NODE_PARAMS_v1 host;
        CUgraph child; /* handle of a graph that belongs to the node */
        CUevent event; /* WAIT_EVENT, EVENT_RECORD */
        struct front_alloc_node alloc;
        CUdeviceptr free;
        struct front_values_node values;
        struct front_conditional_node conditional;
    };
};

/* ---- graphs, for stream capture ---- */

/* As cuGraphCreate. */
CUresult front_graph_make(CUgraph *graph);
/* As cuGraphDestroy. */
CUresult front_graph_destroy(CUgraph graph);
/* CUDA_ERROR_INVALID_VALUE: not a graph. */
CUresult front_graph_check(CUgraph graph);
/* CUDA_ERROR_INVALID_VALUE unless all are nodes of the graph. */
CUresult front_graph_holds(CUgraph graph, const CUgraphNode *nodes, size_t count);

/* ---- executables ---- */

/* A plan is a list of nodes in topological order. */
struct front_plan {
    unsigned count;
    struct front_plan_node *nodes;
};

struct front_plan_node {
    /* KERNEL, MEMCPY, MEMSET, HOST, EMPTY, WAIT_EVENT, EVENT_RECORD, MEM_ALLOC, MEM_FREE,
     * BATCH_MEM_OP or CONDITIONAL. Valid at this address as long as the executable; exec_set
     * changes its contents together with the host's. */
    const struct front_node_params *params;
    unsigned number; /* index of this node in the whole plan, including bodies */
    unsigned after_count;
    const unsigned *after; /* dependencies: positions in `nodes`, each before this one */
    unsigned body_count;
    const struct front_plan *bodies; /* of a conditional node */
};

/* Functions of the library. Every member is set; what a library cannot do returns
 * front_unsupported. They are called without a lock but the executable's, so never twice at once
 * for one executable. */
struct front_graph_host {
    /* Checks parameters: the error that cuLaunchKernelEx, cuMemcpy3DAsync and the like would
     * return in that context. Called before a node is added, and for new parameters of a node or
     * of an executable. The types are those of plans without CONDITIONAL, MEM_ALLOC and
     * MEM_FREE. */
    CUresult (*check)(const struct front_node_params *params);
    /* The function's context (`current` is the one that a CUkernel means), and the library's
     * kernel that it belongs to (NULL: none). */
    CUresult (*function_context)(CUfunction function, CUcontext current, CUcontext *context,
                                 CUkernel *kernel);

    /* Creates the variable of a conditional node. `assigned`: its value is set at each launch of
     * an executable, otherwise only at first. Kernels give the handle to
     * cudaGraphSetConditional; another context may have an equal handle. `graph` is the unique
     * number of the graph that owns it, or whose body owns it. */
    CUresult (*condition_make)(CUcontext context, uint64_t graph, unsigned value, bool assigned,
                               CUgraphConditionalHandle *handle);
    /* Launches may still run. Called by any thread, with the lock of the graphs held. */
    void (*condition_drop)(CUcontext context, uint64_t graph, CUgraphConditionalHandle handle);

    /* Reserves the address of an allocating node, which kernels may use once the node has run.
     * CUDA_ERROR_NOT_SUPPORTED: properties that are not offered. */
    CUresult (*memory_reserve)(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address);
    /* No graph and no executable names the address any more, but launches may still run. Called
     * by any thread, with the lock of the graphs held. */
    void (*memory_drop)(CUdeviceptr address);

    /* `flags`: of cuGraphInstantiate, without UPLOAD. The plan is valid as long as the
     * executable. */
    CUresult (*instantiate)(const struct front_plan *plan, uint64_t flags, void **exec);
    /* Gives the node new parameters of the same type, which have been checked. Earlier launches
     * keep the old ones. `params` are copied. */
    CUresult (*exec_set)(void *exec, unsigned number, const struct front_node_params *params);
    /* KERNEL, MEMCPY and MEMSET nodes only. A node that is off runs as an empty one. */
    CUresult (*exec_enable)(void *exec, unsigned number, bool on);
    CUresult (*upload)(void *exec, CUstream stream);
    /* Submits a launch in the order of the stream. Launches of one executable run one after the
     * other, in the order of these calls. */
    CUresult (*launch)(void *exec, CUstream stream);
    /* Earlier launches still run. When the last one is done, `gone` (NULL: none) is called by
     * any thread, without locks. Called in a condemned process as well. */
    void (*exec_destroy)(void *exec, void (*gone)(void *), void *data);
};

/* Defined by the library that front/ is part of. */
extern const struct front_graph_host front_graph_host;

#endif
