/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: a copy of a graph, its plan, and what the library made of the plan. Within front/
 * only. */
#ifndef FRONT_GRAPH_GRAPH_EXEC_H
#define FRONT_GRAPH_GRAPH_EXEC_H

#include <pthread.h>

#include "front/graph/graph_model.h"

struct front_exec {
    uint64_t handle;
    unsigned references; /* of the handle and of calls; under the graphs' lock */
    /* Serialises launches and changes, and guards all members below. Taken after the graphs'
     * lock is released. */
    pthread_mutex_t lock;
    struct front_graph *graph;     /* its own */
    CUgraph source;                /* the graph that it was made from, if it still exists */
    uint64_t source_serial;        /* its serial */
    struct front_node **by_origin; /* all nodes, including children and bodies */
    unsigned node_count;
    struct front_plan plan;
    uint64_t flags;
    void *host;
};

/* Finds the executable. Its lock is held on CUDA_SUCCESS. */
CUresult front_exec_enter(CUgraphExec handle, struct front_exec **exec);
CUresult front_exec_leave(struct front_exec *exec, CUresult rc);
/* The copy of the original graph's node with this serial. NULL: none. */
struct front_node *front_exec_node(const struct front_exec *exec, uint64_t serial);

/* The executable's own graph, valid while the lock is held. NULL: there is no such executable. */
const struct front_graph *front_exec_graph(CUgraphExec handle);

#endif
