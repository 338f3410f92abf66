/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs as objects: made of plans, changed, destroyed. */
#include "softgpu/graph/graph.h"

#include <stdlib.h>

#include "front/front.h"
#include "softgpu/graph/graph_condition.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/stream/engines.h"

static struct ga_list execs; /* all; empty: never used */

/* ---- the end ---- */

static void level_drop(struct sg_graph_level *level)
{
    for (unsigned i = 0; i < level->count; i++) {
        struct sg_graph_node *node = &level->nodes[i];
        for (unsigned j = 0; j < node->body_count; j++) {
            level_drop(&node->bodies[j]);
        }
        sg_graph_what_drop(&node->what);
        free(node->bodies);
        free(node->after);
    }
    free(level->nodes);
}

static void change_drop(struct sg_graph_change *change)
{
    ga_list_remove(&change->link);
    sg_graph_what_drop(&change->what);
    free(change);
}

static void exec_free(struct sg_graph_exec *exec)
{
    ga_list_each (at, following, &exec->changes) {
        change_drop(ga_container(at, struct sg_graph_change, link));
    }
    for (unsigned i = 0; i < exec->condition_count; i++) {
        sg_condition_drop(exec->conditions[i]);
    }
    sg_graph_memory_leave(exec);
    level_drop(&exec->level);
    ga_list_remove(&exec->in_process);
    free(exec->by_number);
    free(exec->events);
    free(exec->conditions);
    free(exec->allocs);
    free(exec);
}

static CUresult end_run(struct sg_item *item)
{
    const struct sg_graph_exec *exec = item->owner;
    exec->gone(exec->gone_data);
    return CUDA_SUCCESS;
}

static void end_finished(struct sg_item *item, void *owner)
{
    sg_stream_drop(item->stream);
    exec_free(owner);
}

/* `gone` may run destructors of the program, so it runs without the lock. */
void sg_graph_launch_drop(struct sg_graph_exec *exec, struct sg_stream *stream)
{
    if (--exec->references != 0) {
        return;
    }
    exec->end = (struct sg_item){.kind = SG_ITEM_WORK,
                                 .engine = SG_ENGINE_HOST,
                                 .stream = stream,
                                 .run = end_run,
                                 .finished = end_finished,
                                 .owner = exec};
    ga_list_init(&exec->end.in_stream);
    ga_list_init(&exec->end.in_engine);
    sg_stream_hold(stream);
    sg_engine_push(&exec->end);
}

bool sg_graph_drop(struct sg_graph_exec *exec)
{
    if (--exec->references != 0) {
        return false;
    }
    exec_free(exec);
    return true;
}

void sg_graph_drop_context(struct sg_context *context)
{
    if (execs.next == NULL) {
        return;
    }
    ga_list_each (at, following, &execs) {
        struct sg_graph_exec *exec = ga_container(at, struct sg_graph_exec, in_process);
        for (unsigned i = 0; i < exec->node_count && !exec->dead; i++) {
            exec->dead = exec->by_number[i]->what.context == context;
        }
        for (unsigned i = 0; i < exec->condition_count && !exec->dead; i++) {
            exec->dead = exec->conditions[i]->context == context;
        }
        for (unsigned i = 0; i < exec->node_count && exec->dead; i++) {
            sg_graph_what_drop(&exec->by_number[i]->what);
        }
    }
}

/* ---- the beginning ---- */

/* Counts for one walk over a plan. */
struct totals {
    unsigned nodes, events, conditions, memory;
};

static void plan_count(const struct front_plan *plan, struct totals *totals)
{
    totals->nodes += plan->count;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_plan_node *node = &plan->nodes[i];
        int type = (int)node->params->type;
        totals->events +=
            type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || type == CU_GRAPH_NODE_TYPE_WAIT_EVENT;
        totals->conditions += type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
        totals->memory +=
            type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
        for (unsigned j = 0; j < node->body_count; j++) {
            plan_count(&node->bodies[j], totals);
        }
    }
}

static CUresult exec_level_make(struct sg_graph_exec *exec, const struct front_plan *plan,
                                struct sg_graph_node *owner, struct sg_graph_level *level);

