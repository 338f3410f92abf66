/* SPDX-License-Identifier: Apache-2.0 */
/* References of graphs to user objects. Within front/ only; under the graphs' lock unless it says
 * otherwise. */
#ifndef FRONT_GRAPH_USER_OBJECT_H
#define FRONT_GRAPH_USER_OBJECT_H

#include "front/graph/graph_model.h"

CUresult front_objects_copy(const struct front_graph *from, struct front_graph *to);
void front_objects_drop(struct front_graph *graph);
/* Collects the objects without references. `end`, without the lock, calls their destructors. */
void front_objects_take(struct ga_list *taken);
void front_objects_end(struct ga_list *taken);

#endif
