/* SPDX-License-Identifier: Apache-2.0 */
/* One launch of an executable graph. Ready nodes are kept in a list, so that long chains of nodes
 * that need no engine, and loops, need no stack. By the timing model a node begins when its
 * predecessors are over, even if this process notices it later. */
#include "softgpu/graph/graph_run.h"

#include <stdlib.h>

#include "base/clock.h"
#include "softgpu/graph/graph.h"
#include "softgpu/graph/graph_condition.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/engines.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/shared_events.h"

struct sg_graph_launch {
    struct sg_item item;        /* first */
    struct sg_graph_exec *exec; /* held */
    uint64_t ticket;
    bool begun;
    struct sg_mark *marks[]; /* of the nodes of events; held */
};

/* ---- what is ready ---- */

struct ready {
    struct sg_graph_node *first;
    bool news; /* true: something changed for other streams */
};

static void ready_add(struct ready *ready, struct sg_graph_node *node)
{
    node->next = ready->first;
    ready->first = node;
}

static uint64_t run_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Makes its roots ready; false: there are none, so it is done. */
static bool level_begin(struct sg_graph_level *level, struct ready *ready, uint64_t ns)
{
    level->left = level->count;
    level->end_ns = ns;
    for (unsigned i = level->count; i-- > 0;) {
        struct sg_graph_node *node = &level->nodes[i];
        node->left = node->before;
        node->step = 0;
        node->since_ns = 0;
        node->ready_ns = ns;
        if (node->before == 0) {
            ready_add(ready, node);
        }
    }
    return level->count != 0;
}

/* Begins the body that the condition selects; false: none, or one without nodes. */
static bool body_begin(struct sg_graph_node *node, struct ready *ready, uint64_t ns)
{
    unsigned value = sg_condition_value(node->condition), body;
    switch ((int)node->type) {
    case CU_GRAPH_COND_TYPE_IF:
        body = value != 0 ? 0 : 1;
        break;
    case CU_GRAPH_COND_TYPE_WHILE:
        body = value != 0 ? 0 : node->body_count;
        break;
    default: /* SWITCH */
        body = value;
        break;
    }
    return body < node->body_count && level_begin(&node->bodies[body], ready, ns);
}

/* Ends the node, and those levels and conditional nodes that end with it. */
static void node_done(struct sg_graph_node *node, struct ready *ready, uint64_t ns)
{
    for (;;) {
        struct sg_graph_level *level = node->level;
        level->end_ns = run_later(level->end_ns, ns);
        for (unsigned i = 0; i < node->after_count; i++) {
            struct sg_graph_node *after = &level->nodes[node->after[i]];
            after->ready_ns = run_later(after->ready_ns, ns);
            if (--after->left == 0) {
                ready_add(ready, after);
            }
        }
        if (--level->left != 0 || level->owner == NULL) {
            return;
        }
        node = level->owner;
        ns = level->end_ns;
        if (node->type == CU_GRAPH_COND_TYPE_WHILE && body_begin(node, ready, ns)) {
            return;
        }
    }
}

/* ---- nodes that are done at once, or wait ---- */

static bool values_done(struct sg_graph_node *node)
{
    while (node->step < node->what.count &&
           sg_value_try(&node->what.values[node->step], &node->since_ns)) {
        node->step++;
        node->since_ns = 0;
    }
    return node->step == node->what.count || atomic_load(&sg_process.condemned) != 0;
}

static void run_record(struct sg_graph_node *node, struct ready *ready)
{
    bool timed = sg_clock_runs(node->exec->now->item.stream->context->device);
    node->mark->time_ns = timed ? node->ready_ns : ga_clock_ns();
    sg_mark_set_done(node->mark);
    ready->news = true;
}

static void work_finished(struct sg_item *item, void *owner);

