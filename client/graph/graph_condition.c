/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of conditional nodes. The handle is the driver's, because kernels have it: making
 * one waits for the server. There it belongs to the graph that will have the node, which begins
 * with its first variable.
 *
 * What a reader would get wrong: as with memory (graph_memory.c), who drops one may not wait, nor
 * even send: it is put aside. */
#include <pthread.h>
#include <stdlib.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/list.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/graph/graph.h"
#include "client/session/session.h"

struct condition {
    struct ga_list at; /* `all`, or `aside` */
    CUcontext context;
    CUgraphConditionalHandle handle; /* of no other one in this context, but from before a reset */
    uint64_t number, graph;
    struct client_session *session;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list all = {&all, &all}, aside = {&aside, &aside};

/* With the lock: the newest one; `graph` NULL: of any. */
static struct condition *condition_find(CUcontext context, const uint64_t *graph,
                                        CUgraphConditionalHandle handle)
{
    struct condition *found = NULL;
    ga_list_each (at, following, &all) {
        struct condition *condition = ga_container(at, struct condition, at);
        if (condition->context == context && condition->handle == handle &&
            (graph == NULL || condition->graph == *graph)) {
            found = condition;
        }
    }
    return found;
}

CUresult client_graph_condition_make(CUcontext handle, uint64_t graph, unsigned value,
                                     bool assigned, CUgraphConditionalHandle *made)
{
    struct client_call call;
    struct client_context *context;
    static _Atomic uint64_t last;
    const struct ga_graph_condition_args args = {.condition = atomic_fetch_add(&last, 1) + 1,
                                                 .graph = graph,
                                                 .value = value,
                                                 .flags =
                                                     assigned ? CU_GRAPH_COND_ASSIGN_DEFAULT : 0};
    struct ga_graph_condition_results results;
    client_graph_condition_tidy();
    CUresult rc = client_context_find(handle, &context);
    if (rc == CUDA_SUCCESS && !atomic_load(&context->active)) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    struct condition *condition = rc == CUDA_SUCCESS ? calloc(1, sizeof *condition) : NULL;
    if (condition == NULL) {
        return rc == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : rc;
    }
    rc = client_call_enter_in(&call, API_OP_ga_graph_condition, context);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_graph_condition(&call, &args, true, &results);
    }
    if (rc != CUDA_SUCCESS) {
        free(condition);
        return rc;
    }
    condition->context = handle;
    condition->handle = results.handle;
    condition->number = args.condition;
    condition->graph = graph;
    condition->session = context->session;
    *made = condition->handle;
    pthread_mutex_lock(&lock);
    ga_list_append(&all, &condition->at);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

void client_graph_condition_drop(CUcontext context, uint64_t graph, CUgraphConditionalHandle handle)
{
    pthread_mutex_lock(&lock);
    struct condition *condition = condition_find(context, &graph, handle);
    if (condition != NULL) {
        ga_list_remove(&condition->at);
        ga_list_append(&aside, &condition->at);
    }
    pthread_mutex_unlock(&lock);
}

bool client_graph_condition_numbers(CUcontext context, CUgraphConditionalHandle handle,
                                    uint64_t *number, uint64_t *graph)
{
    pthread_mutex_lock(&lock);
    const struct condition *condition = condition_find(context, NULL, handle);
    if (condition != NULL) {
        *number = condition->number;
        *graph = condition->graph;
    }
    pthread_mutex_unlock(&lock);
    return condition != NULL;
}

/* Nobody waits. */
static void tell_dropped(const struct condition *condition)
{
    struct client_call call;
    const struct ga_graph_condition_drop_args args = {.condition = condition->number};
    if (client_call_enter_session(&call, API_OP_ga_graph_condition_drop, condition->session) ==
        CUDA_SUCCESS) {
        (void)client_post_ga_graph_condition_drop(&call, &args);
    }
}

void client_graph_condition_tidy(void)
{
    while (!client_call_exiting()) {
        pthread_mutex_lock(&lock);
        struct ga_list *first = aside.next;
        if (first != &aside) {
            ga_list_remove(first);
        }
        pthread_mutex_unlock(&lock);
        if (first == &aside) {
            return;
        }
        struct condition *condition = ga_container(first, struct condition, at);
        tell_dropped(condition);
        free(condition);
    }
}
