/* SPDX-License-Identifier: Apache-2.0 */
/* State that graph.c and graph_condition.c share. Submit thread only. */
#ifndef SERVER_CALLS_GRAPH_H
#define SERVER_CALLS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "server/app/app.h"

#define NODES_MAX  1048576u /* of a graph: they are kept, 8 bytes each */
#define NODE_BYTES 2048u    /* of this machine, for one: what server and driver keep of it */

struct server_condition_graph;

/* A conditional node in a graph that is being captured. */
struct server_graph_bodies {
    uint32_t node, count;
    const CUgraph *graphs; /* the driver's, as long as the node is there */
};

/* A graph that is being captured. */
struct server_graph_build {
    struct ledger *ledger; /* charged with the nodes */
    uint32_t count, room;
    CUgraphNode *nodes;
    uint32_t first;   /* node of what is captured now: the graph, or a body */
    bool open;        /* the call of the last ga_graph_node has not been looked at */
    CUgraphNode last; /* what the dependencies were before it, if they were one node */
    CUresult rc;      /* the first thing that went wrong */
    struct server_condition_graph *of; /* which is captured to; NULL: one of its own */
    uint32_t bodies_count, bodies_room;
    struct server_graph_bodies *bodies;
    struct frame_record record; /* the calls that have been captured, and between them what they
                                 * come behind; empty when they are carried out again */
};

/* ---- graph.c */

/* Nothing more comes of it; the first reason is what the client is told in the end. */
void graph_build_fail(struct server_graph_build *build, CUresult rc);
/* Looks at what the last call has become. */
void graph_build_collect(const struct cuda_driver *driver, const struct server_stream *stream);
/* The stream, in which a graph is being captured; NULL: there is none, or none is. */
struct server_stream *graph_building(struct server_app *app, uint64_t wire);

/* The graph is whole: its capture ends. On success it is the caller's, and so is the build. */
CUresult graph_build_whole(struct server_app *app, struct server_stream *stream, CUgraph *graph,
                           struct server_graph_build **build);
/* Frees a build; and with it the graph that was captured (NULL: none was). */
void graph_build_free(struct server_app *app, struct server_graph_build *build);
void graph_build_discard(struct server_app *app, struct server_graph_build *build, CUgraph graph);
/* Gives a node of the executable the parameters of the only node that was captured. */
CUresult graph_update(const struct cuda_driver *driver, const struct server_graph *graph,
                      uint32_t node, const struct server_graph_build *build);

/* Drops the graph that is being captured in a stream that ends. */
void graph_build_end(struct server_app *app, struct server_stream *stream);
/* Frees it, in the driver too. */
CUresult graph_free(struct server_app *app, struct server_graph *graph);

#endif