static void work_begin(struct sg_graph_node *node)
{
    struct sg_graph_exec *exec = node->exec;
    struct sg_item *item = node->what.item;
    bool by_node = (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
    item->stream = node->what.stream != NULL ? node->what.stream : exec->now->item.stream;
    item->priority =
        by_node ? (node->what.prioritised ? node->what.priority : 0) : exec->now->item.priority;
    item->owner = node;
    item->finished = work_finished;
    item->submitted_ns = node->ready_ns;
    item->end_ns = 0;
    exec->running++;
    sg_engine_push(item);
}

/* True: the node is done. */
static bool node_begin(struct sg_graph_node *node, struct ready *ready)
{
    if (node->off) {
        return true;
    }
    switch (node->what.kind) {
    case SG_GRAPH_WORK:
        if (node->what.item != NULL) {
            work_begin(node);
        }
        return node->what.item == NULL;
    case SG_GRAPH_RECORD:
        run_record(node, ready);
        return true;
    case SG_GRAPH_WAIT:
        return node->mark == NULL || sg_mark_passed(node->mark);
    case SG_GRAPH_VALUES:
        return values_done(node);
    case SG_GRAPH_CONDITION:
        return !body_begin(node, ready, node->ready_ns);
    default:
        return true;
    }
}

/* The time at which a node that needs no engine was over. */
static uint64_t node_ns(const struct sg_graph_node *node)
{
    switch (node->off ? SG_GRAPH_NOTHING : node->what.kind) {
    case SG_GRAPH_WAIT:
        return node->mark != NULL ? run_later(node->ready_ns, node->mark->time_ns) : node->ready_ns;
    case SG_GRAPH_VALUES:
        return run_later(node->ready_ns, ga_clock_ns());
    default:
        return node->ready_ns;
    }
}

static bool node_polls(const struct sg_graph_node *node)
{
    return node->what.kind == SG_GRAPH_WAIT || node->what.kind == SG_GRAPH_VALUES;
}

static void ready_run(struct sg_graph_exec *exec, struct ready *ready)
{
    while (ready->first != NULL && atomic_load(&sg_process.condemned) == 0) {
        struct sg_graph_node *node = ready->first;
        ready->first = node->next;
        if (node_begin(node, ready)) {
            node_done(node, ready, node_ns(node));
        } else if (node_polls(node)) {
            node->next = exec->waiting;
            exec->waiting = node;
        }
    }
}

/* ---- the launch ---- */

static void work_finished(struct sg_item *item, void *owner)
{
    struct sg_graph_node *node = owner;
    struct sg_graph_exec *exec = node->exec;
    struct ready ready = {0};
    item->state = SG_ITEM_PENDING;
    exec->running--;
    node_done(node, &ready, item->end_ns != 0 ? item->end_ns : ga_clock_ns());
    ready_run(exec, &ready);
    if (ready.news || exec->level.left == 0 || atomic_load(&sg_process.condemned) != 0) {
        sg_schedule();
    }
}

static void launch_begin(struct sg_graph_launch *launch, struct ready *ready)
{
    struct sg_graph_exec *exec = launch->exec;
    launch->begun = true;
    exec->now = launch;
    sg_graph_changes_apply(exec, launch->ticket);
    for (unsigned i = 0; i < exec->condition_count; i++) {
        sg_condition_assign(exec->conditions[i]);
    }
    for (unsigned i = 0; i < exec->event_count; i++) {
        exec->events[i]->mark = launch->marks[i];
    }
    const struct sg_item *item = &launch->item;
    uint64_t ns = sg_clock_runs(item->stream->context->device)
                      ? run_later(item->submitted_ns, sg_clock_of(item->stream))
                      : ga_clock_ns();
    (void)level_begin(&exec->level, ready, run_later(ns, exec->until_ns));
}

static bool launch_step(struct sg_item *item)
{
    struct sg_graph_launch *launch = ga_container(item, struct sg_graph_launch, item);
    struct sg_graph_exec *exec = launch->exec;
    struct ready ready = {0};
    if (!launch->begun) {
        if (launch->ticket != exec->done + 1) {
            return false; /* an earlier launch, in another stream, is not done */
        }
        launch_begin(launch, &ready);
    } else {
        ready.first = exec->waiting;
        exec->waiting = NULL;
    }
    ready_run(exec, &ready);
    if (ready.news) {
        sg_schedule_again();
    }
    if (exec->level.left != 0) {
        return false;
    }
    exec->until_ns = exec->level.end_ns;
    sg_clock_advance(item->stream, exec->until_ns);
    return true;
}

/* Called when the process is condemned. */
static bool launch_give_up(struct sg_item *item)
{
    const struct sg_graph_launch *launch = ga_container(item, struct sg_graph_launch, item);
    struct sg_graph_exec *exec = launch->exec;
    if (!launch->begun) {
        return false;
    }
    for (unsigned i = 0; i < exec->node_count; i++) {
        struct sg_item *work = exec->by_number[i]->what.item;
        if (work != NULL && work->state == SG_ITEM_QUEUED) {
            sg_engine_remove(work);
            work->state = SG_ITEM_PENDING;
            exec->running--;
        }
    }
    return exec->running != 0;
}

static void run_launch_drop(struct sg_item *item)
{
    struct sg_graph_launch *launch = ga_container(item, struct sg_graph_launch, item);
    struct sg_graph_exec *exec = launch->exec;
    exec->done++;
    if (exec->now == launch) {
        exec->now = NULL;
        exec->waiting = NULL;
    }
    for (unsigned i = 0; i < exec->event_count; i++) {
        sg_mark_drop(launch->marks[i]);
    }
    sg_graph_launch_drop(exec, item->stream);
    sg_schedule_again(); /* for the next launch, in another stream */
}

/* New marks for record nodes, before anything is changed. */
static CUresult run_marks_make(struct sg_graph_launch *launch)
{
    const struct sg_graph_exec *exec = launch->exec;
    for (unsigned i = 0; i < exec->event_count; i++) {
        const struct sg_graph_what *what = sg_graph_what_last(exec->events[i]);
        if (ga_handle_table_find(&sg_process.events, what->event) == NULL) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        launch->marks[i] = what->kind == SG_GRAPH_RECORD ? sg_mark_make() : NULL;
        if (launch->marks[i] == NULL && what->kind == SG_GRAPH_RECORD) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

/* Gives events their meaning in this launch: a wait means the recording before the launch, or the
 * one by an earlier node. */
static void marks_use(struct sg_graph_launch *launch)
{
    const struct sg_graph_exec *exec = launch->exec;
    for (unsigned i = 0; i < exec->event_count; i++) {
        const struct sg_graph_what *what = sg_graph_what_last(exec->events[i]);
        struct sg_event *event = ga_handle_table_find(&sg_process.events, what->event);
        if (what->kind == SG_GRAPH_RECORD) {
            sg_mark_drop(event->mark);
            event->mark = launch->marks[i];
            sg_mark_number(event->mark, event);
        } else {
            sg_event_refresh(event);
            launch->marks[i] = event->mark;
        }
        if (event->mark != NULL) {
            sg_mark_hold(event->mark);
        }
    }
}

static void launch_unmake(struct sg_graph_launch *launch)
{
    for (unsigned i = 0; i < launch->exec->event_count; i++) {
        sg_mark_drop(launch->marks[i]);
    }
    free(launch);
}

CUresult sg_graph_launch(struct sg_graph_exec *exec, struct sg_stream *stream)
{
    if (exec->dead) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    struct sg_graph_launch *launch =
        sg_item_make(sizeof *launch + exec->event_count * sizeof(void *), GPU_COMPUTE, NULL);
    if (launch == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    launch->exec = exec;
    CUresult rc = run_marks_make(launch);
    if (rc == CUDA_SUCCESS) {
        rc = sg_graph_memory_launch(exec);
    }
    if (rc != CUDA_SUCCESS) {
        launch_unmake(launch);
        return rc;
    }
    marks_use(launch);
    exec->references++;
    launch->ticket = ++exec->launched;
    launch->item.kind = SG_ITEM_STEPS;
    launch->item.step = launch_step;
    launch->item.give_up = launch_give_up;
    launch->item.drop = run_launch_drop;
    sg_submit(stream, &launch->item);
    return CUDA_SUCCESS;
}
