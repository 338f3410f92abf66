/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs. A graph is data of the process, the same in both libraries: front/ implements all
 * cuGraph* calls. What it runs as is the library's own: an *executable*, made of a plan by the
 * functions of struct front_graph_host.
 *
 * What a reader would get wrong: an executable keeps a copy of the graph of its own (what is done
 * to the graph afterwards changes nothing), and plans point into that copy. Child graphs are
 * dissolved in plans: their nodes are nodes of the plan, between two empty ones.
 *
 * Order of locks: the graphs' lock comes before those of the host. So front_graph_* must not be
 * called with a lock of the host held, and the host's functions below call nothing of
 * front_graph_*. */
#ifndef FRONT_GRAPH_GRAPH_H
#define FRONT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* ---- what a node does ---- */

struct front_kernel_node {
    CUfunction function; /* never NULL; a CUkernel as it was given, cast, if `of_kernel` */
    bool of_kernel;
    CUkernel kernel; /* of a library, whose function it is or was given as; NULL: of a module */
    CUcontext context;
    unsigned grid[3], block[3], shared_bytes;
    unsigned
        attribute_count; /* as front_launch_options_read takes them; one of each kind at most */
    CUlaunchAttribute *attributes;
    unsigned param_count;
    uint32_t param_bytes; /* up to the end of the last one */
    uint8_t *param_block; /* laid out as the function declares them, zeros between */
    void **param_values;  /* pointers into the block, one per parameter */
};

struct front_copy_node {
    CUcontext context;
    CUDA_MEMCPY3D
    copy; /* its host pointers are the program's: read and written when the node runs */
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
    CUgraphConditionalHandle handle; /* what front_graph_host.condition_make gave */
    CUgraphConditionalNodeType type;
    CUcontext context;
    unsigned count;
    CUgraph *bodies; /* handles of graphs that belong to the node; in copies too */
};

struct front_alloc_node {
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted; /* dptr: the address; no access descriptors */
    struct front_graph_memory *memory;    /* held: nodes share the address */
};

/* Everything pointed to is owned by the struct (graphs by the node that has it). */
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

/* Makes parameters of a kernel node: the values are copied as the function declares them, and what
 * a launch in `context` would find wrong is answered as a launch would. `stream` of the
 * configuration is not looked at. `extra` and `values` as for cuLaunchKernelEx. */
CUresult front_kernel_node_make(struct front_node_params *params, CUcontext context,
                                CUfunction function, const CUlaunchConfig *config, void **values,
                                void **extra);
/* How such a node is launched in the stream. It points to the node's attributes. */
CUlaunchConfig front_kernel_node_config(const struct front_kernel_node *kernel, CUstream stream);
CUresult front_copy_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMCPY3D *copy);
CUresult front_fill_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMSET_NODE_PARAMS_v1 *fill);
CUresult front_values_node_make(struct front_node_params *params, CUcontext context, unsigned count,
                                const CUstreamBatchMemOpParams *ops, unsigned flags);
CUresult front_host_node_make(struct front_node_params *params, CUhostFn function, void *data);
/* CU_GRAPH_NODE_TYPE_WAIT_EVENT or _EVENT_RECORD. */
CUresult front_event_node_make(struct front_node_params *params, CUgraphNodeType type,
                               CUevent event);
/* The node allocates and frees; the address is known as soon as the parameters are made, and is in
 * params->alloc.wanted.dptr. */
CUresult front_alloc_node_make(struct front_node_params *params,
                               const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *alloc);
CUresult front_free_node_make(struct front_node_params *params, CUdeviceptr address);
/* Whether a copy, a fill or a value begins at an address that `holds` answers for. */
bool front_node_touches(const struct front_node_params *params, bool (*holds)(uint64_t address));
/* For parameters that no node has taken. */
void front_node_params_free(struct front_node_params *params);

/* ---- graphs, for stream capture ---- */

/* As cuGraphCreate. */
CUresult front_graph_make(CUgraph *graph);
/* As cuGraphDestroy. */
CUresult front_graph_destroy(CUgraph graph);
/* CUDA_ERROR_INVALID_VALUE: no graph. */
CUresult front_graph_check(CUgraph graph);
/* Adds a node behind `count` nodes of the graph (`edges` NULL: with ordinary edges), and takes what
 * the parameters own, whether it succeeds or not. CUDA_ERROR_INVALID_VALUE: a node that is none, or
 * of another graph; one named twice; an edge that cannot be. */
