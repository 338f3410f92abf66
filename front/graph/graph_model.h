/* SPDX-License-Identifier: Apache-2.0 */
/* The data structure of graphs: nodes in the order in which they were added, with their edges at
 * both ends. Within front/ only. All functions need the graphs' lock unless they say otherwise. */
#ifndef FRONT_GRAPH_GRAPH_MODEL_H
#define FRONT_GRAPH_GRAPH_MODEL_H

#include "base/handle_table.h"
#include "base/list.h"
#include "front/graph/graph.h"

struct front_node;
struct front_graph;
struct front_user_object;

struct front_link {
    struct front_node *node;
    CUgraphEdgeData data;
};

struct front_links {
    struct front_link *items;
    unsigned count, room;
};

struct front_node {
    uint64_t handle; /* 0: in an executable's own graph, which has no handles */
    uint64_t serial; /* unique for ever */
    uint64_t origin; /* serial of the node that this is a copy of; 0: not a copy */
    struct ga_list in_graph;
    struct front_graph *graph;
    struct front_node_params params;
    struct front_links before, after; /* dependencies and dependents */
    unsigned graph_count;             /* child graph or bodies */
    struct front_graph **graphs;
    unsigned mark;   /* for algorithms that walk the graph */
    unsigned number; /* in an executable: index in its plan */
    bool off;        /* in an executable: disabled */
};

/* The variable of a conditional node, shared by a graph and what was made from it. */
struct front_condition {
    unsigned references;
    CUgraphConditionalHandle handle;
    CUcontext context;
    uint64_t graph; /* number of its graph */
    unsigned value;
    bool assigned;
};

struct front_kept_object {
    struct front_user_object *object;
    unsigned count;
};

struct front_graph {
    uint64_t handle;
    uint64_t serial, origin;  /* as of nodes */
    struct front_node *owner; /* NULL: neither a child graph nor a body */
    struct ga_list nodes;
    unsigned node_count;
    unsigned memory_nodes;      /* of its own nodes: those that allocate or free */
    unsigned conditional_nodes; /* of its own nodes */
    unsigned execs;             /* executables made from it */
    struct front_condition **conditions;
    unsigned condition_count;
    struct front_kept_object *objects;
    unsigned object_count;
};

/* ---- graph.c ---- */

/* Checks front_ready and the sticky error. The lock is held on CUDA_SUCCESS. */
CUresult front_graph_enter(void);
/* Unlocks, and calls the destructors of user objects without references. */
CUresult front_graph_leave(CUresult rc);
void front_graph_lock(void);
/* The error for a wrong argument that was found before all other checks:
 * CUDA_ERROR_INVALID_VALUE, unless every call would fail. */
CUresult front_graph_invalid(void);

/* NULL: there is none. */
struct front_graph *front_graph_find(CUgraph handle);
struct front_node *front_node_find(CUgraphNode handle);

/* Finds the node of this type. The lock is held on CUDA_SUCCESS. `out` NULL:
 * CUDA_ERROR_INVALID_VALUE. */
CUresult front_node_enter(CUgraphNode handle, CUgraphNodeType type, const void *out,
                          struct front_node **node);

CUresult front_graph_new(bool named, struct front_graph **graph);
void front_graph_free(struct front_graph *graph);

/* CUDA_ERROR_OUT_OF_MEMORY. Owns the parameters in any case. */
CUresult front_node_new(struct front_graph *graph, struct front_node_params *params,
                        struct front_node **node);
void front_node_free(struct front_node *node);
/* Removes the node and its edges from its graph. */
void front_node_detach(struct front_node *node);
/* The outermost graph, through children and bodies. */
struct front_graph *front_graph_root(struct front_graph *graph);

/* ---- graph_copy.c ---- */

/* Whether the graph, or one within it, has nodes that cannot be copied (memory, conditions). */
bool front_graph_unique(const struct front_graph *graph);

/* Copies nodes, edges and references to user objects. `named`: the copy and its nodes get
 * handles. */
CUresult front_graph_copy(const struct front_graph *from, bool named, struct front_graph **copy);
/* The nodes in topological order, malloc-ed. If there are cycles, *sorted is less than the
 * number of nodes and *cyclic is a node in a cycle, or behind one. NULL: no memory. */
struct front_node **front_graph_sort(struct front_graph *graph, unsigned *sorted,
                                     struct front_node **cyclic);

/* ---- graph_edges.c ---- */

/* CUDA_ERROR_INVALID_VALUE: the edge exists, or cannot be. */
CUresult front_edge_add(struct front_node *from, struct front_node *to,
                        const CUgraphEdgeData *data);
bool front_links_add(struct front_links *links, struct front_node *node,
                     const CUgraphEdgeData *data);
void front_links_remove(struct front_links *links, const struct front_node *node);

/* ---- graph_params.c ---- */

CUresult front_node_params_copy(const struct front_node_params *from, struct front_node_params *to);

/* ---- graph_memory.c ---- */

/* May be called with or without the graphs' lock. */
void front_graph_memory_hold(struct front_graph_memory *memory);
void front_graph_memory_drop(struct front_graph_memory *memory);
/* Whether this is the address of an allocating node. */
bool front_graph_memory_known(CUdeviceptr address);

/* ---- graph_kinds.c ---- */

#define FRONT_COND_TYPE_SWITCH    2   /* newer than the oldest cuda.h that we build with */
#define FRONT_NODE_ATTRIBUTES_MAX 32u /* more than there are kinds of attributes */

/* Makes node parameters from the program's, in the context that they name or else in `context`
 * (NULL: the current one). `before`: the parameters that they replace, whose attributes a kernel
 * keeps (NULL: none). Child graphs and conditions are borrowed until front_graph_add makes them
 * the node's own. */
CUresult front_node_params_make(const CUgraphNodeParams *said, CUcontext context,
                                const struct front_node_params *before,
                                struct front_node_params *params);

/* ---- graph_exec.c ---- */

/* The executable's own graph, valid while the lock is held. NULL: there is no such executable. */
const struct front_graph *front_exec_graph(CUgraphExec handle);

/* ---- user_object.c ---- */

CUresult front_objects_copy(const struct front_graph *from, struct front_graph *to);
void front_objects_drop(struct front_graph *graph);
/* Collects the objects without references. `end`, without the lock, calls their destructors. */
void front_objects_take(struct ga_list *taken);
void front_objects_end(struct ga_list *taken);

/* ---- graph_condition.c ---- */

/* NULL: this graph has no such handle. */
struct front_condition *front_condition_find(const struct front_graph *graph,
                                             CUgraphConditionalHandle handle);
CUresult front_conditions_copy(const struct front_graph *from, struct front_graph *to);
void front_conditions_drop(struct front_graph *graph);

#endif
