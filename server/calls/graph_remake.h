/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs are torn down in the driver and made again from their records. Submit thread
 * only. */
#ifndef SERVER_CALLS_GRAPH_REMAKE_H
#define SERVER_CALLS_GRAPH_REMAKE_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct server_app;
struct server_graph;

/* Whether it could be made again: not, if its calls name what the program has freed since. A graph
 * with conditional nodes is taken to. */
bool graph_can_be_remade(struct server_app *app, struct server_graph *graph);
/* Destroys what the driver has of it; the graph of its variables stays. */
CUresult graph_unmake(struct server_app *app, struct server_graph *graph);
/* Makes it again, in its context, which is current. A graph whose calls name what the program has
 * freed since cannot be made: it may be destroyed, but a launch fails. */
CUresult graph_remake(struct server_app *app, struct server_graph *graph);

#endif
