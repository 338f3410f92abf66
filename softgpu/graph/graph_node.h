/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a node of an executable graph, made of the parameters of the call. All functions want
 * the process's lock held. */
#ifndef SOFTGPU_GRAPH_GRAPH_NODE_H
#define SOFTGPU_GRAPH_GRAPH_NODE_H

#include <stdbool.h>

#include "front/front.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/values.h"

enum sg_graph_kind {
    SG_GRAPH_NOTHING,
    SG_GRAPH_WORK,
    SG_GRAPH_RECORD,
    SG_GRAPH_WAIT,
    SG_GRAPH_VALUES,
    SG_GRAPH_CONDITION
};

/* The work of a node after the last change of its parameters. Empty: none. */
struct sg_graph_what {
    enum sg_graph_kind kind;
    struct sg_item *item;       /* WORK: owned; NULL: there is nothing to do */
    struct sg_stream *stream;   /* WORK: a stream of the context it runs in; held */
    struct sg_context *context; /* WORK that needs a context: held */
    bool prioritised;
    int priority;
    uint64_t event; /* RECORD, WAIT: handle */
    unsigned count; /* VALUES */
    struct sg_value *values;
};

/* Checks the parameters and makes the node's work of them. */
CUresult sg_graph_what_make(const struct front_node_params *params, struct sg_graph_what *what);
void sg_graph_what_drop(struct sg_graph_what *what);

#endif