static CUresult exec_conditional_make(struct sg_graph_exec *exec,
                                      const struct front_plan_node *from,
                                      struct sg_graph_node *node)
{
    const struct front_conditional_node *said = &from->params->conditional;
    struct sg_condition *condition = sg_condition_find(said->handle);
    if (condition == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sg_condition_hold(condition);
    exec->conditions[exec->condition_count++] = condition;
    node->condition = condition;
    node->type = said->type;
    node->bodies = calloc(from->body_count, sizeof *node->bodies);
    if (node->bodies == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < from->body_count; i++) {
        node->body_count++;
        rc = exec_level_make(exec, &from->bodies[i], node, &node->bodies[i]);
    }
    return rc;
}

static CUresult exec_memory_make(struct sg_graph_exec *exec, const struct front_node_params *params)
{
    bool frees = params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    struct sg_graph_memory *memory =
        sg_graph_memory_find(frees ? params->free : params->alloc.wanted.dptr);
    if (memory == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    exec->allocs[exec->alloc_count++] =
        (struct front_graph_alloc){.frees = frees, .block = sg_graph_memory_hold(memory)};
    return CUDA_SUCCESS;
}

static CUresult node_make(struct sg_graph_exec *exec, const struct front_plan_node *from,
                          struct sg_graph_level *level, struct sg_graph_node *node)
{
    node->exec = exec;
    node->level = level;
    node->before = from->after_count;
    exec->by_number[from->number] = node;
    for (unsigned i = 0; i < from->after_count; i++) {
        level->nodes[from->after[i]].after_count++;
    }
    CU_TRY(sg_graph_what_make(from->params, &node->what));
    switch ((int)from->params->type) {
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        exec->events[exec->event_count++] = node;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return exec_conditional_make(exec, from, node);
    default:
        return CUDA_SUCCESS;
    }
}

/* The edges in the other direction: each node knows the nodes that wait for it. */
static CUresult edges_make(const struct front_plan *plan, struct sg_graph_level *level)
{
    for (unsigned i = 0; i < plan->count; i++) {
        struct sg_graph_node *node = &level->nodes[i];
        node->after = calloc((size_t)node->after_count + 1, sizeof *node->after);
        if (node->after == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        node->after_count = 0;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        for (unsigned j = 0; j < plan->nodes[i].after_count; j++) {
            struct sg_graph_node *before = &level->nodes[plan->nodes[i].after[j]];
            before->after[before->after_count++] = i;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult exec_level_make(struct sg_graph_exec *exec, const struct front_plan *plan,
                                struct sg_graph_node *owner, struct sg_graph_level *level)
{
    level->owner = owner;
    level->nodes = calloc((size_t)plan->count + 1, sizeof *level->nodes);
    if (level->nodes == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    level->count = plan->count;
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        rc = node_make(exec, &plan->nodes[i], level, &level->nodes[i]);
    }
    return rc == CUDA_SUCCESS ? edges_make(plan, level) : rc;
}

/* Memory first, so that copies to it find it. */
static CUresult memory_collect(struct sg_graph_exec *exec, const struct front_plan *plan)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        int type = (int)plan->nodes[i].params->type;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
            rc = exec_memory_make(exec, plan->nodes[i].params);
        }
    }
    return rc == CUDA_SUCCESS ? sg_graph_memory_map(exec) : rc;
}

CUresult sg_graph_make(const struct front_plan *plan, uint64_t flags, struct sg_graph_exec **exec)
{
    struct totals totals = {0};
    plan_count(plan, &totals);
    struct sg_graph_exec *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (execs.next == NULL) {
        ga_list_init(&execs);
    }
    ga_list_init(&made->changes);
    ga_list_append(&execs, &made->in_process);
    made->references = 1;
    made->flags = flags;
    made->node_count = totals.nodes;
    made->by_number = calloc((size_t)totals.nodes + 1, sizeof(struct sg_graph_node *));
    made->events = calloc((size_t)totals.events + 1, sizeof(struct sg_graph_node *));
    made->conditions = calloc((size_t)totals.conditions + 1, sizeof(struct sg_condition *));
    made->allocs = calloc((size_t)totals.memory + 1, sizeof *made->allocs);
    CUresult rc = made->by_number != NULL && made->events != NULL && made->conditions != NULL &&
                          made->allocs != NULL
                      ? memory_collect(made, plan)
                      : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc == CUDA_SUCCESS) {
        rc = exec_level_make(made, plan, NULL, &made->level);
    }
    if (rc != CUDA_SUCCESS) {
        exec_free(made);
        return rc;
    }
    sg_graph_memory_unmap(made); /* it was mapped for the checks only */
    *exec = made;
    return CUDA_SUCCESS;
}

/* ---- changes ---- */

static void change_apply(struct sg_graph_change *change)
{
    struct sg_graph_node *node = change->node;
    if (change->enables) {
        node->off = change->off;
    } else {
        struct sg_graph_what before = node->what;
        node->what = change->what;
        change->what = before;
    }
    change_drop(change);
}

void sg_graph_changes_apply(struct sg_graph_exec *exec, uint64_t ticket)
{
    ga_list_each (at, following, &exec->changes) {
        struct sg_graph_change *change = ga_container(at, struct sg_graph_change, link);
        if (change->ticket > ticket) {
            break;
        }
        change_apply(change);
    }
}

const struct sg_graph_what *sg_graph_what_last(const struct sg_graph_node *node)
{
    const struct sg_graph_what *last = &node->what;
    ga_list_each (at, following, &node->exec->changes) {
        const struct sg_graph_change *change = ga_container(at, struct sg_graph_change, link);
        if (change->node == node && !change->enables) {
            last = &change->what;
        }
    }
    return last;
}

/* Takes over the objects that the change holds. */
static CUresult change_add(struct sg_graph_exec *exec, const struct sg_graph_change *change)
{
    struct sg_graph_change *made = malloc(sizeof *made);
    if (made == NULL) {
        struct sg_graph_what what = change->what;
        sg_graph_what_drop(&what);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = *change;
    made->ticket = exec->launched + 1;
    ga_list_append(&exec->changes, &made->link);
    if (exec->launched == exec->done) {
        sg_graph_changes_apply(exec, made->ticket);
    }
    return CUDA_SUCCESS;
}

CUresult sg_graph_set(struct sg_graph_exec *exec, unsigned number,
                      const struct front_node_params *params)
{
    struct sg_graph_change change = {.node = exec->by_number[number]};
    CUresult rc = exec->dead ? CUDA_ERROR_CONTEXT_IS_DESTROYED : sg_graph_memory_map(exec);
    if (rc == CUDA_SUCCESS) {
        rc = sg_graph_what_make(params, &change.what);
        sg_graph_memory_unmap(exec);
    }
    return rc == CUDA_SUCCESS ? change_add(exec, &change) : rc;
}

CUresult sg_graph_enable(struct sg_graph_exec *exec, unsigned number, bool on)
{
    const struct sg_graph_change change = {
        .node = exec->by_number[number], .enables = true, .off = !on};
    return change_add(exec, &change);
}
