/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs. A launch is one item of its stream: when its turn has come, the nodes that
 * depend on nothing go to the engines, and each that has run sends those for which it was the last
 * to wait for. The item is done with the last node.
 *
 * Nodes' items are made when the executable is, and run again with every launch: launches of one
 * executable run one after the other. What is changed between launches waits for those that were
 * made before. All functions want the process's lock held unless they say otherwise. */
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
    unsigned before;      /* on how many nodes it depends */
    unsigned after_count; /* which depend on it: positions in the level */
    unsigned *after;
    bool off; /* is as one that does nothing */
    /* Of a conditional node. */
    struct sg_condition *condition; /* held by the executable */
    CUgraphConditionalNodeType type;
    unsigned body_count;
    struct sg_graph_level *bodies;
    /* While a launch runs. */
    unsigned left;              /* of those before */
    struct sg_graph_node *next; /* in the list of what is ready, or waits */
    struct sg_mark *mark;       /* RECORD, WAIT: of this launch */
    unsigned step;              /* VALUES: done so far */
    uint64_t since_ns;
    uint64_t ready_ns; /* by the timing model: when those before it are over */
};

/* The nodes of a plan. */
struct sg_graph_level {
    struct sg_graph_node *owner; /* the conditional node that this is a body of; or NULL */
    unsigned count, left;        /* `left`: not done in this launch */
    struct sg_graph_node *nodes;
    uint64_t end_ns; /* by the timing model: when those that are done were over */
};

/* Something about a node that later launches see. */
struct sg_graph_change {
    struct ga_list link;
    uint64_t ticket; /* of the first launch that sees it */
    struct sg_graph_node *node;
    bool enables; /* `off` changes; else what it does */
    bool off;
    struct sg_graph_what what;
};

struct sg_graph_exec {
    struct ga_list in_process;
    unsigned references; /* the owner's, and launches that are not done */
    uint64_t flags;
    struct sg_graph_level level;
    unsigned node_count;
    struct sg_graph_node **by_number;
    unsigned event_count; /* nodes of events, in an order that fits */
    struct sg_graph_node **events;
    unsigned condition_count;
    struct sg_condition **conditions; /* held */
    unsigned alloc_count;
    struct front_graph_alloc *allocs; /* what its nodes allocate and free, in an order that fits */
    struct ga_list changes;
    uint64_t launched, done;     /* tickets */
    struct sg_graph_launch *now; /* the one that runs */
    unsigned running;            /* items that engines have */
    struct sg_graph_node *waiting;
    uint64_t until_ns; /* by the timing model: when the last launch was over */
    bool dead;         /* a context of its nodes is gone */
    struct sg_item end;
    void (*gone)(void *);
    void *gone_data;
};

CUresult sg_graph_make(const struct front_plan *plan, uint64_t flags, struct sg_graph_exec **exec);
CUresult sg_graph_set(struct sg_graph_exec *exec, unsigned number,
                      const struct front_node_params *params);
CUresult sg_graph_enable(struct sg_graph_exec *exec, unsigned number, bool on);

/* Gives the owner's reference back. True: there was no other, so `gone` is the caller's to call. */
bool sg_graph_drop(struct sg_graph_exec *exec);

/* Gives back that of a launch in that stream; where it was the last, `gone` will be called. */
void sg_graph_launch_drop(struct sg_graph_exec *exec, struct sg_stream *stream);

/* Before a launch runs: what was changed before it was made. */
void sg_graph_changes_apply(struct sg_graph_exec *exec, uint64_t ticket);

/* What the next launch will have it do. */
const struct sg_graph_what *sg_graph_what_last(const struct sg_graph_node *node);

/* Executables cannot be launched any more if a node of theirs is of that context, in which nothing
 * runs. */
void sg_graph_drop_context(struct sg_context *context);

#endif
