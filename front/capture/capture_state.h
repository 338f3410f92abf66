/* SPDX-License-Identifier: Apache-2.0 */
/* The state of capture, for capture_*.c: captures, their streams and events. */
#ifndef FRONT_CAPTURE_CAPTURE_STATE_H
#define FRONT_CAPTURE_CAPTURE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/list.h"
#include "base/status.h"
#include "front/graph/graph.h"

/* The dependencies of the next captured node. */
struct capture_set {
    size_t count, room;
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
};

struct capture {
    struct ga_list of_all;
    cuuint64_t id;
    CUgraph graph;
    bool owns_graph; /* until the capture has ended without an error */
    CUstreamCaptureMode mode;
    const void *thread; /* the thread that began it */
    bool invalid;
};

/* A stream in capture mode. */
struct capture_stream {
    struct ga_list of_all;
    uint64_t key;
    CUcontext context;
    bool blocking;
    bool origin; /* the capture began here */
    struct capture *capture;
    struct capture_set set;
};

/* An event whose last recording was captured. The capture may have ended. */
struct capture_event {
    struct ga_list of_all;
    CUevent event;
    cuuint64_t capture;
    struct capture_set set;
};

/* All state, under capture_lock. */
extern struct ga_list capture_all, capture_streams, capture_events;

void capture_lock(void);
/* `return capture_unlock(rc);` */
CUresult capture_unlock(CUresult rc);

/* The lock is held on CUDA_SUCCESS only. FRONT_CAPTURE_RUN: the stream does not capture. Another
 * error: the stream cannot be used now. */
CUresult capture_enter(CUstream handle, struct capture_stream **stream);
/* Finds a capturing stream by its key (capture_key). NULL: it does not capture. */
struct capture_stream *capture_find(uint64_t key);
/* The key of a stream; that of CU_STREAM_PER_THREAD is the calling thread's. 0: a legacy stream.
 * Must not be called under the lock: it may ask the host. */
CUresult capture_key(CUstream handle, uint64_t *key);
/* Under the lock. CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: a blocking stream of the current context
 * captures, so the legacy stream cannot be used. */
CUresult capture_implicit(bool invalidate);
/* The capture with that number. NULL: it has ended. */
struct capture *capture_of(cuuint64_t id);
/* Adds a stream to a capture. */
CUresult capture_join(struct capture *capture, uint64_t key, CUcontext context, bool blocking,
                      struct capture_stream **out);
/* Ends the capture of all its streams. The caller owns its graph. */
void capture_end(struct capture *capture);
const void *capture_thread(void);

/* Adds a node that depends on the nodes of the set, which then is the set. Owns the parameters. */
CUresult capture_add(struct capture_stream *stream, struct front_node_params *params);
/* Makes this node the set. */
CUresult capture_became(struct capture_stream *stream, CUgraphNode node);
bool capture_set_add(struct capture_set *set, CUgraphNode node,
                     const CUgraphEdgeData *edge) GA_CHECKED;
bool capture_set_join(struct capture_set *set, const struct capture_set *other) GA_CHECKED;
bool capture_set_has(const struct capture_set *set, CUgraphNode node);
void capture_set_free(struct capture_set *set);
/* Whether the node is still in the graph and nothing depends on it. */
bool capture_is_last(const struct capture *capture, CUgraphNode node);

#endif
