/* SPDX-License-Identifier: Apache-2.0 */
/* Records of how executable graphs were made (struct made_graph): the frames that have been
 * captured, and the last change of each node. Submit thread only. */
#ifndef SERVER_CALLS_GRAPH_RECORD_H
#define SERVER_CALLS_GRAPH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "server/calls/graph.h"

/* A build has begun in the stream: what is captured there is kept. */
void graph_record_begin(struct server_app *app, struct server_stream *stream);
/* Keeps the current call, which says something about the graph that is built in the stream, and
 * makes room for the one behind it. The build fails where there is none. */
void graph_record_say(struct server_app *app, struct server_stream *stream);
/* The record of the build becomes that of an executable. NULL: no memory. */
struct made_graph *graph_record_make(uint64_t flags, struct server_graph_build *build);
/* A node of the executable has got the parameters of the build's only node. */
CUresult graph_record_set(struct server_app *app, const struct server_graph *graph, uint32_t node,
                          struct server_graph_build *build);
/* A node of the executable is being switched on or off. */
CUresult graph_record_enable(struct server_app *app, const struct server_graph *graph,
                             uint32_t node, bool on);
/* NULL: nothing happens. */
void graph_record_free(struct server_app *app, struct made_graph *made);

#endif
