/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs. A launch is one item of its stream: when its turn has come, the nodes without
 * predecessors go to the engines, and each finished node sends those successors that waited for it
 * last. The item is done with the last node.
 *
 * The items of nodes are made with the executable and run again in every launch; launches of one
 * executable run one after the other. A change between launches waits for the launches made before
 * it. All functions want the process's lock held unless they say otherwise. */
#ifndef SOFTGPU_GRAPH_GRAPH_H
#define SOFTGPU_GRAPH_GRAPH_H

#include <stdbool.h>

#include "base/number_map.h"
#include "front/front.h"
#include "softgpu/graph/graph_node.h"
#include "softgpu/stream/queue.h"

struct sg_condition;
struct sg_graph_exec;
struct sg_graph_launch;
struct sg_graph_level;
struct sg_mark;

struct sg_graph_node {
    struct sg_graph_what what;
    struct sg_graph_exec *exec;
    struct sg_graph_level *level;
    unsigned before;      /* number of predecessors */
    unsigned after_count; /* number of successors; `after`: their positions in the level */
    unsigned *after;
    bool off; /* disabled: it does nothing */
    /* A conditional node has these. */
    struct sg_condition *condition; /* held by the executable */
    CUgraphConditionalNodeType type;
    unsigned body_count;
    struct sg_graph_level *bodies;
    /* State of a launch that runs. */
    unsigned left;              /* predecessors that are not done */
    struct sg_graph_node *next; /* in the list of ready or waiting nodes */
    struct sg_mark *mark;       /* RECORD, WAIT: of this launch */
    unsigned step;              /* VALUES: done so far */
    uint64_t since_ns;
    uint64_t ready_ns; /* by the timing model: when its predecessors were over */
};

/* The nodes of a plan. */
struct sg_graph_level {
    struct sg_graph_node *owner; /* the conditional node whose body this is; or NULL */
    unsigned count, left;        /* `left`: not done in this launch */
    struct sg_graph_node *nodes;
    uint64_t end_ns; /* by the timing model: when its finished nodes were over */
};

/* A change of a node, for later launches. */
struct sg_graph_change {
    struct ga_list link;
    uint64_t ticket; /* of the first launch that sees it */
    struct sg_graph_node *node;
    bool enables; /* `off` changes; otherwise `what` */
    bool off;
    struct sg_graph_what what;
};

struct sg_graph_exec {
    struct ga_list in_process;
    unsigned references; /* of the owner, and of launches that are not done */
    uint64_t flags;
    struct sg_graph_level level;
    unsigned node_count;
    struct sg_graph_node **by_number;
    unsigned event_count; /* nodes with events, in topological order */
    struct sg_graph_node **events;
    unsigned condition_count;
    struct sg_condition **conditions; /* held */
    unsigned alloc_count;
    struct front_graph_alloc *allocs; /* allocations and frees of its nodes, in topological order */
    struct ga_list changes;
    uint64_t launched, done;     /* tickets */
    struct sg_graph_launch *now; /* the running one */
    unsigned running;            /* items that engines have */
    struct sg_graph_node *waiting;
    uint64_t until_ns; /* by the timing model: when the last launch was over */
    bool dead;         /* a context of its nodes is destroyed */
    struct sg_item end;
    void (*gone)(void *);
    void *gone_data;
};

CUresult sg_graph_make(const struct front_plan *plan, uint64_t flags, struct sg_graph_exec **exec);
CUresult sg_graph_set(struct sg_graph_exec *exec, unsigned number,
                      const struct front_node_params *params);
CUresult sg_graph_enable(struct sg_graph_exec *exec, unsigned number, bool on);

/* Drops the owner's reference. True: it was the last one, and the caller has to call `gone`. */
bool sg_graph_drop(struct sg_graph_exec *exec);

/* Drops the reference of a launch in that stream; after the last one `gone` will be called. */
void sg_graph_launch_drop(struct sg_graph_exec *exec, struct sg_stream *stream);

/* Applies the changes made before the launch, before it runs. */
void sg_graph_changes_apply(struct sg_graph_exec *exec, uint64_t ticket);

/* The work of the node in the next launch. */
const struct sg_graph_what *sg_graph_what_last(const struct sg_graph_node *node);

/* Executables with a node in that context, in which nothing runs, cannot be launched any more. */
void sg_graph_drop_context(struct sg_context *context);

#endif
