/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs with conditional nodes, and the variables of those. */
#ifndef SERVER_CALLS_GRAPH_CONDITION_H
#define SERVER_CALLS_GRAPH_CONDITION_H

#include <stdint.h>

#include "api/cuda_names.h"

struct cuda_driver_places;
struct server_condition_graph;
struct server_app;
struct server_context;

/* The graph is not captured to, and no executable is of it, any more: it loses its nodes. */
void condition_graph_free(struct server_app *app, struct server_condition_graph *of);
/* Frees the variables of conditional nodes. No capture and no executable graph uses them any more.
 */
void conditions_free(struct server_app *app, struct server_context *context);
/* The driver's graphs that variables belong to are destroyed, no executable being left; and made
 * again, empty, with the variables, which get the handles they had, because kernels have them. */
CUresult conditions_unmake(struct server_app *app, const struct cuda_driver_places *places);
CUresult conditions_remake(struct server_app *app, const struct cuda_driver_places *places);
/* The client's number for it, and the driver's graph. */
uint64_t condition_graph_number(const struct server_condition_graph *of);
CUgraph condition_graph_real(const struct server_condition_graph *of);

#endif