CUresult front_graph_add(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                         size_t count, struct front_node_params *params, CUgraphNode *node);
/* Adds a child graph node that does what the executable does (its launch was captured). */
CUresult front_graph_add_exec(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                              size_t count, CUgraphExec exec, CUgraphNode *node);
/* CUDA_ERROR_INVALID_VALUE unless all are nodes of the graph. */
CUresult front_graph_holds(CUgraph graph, const CUgraphNode *nodes, size_t count);

/* ---- executables ---- */

/* A plan is a list of nodes in an order that fits their dependencies. */
struct front_plan {
    unsigned count;
    struct front_plan_node *nodes;
};

struct front_plan_node {
    /* KERNEL, MEMCPY, MEMSET, HOST, EMPTY, WAIT_EVENT, EVENT_RECORD, MEM_ALLOC, MEM_FREE,
     * BATCH_MEM_OP or CONDITIONAL. Lives, at this address, as long as the executable; its contents
     * change with exec_set, in step with the host. */
    const struct front_node_params *params;
    unsigned number; /* of this node in the whole plan, bodies included: from 0, without gaps */
    unsigned after_count;
    const unsigned *after; /* positions in `nodes`, each less than that of this one */
    unsigned body_count;
    const struct front_plan *bodies; /* of a conditional node */
};

/* Every member is set; a library that cannot do it answers front_unsupported. Called without locks
 * but the one of the executable: never twice at once for the same one. */
struct front_graph_host {
    /* Could a node do this? What cuLaunchKernelEx, cuMemcpy3DAsync and the like would answer in
     * that context. Called before a node is added, and again for new parameters of a node or of an
     * executable. Types as in plans, but for CONDITIONAL, MEM_ALLOC and MEM_FREE. */
    CUresult (*check)(const struct front_node_params *params);
    /* The function's context, where `current` is the one that a CUkernel means, and of which kernel
     * of a library it is (NULL: of none). */
    CUresult (*function_context)(CUfunction function, CUcontext current, CUcontext *context,
                                 CUkernel *kernel);

    /* The variable of a conditional node, with the value that it gets whenever an executable is
     * launched (`assigned`), or has at first. The handle is what kernels give to
     * cudaGraphSetConditional; in other contexts there may be the same one. `graph`: a number, of
     * the graph that has it (itself, or of which it is a body), and of no other one ever. */
    CUresult (*condition_make)(CUcontext context, uint64_t graph, unsigned value, bool assigned,
                               CUgraphConditionalHandle *handle);
    /* Launches may still run. Any thread, and with the graphs' lock held. */
    void (*condition_drop)(CUcontext context, uint64_t graph, CUgraphConditionalHandle handle);

    /* The memory of an allocating node: the address that it will have, which kernels may use when
     * the node has run. CUDA_ERROR_NOT_SUPPORTED: properties that are not offered. */
    CUresult (*memory_reserve)(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address);
    /* No graph and no executable names the address any more; launches may still run. Any thread,
     * and with the graphs' lock held. */
    void (*memory_drop)(CUdeviceptr address);

    /* `flags` of cuGraphInstantiate, without UPLOAD. The plan lives as long as the executable. */
    CUresult (*instantiate)(const struct front_plan *plan, uint64_t flags, void **exec);
    /* The node has other parameters now: of the same type, and checked. Launches that were made
     * before keep the old ones. `params` are copied. */
    CUresult (*exec_set)(void *exec, unsigned number, const struct front_node_params *params);
    /* KERNEL, MEMCPY and MEMSET nodes only: one that is off is as an empty one. */
    CUresult (*exec_enable)(void *exec, unsigned number, bool on);
    CUresult (*upload)(void *exec, CUstream stream);
    /* In the order of the stream; launches of the same executable run one after the other, in the
     * order of these calls. */
    CUresult (*launch)(void *exec, CUstream stream);
    /* Launches that were made are done all the same; `gone` (NULL: nothing) is called, from any
     * thread and without locks, when the last one is. Called also in a condemned process. */
    void (*exec_destroy)(void *exec, void (*gone)(void *), void *data);
};

/* Defined by the library that front/ is part of. */
extern const struct front_graph_host front_graph_host;

#endif
