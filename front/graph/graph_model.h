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

#endif
