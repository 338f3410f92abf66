/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning, ending and querying a capture. */
#include <stdlib.h>

#include "front/capture/capture.h"
#include "front/capture/capture_state.h"
#include "front/front.h"

/* ---- begin ---- */

static CUresult begin_locked(CUstream handle, uint64_t key, struct capture *capture,
                             const struct capture_set *after)
{
    static cuuint64_t last_id;
    struct capture_stream *stream;
    struct front_stream_facts facts;
    CUresult rc = front_host.stream(handle, &facts);
    if (rc == CUDA_SUCCESS && capture_find(key) != NULL) {
        rc = CUDA_ERROR_ILLEGAL_STATE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = capture_join(capture, key, facts.context, facts.blocking, &stream);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (!capture_set_join(&stream->set, after)) {
        ga_list_remove(&stream->of_all);
        capture_set_free(&stream->set);
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->origin = true;
    capture->id = ++last_id;
    ga_list_append(&capture_all, &capture->of_all);
    atomic_fetch_add(&front_capture_count, 1);
    return CUDA_SUCCESS;
}

/* `graph` NULL: the capture makes a graph. */
static CUresult capture_begin(CUstream handle, CUgraph graph, const struct capture_set *after,
                              CUstreamCaptureMode mode)
{
    uint64_t key = 0;
    CUresult rc = capture_key(handle, &key);
    if (rc == CUDA_SUCCESS && (unsigned)mode > (unsigned)CU_STREAM_CAPTURE_MODE_RELAXED) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && key == 0) {
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    struct capture *capture = rc == CUDA_SUCCESS ? calloc(1, sizeof *capture) : NULL;
    if (capture == NULL) {
        return rc == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : rc;
    }
    *capture = (struct capture){
        .graph = graph, .owns_graph = graph == NULL, .mode = mode, .thread = capture_thread()};
    if (capture->owns_graph) {
        rc = front_graph_make(&capture->graph);
    }
    if (rc == CUDA_SUCCESS) {
        capture_lock();
        rc = capture_unlock(begin_locked(handle, key, capture, after));
        if (rc != CUDA_SUCCESS && capture->owns_graph) {
            (void)front_graph_destroy(capture->graph);
        }
    }
    if (rc != CUDA_SUCCESS) {
        free(capture);
    }
    return rc;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    const struct capture_set nothing = {0};
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? capture_begin(hStream, NULL, &nothing, mode) : rc;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream)
{
    return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Reads the set. CUDA_SUCCESS: its nodes are of the graph. */
static CUresult read_set(CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges,
                         size_t count, struct capture_set *set)
{
    if (nodes == NULL && count != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = front_graph_holds(graph, nodes, count);
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        if (!capture_set_add(set, nodes[i], edges != NULL ? &edges[i] : NULL)) {
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return rc;
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                             const CUgraphNode *dependencies,
                                             const CUgraphEdgeData *dependencyData,
                                             size_t numDependencies, CUstreamCaptureMode mode)
{
    struct capture_set after = {0};
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_graph_check(hGraph);
    }
    if (rc == CUDA_SUCCESS) {
        rc = read_set(hGraph, dependencies, dependencyData, numDependencies, &after);
    }
    if (rc == CUDA_SUCCESS) {
        rc = capture_begin(hStream, hGraph, &after, mode);
    }
    capture_set_free(&after);
    return rc;
}

/* ---- end ---- */

/* Checks that the origin stream depends on all work captured in other streams. The last node of
 * each stream is enough: one that has dependents is joined if they are. */
static CUresult capture_is_joined(const struct capture_stream *origin)
{
    ga_list_each (at, following, &capture_streams) {
        const struct capture_stream *stream = ga_container(at, struct capture_stream, of_all);
        if (stream->capture != origin->capture || stream == origin) {
            continue;
        }
        for (size_t i = 0; i < stream->set.count; i++) {
            if (!capture_set_has(&origin->set, stream->set.nodes[i]) &&
                capture_is_last(origin->capture, stream->set.nodes[i])) {
                return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
            }
        }
    }
    return CUDA_SUCCESS;
}

/* `graph` may be NULL if the capture adds to a graph of the program. */
static CUresult end_locked(uint64_t key, CUgraph *graph, CUgraph *dropped)
{
    struct capture_stream *stream = capture_find(key);
    if (stream == NULL) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    struct capture *capture = stream->capture;
    if (graph == NULL && capture->owns_graph) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!stream->origin) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != capture_thread()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    CUresult rc =
        capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : capture_is_joined(stream);
    if (graph != NULL) {
        *graph = rc == CUDA_SUCCESS ? capture->graph : NULL;
    }
    if (rc != CUDA_SUCCESS && capture->owns_graph) {
        *dropped = capture->graph;
    }
    capture_end(capture);
    return rc;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    uint64_t key = 0;
    CUgraph dropped = NULL;
    struct front_stream_facts facts;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.stream(hStream, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        rc = capture_key(hStream, &key);
    }
    if (rc == CUDA_SUCCESS) {
        capture_lock();
        rc = capture_unlock(end_locked(key, phGraph, &dropped));
    }
    if (dropped != NULL) { /* may call destructors of the program */
        (void)front_graph_destroy(dropped);
    }
    return rc;
}

/* ---- queries ---- */

struct info {
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUgraph graph;
    const struct capture_set *set;
};

static CUresult capture_info_ask(CUstream handle, const void *out, struct info *info)
{
    uint64_t key = 0;
    struct front_stream_facts facts;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.stream(handle, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        rc = capture_key(handle, &key);
    }
    *info = (struct info){.status = CU_STREAM_CAPTURE_STATUS_NONE};
    if (rc != CUDA_SUCCESS || !front_capturing()) {
        return rc;
    }
    capture_lock();
    const struct capture_stream *stream = key != 0 ? capture_find(key) : NULL;
    if (stream != NULL) {
        *info =
            (struct info){.status = stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE,
                          .id = stream->capture->id,
                          .graph = stream->capture->graph,
                          .set = &stream->set};
    }
    return capture_unlock(key == 0 ? capture_implicit(false) : CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct info info;
    CUresult rc = capture_info_ask(hStream, captureStatus, &info);
    if (rc == CUDA_SUCCESS) {
        *captureStatus = info.status;
    }
    return rc;
}

static bool plain(const struct capture_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->edges[i].from_port != 0 || set->edges[i].to_port != 0 || set->edges[i].type != 0) {
            return false;
        }
    }
    return true;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           const CUgraphEdgeData **edgeData_out,
                                           size_t *numDependencies_out)
{
    struct info info;
    CUresult rc = capture_info_ask(hStream, captureStatus_out, &info);
    if (rc == CUDA_SUCCESS && edgeData_out != NULL && dependencies_out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    bool active = rc == CUDA_SUCCESS && info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (active && dependencies_out != NULL && edgeData_out == NULL && !plain(info.set)) {
        rc = CUDA_ERROR_LOSSY_QUERY;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *captureStatus_out = info.status;
    if (active) {
        if (id_out != NULL) {
            *id_out = info.id;
        }
        if (graph_out != NULL) {
            *graph_out = info.graph;
        }
        if (dependencies_out != NULL) {
            *dependencies_out = info.set->nodes;
        }
        if (edgeData_out != NULL) {
            *edgeData_out = info.set->edges;
        }
        if (numDependencies_out != NULL) {
            *numDependencies_out = info.set->count;
        }
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           size_t *numDependencies_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
                                     dependencies_out, NULL, numDependencies_out);
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

/* ---- the set ---- */

static CUresult update_locked(uint64_t key, const CUgraphNode *nodes, const CUgraphEdgeData *edges,
                              size_t count, bool replace)
{
    struct capture_stream *stream = capture_find(key);
    if (stream == NULL) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (stream->capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    struct capture_set made = {0};
    CUresult rc = read_set(stream->capture->graph, nodes, edges, count, &made);
    if (rc == CUDA_SUCCESS && replace) {
        struct capture_set before = stream->set;
        stream->set = made;
        made = before;
    } else if (rc == CUDA_SUCCESS && !capture_set_join(&stream->set, &made)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture_set_free(&made);
    return rc;
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *dependencyData,
                                                      size_t numDependencies, unsigned int flags)
{
    uint64_t key = 0;
    struct front_stream_facts facts;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.stream(hStream, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        rc = capture_key(hStream, &key);
    }
    if (rc == CUDA_SUCCESS) {
        capture_lock();
        rc = capture_unlock(update_locked(key, dependencies, dependencyData, numDependencies,
                                          flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    }
    return rc;
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                                   size_t numDependencies, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies,
                                                flags);
}
