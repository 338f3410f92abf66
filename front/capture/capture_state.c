/* SPDX-License-Identifier: Apache-2.0 */
/* The state of capture: captures, their streams and events. Few of each exist at a time, so they
 * are lists. */
#include "front/capture/capture_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "front/capture/capture.h"
#include "front/front.h"
#include "front/graph/graph_add.h"

struct ga_list capture_all = {&capture_all, &capture_all};
struct ga_list capture_streams = {&capture_streams, &capture_streams};
struct ga_list capture_events = {&capture_events, &capture_events};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void capture_lock(void)
{
    pthread_mutex_lock(&lock);
}

CUresult capture_unlock(CUresult rc)
{
    pthread_mutex_unlock(&lock);
    return rc;
}

const void *capture_thread(void)
{
    static _Thread_local char thread; /* its address identifies the thread */
    return &thread;
}

/* ---- sets ---- */

bool capture_set_has(const struct capture_set *set, CUgraphNode node)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->nodes[i] == node) {
            return true;
        }
    }
    return false;
}

bool capture_set_add(struct capture_set *set, CUgraphNode node, const CUgraphEdgeData *edge)
{
    if (capture_set_has(set, node)) {
        return true;
    }
    if (set->count == set->room) {
        size_t room = set->room != 0 ? set->room * 2 : 4;
        CUgraphNode *nodes = realloc(set->nodes, room * sizeof *nodes);
        set->nodes = nodes != NULL ? nodes : set->nodes;
        CUgraphEdgeData *edges = nodes != NULL ? realloc(set->edges, room * sizeof *edges) : NULL;
        if (edges == NULL) {
            return false;
        }
        set->edges = edges;
        set->room = room;
    }
    set->nodes[set->count] = node;
    set->edges[set->count++] = edge != NULL ? *edge : (CUgraphEdgeData){0};
    return true;
}

bool capture_set_join(struct capture_set *set, const struct capture_set *other)
{
    for (size_t i = 0; i < other->count; i++) {
        if (!capture_set_add(set, other->nodes[i], &other->edges[i])) {
            return false;
        }
    }
    return true;
}

void capture_set_free(struct capture_set *set)
{
    free(set->nodes);
    free(set->edges);
    *set = (struct capture_set){0};
}

/* ---- streams and captures ---- */

CUresult capture_key(CUstream handle, uint64_t *key)
{
    if (handle != CU_STREAM_PER_THREAD) {
        *key = handle == CU_STREAM_LEGACY ? 0 : (uint64_t)(uintptr_t)handle;
        return CUDA_SUCCESS;
    }
    CUcontext context;
    unsigned long long id;
    CUresult rc = front_context_need(&context);
    if (rc == CUDA_SUCCESS) {
        rc = front_host.stream_id(context, handle, &id);
    }
    if (rc == CUDA_SUCCESS) {
        *key = ~(uint64_t)id; /* no handle */
    }
    return rc;
}

struct capture_stream *capture_find(uint64_t key)
{
    ga_list_each (at, following, &capture_streams) {
        struct capture_stream *stream = ga_container(at, struct capture_stream, of_all);
        if (stream->key == key) {
            return stream;
        }
    }
    return NULL;
}

struct capture *capture_of(cuuint64_t id)
{
    ga_list_each (at, following, &capture_all) {
        struct capture *capture = ga_container(at, struct capture, of_all);
        if (capture->id == id) {
            return capture;
        }
    }
    return NULL;
}

CUresult capture_implicit(bool invalidate)
{
    CUresult rc = CUDA_SUCCESS;
    ga_list_each (at, following, &capture_streams) {
        struct capture_stream *stream = ga_container(at, struct capture_stream, of_all);
        if (stream->blocking && stream->context == front_context_current()) {
            stream->capture->invalid = stream->capture->invalid || invalidate;
            rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return rc;
}

CUresult capture_enter(CUstream handle, struct capture_stream **stream)
{
    uint64_t key;
    CUresult rc = capture_key(handle, &key);
    if (rc != CUDA_SUCCESS) {
        return FRONT_CAPTURE_RUN; /* the call itself returns the error */
    }
    if (key == 0) {
        return front_capture_legacy();
    }
    capture_lock();
    *stream = capture_find(key);
    if (*stream == NULL) {
        return capture_unlock(FRONT_CAPTURE_RUN);
    }
    return (*stream)->capture->invalid ? capture_unlock(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
                                       : CUDA_SUCCESS;
}

CUresult capture_join(struct capture *capture, uint64_t key, CUcontext context, bool blocking,
                      struct capture_stream **out)
{
    struct capture_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->key = key;
    stream->context = context;
    stream->blocking = blocking;
    stream->capture = capture;
    ga_list_append(&capture_streams, &stream->of_all);
    *out = stream;
    return CUDA_SUCCESS;
}

void capture_end(struct capture *capture)
{
    ga_list_each (at, following, &capture_streams) {
        struct capture_stream *stream = ga_container(at, struct capture_stream, of_all);
        if (stream->capture == capture) {
            ga_list_remove(&stream->of_all);
            capture_set_free(&stream->set);
            free(stream);
        }
    }
    ga_list_remove(&capture->of_all);
    free(capture);
    atomic_fetch_sub(&front_capture_count, 1);
}

CUresult capture_became(struct capture_stream *stream, CUgraphNode node)
{
    stream->set.count = 0;
    return capture_set_add(&stream->set, node, NULL) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_add(struct capture_stream *stream, struct front_node_params *params)
{
    CUgraphNode node;
    const struct capture_set *set = &stream->set;
    CUresult rc =
        front_graph_add(stream->capture->graph, set->nodes, set->edges, set->count, params, &node);
    return rc == CUDA_SUCCESS ? capture_became(stream, node) : rc;
}

bool capture_is_last(const struct capture *capture, CUgraphNode node)
{
    size_t dependents = 0;
    return front_graph_holds(capture->graph, &node, 1) == CUDA_SUCCESS &&
           cuGraphNodeGetDependentNodes_v2(node, NULL, NULL, &dependents) == CUDA_SUCCESS &&
           dependents == 0;
}
