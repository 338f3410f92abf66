/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: a copy of a graph, the plan made of it, and what the library made of that. Within
 * front/ only. */
#ifndef FRONT_GRAPH_GRAPH_EXEC_H
#define FRONT_GRAPH_GRAPH_EXEC_H

#include <pthread.h>

#include "front/graph/graph_model.h"

struct front_exec {
    uint64_t handle;
    unsigned references; /* under the graphs' lock: the handle's, and calls that use it */
    /* Of launches and changes; taken after the graphs' lock is given back. Guards all below. */
    pthread_mutex_t lock;
    struct front_graph *graph;     /* its own */
    CUgraph source;                /* what it was made of, if that is still there... */
    uint64_t source_serial;        /* ...and is this one */
    struct front_node **by_origin; /* all nodes, also of children and bodies */
    unsigned node_count;
    struct front_plan plan;
    uint64_t flags;
    void *host;
};

/* ---- graph_plan.c ---- */

/* CUDA_ERROR_INVALID_VALUE: there are cycles; *cyclic is a node in one, or behind one. Gives nodes
 * their numbers. */
CUresult front_plan_make(struct front_graph *graph, struct front_plan *plan,
                         struct front_node **cyclic);
void front_plan_free(struct front_plan *plan);

/* ---- graph_exec.c ---- */

/* Finds it and takes its lock, on CUDA_SUCCESS. */
CUresult front_exec_enter(CUgraphExec handle, struct front_exec **exec);
CUresult front_exec_leave(struct front_exec *exec, CUresult rc);
/* The node that a node of the original graph became; `serial` of that. NULL: none. */
struct front_node *front_exec_node(const struct front_exec *exec, uint64_t serial);

#endif
