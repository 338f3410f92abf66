/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs with conditional nodes, and the variables of those. */
#ifndef SERVER_CALLS_GRAPH_CONDITION_H
#define SERVER_CALLS_GRAPH_CONDITION_H

#include "api/cuda_names.h"

struct server_condition_graph;
struct server_conn;
struct server_context;

/* The graph is not captured to, and no executable is of it, any more: it loses its nodes. */
void condition_graph_free(struct server_conn *conn, struct server_condition_graph *of);
/* Frees the variables of conditional nodes. No capture and no executable graph uses them any more.
 */
void conditions_free(struct server_conn *conn, struct server_context *context);
/* It, for the driver. */
CUgraph condition_graph_real(const struct server_condition_graph *of);

#endif
