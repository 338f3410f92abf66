/* SPDX-License-Identifier: Apache-2.0 */
/* An executable graph of the client: what the server runs by itself are its segments, executable
 * graphs of the server; what needs the program's memory or functions stands between them as calls
 * that every launch makes anew. A launch does the steps one after the other in the stream. */
#ifndef CLIENT_GRAPH_GRAPH_H
#define CLIENT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "client/context/object.h"
#include "client/memory/graph_memory.h"
#include "front/front.h"

struct graph_step {
    uint64_t segment;                       /* wire handle; 0: a call */
    CUcontext context;                      /* of a segment */
    const struct front_node_params *params; /* of a call, as they are now */
    bool off;                               /* a call that is not made */
    bool late; /* it reads memory of the program that may be written by what comes before it */
};

/* Where a node is. */
struct graph_place {
    uint32_t step; /* GRAPH_NOWHERE: there was nothing to do for it */
    uint32_t node; /* in the segment */
};
#define GRAPH_NOWHERE UINT32_MAX

struct client_graph {
    uint32_t step_count;
    struct graph_step *steps;
    uint32_t node_count;
    struct graph_place *places; /* by the nodes' numbers, bodies included */
    bool frees;                 /* a launch frees first what an earlier one has left allocated */
    struct client_graph_allocs allocs; /* seen to with the launch */
    bool launched;                     /* last time in this stream, of this context */
    CUstream stream;
    CUcontext context;
};

/* ---- graph_steps.c */

/* Makes the steps, and the segments on the server. On failure there is nothing. */
CUresult client_graph_build(const struct front_plan *plan, uint64_t flags,
                            struct client_graph *graph);
/* Frees what it owns, the segments too; not the struct. */
void client_graph_drop(struct client_graph *graph);

/* ---- graph_segment.c */

/* Whether the node is one call of the driver, which the server makes by itself. The bodies of a
 * conditional one are not looked at. */
bool client_graph_inside(const struct front_node_params *params);
/* A segment on the server. */
extern const struct client_object_type client_exec_type;
/* Makes the call that the node is, in the stream. */
CUresult client_graph_call(const struct front_node_params *params, CUstream stream);
/* Makes of the nodes at the wanted positions the segment of a step. */
CUresult client_graph_segment(const struct front_plan *plan, const uint8_t *wanted, uint64_t flags,
                              uint32_t step, struct client_graph *graph);
/* The node of the segment does from now on what `params` say. */
CUresult client_graph_change(const struct graph_step *step, uint32_t node,
                             const struct front_node_params *params);
CUresult client_graph_launch(uint64_t segment, CUstream stream);
CUresult client_graph_enable(uint64_t segment, uint32_t node, bool on);
void client_graph_forget(uint64_t segment);

/* ---- graph_condition.c: the variables of conditional nodes */

/* As front_graph_host.condition_make and condition_drop. */
CUresult client_graph_condition_make(CUcontext context, uint64_t graph, unsigned value,
                                     bool assigned, CUgraphConditionalHandle *handle);
void client_graph_condition_drop(CUcontext context, uint64_t graph,
                                 CUgraphConditionalHandle handle);
/* The server's number of the handle, and its graph. False: it is not there. */
bool client_graph_condition_numbers(CUcontext context, CUgraphConditionalHandle handle,
                                    uint64_t *number, uint64_t *graph);
/* Gives back what has been dropped. */
void client_graph_condition_tidy(void);

#endif
