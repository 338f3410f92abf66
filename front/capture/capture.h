/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: what is put into a stream that captures is not done but becomes a node of a
 * graph. It is the process's business, the same in both libraries.
 *
 * What a reader would get wrong: no function of the libraries asks. The exported functions that
 * capture concerns (`capture` in api/cuda) are generated; they ask front_capturing(), one relaxed
 * load, and call what the library has written, unless something is being captured. The hooks
 * (api/capture_hooks.h) are written in capture_*.c.
 *
 * Order of locks: that of capture comes before those of graphs and hosts. */
#ifndef FRONT_CAPTURE_CAPTURE_H
#define FRONT_CAPTURE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/list.h"
#include "base/status.h"
#include "front/graph/graph.h"

/* Answered by hooks: capture has nothing to do with this call, which is made as ever. */
#define FRONT_CAPTURE_RUN ((CUresult)-1)

/* Captures that have begun and not ended, and events whose last recording was captured. */
extern atomic_uint front_capture_count;

static inline bool front_capturing(void)
{
    return atomic_load_explicit(&front_capture_count, memory_order_relaxed) != 0;
}

/* A call that is potentially unsafe (cuThreadExchangeStreamCaptureMode): refused where the modes
 * say so, and the captures that forbid it are invalidated. */
CUresult front_capture_unsafe(void);
/* A call that cannot be captured: it spoils the capture of the stream. */
CUresult front_capture_refused(CUstream handle);
/* A call that uses the legacy stream of the current context. */
CUresult front_capture_legacy(void);

/* ---- for front/capture_*.c ---- */

/* Nodes behind which comes what is captured next. */
struct capture_set {
    size_t count, room;
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
};

struct capture {
    struct ga_list of_all;
    cuuint64_t id;
    CUgraph graph;
    bool owns_graph; /* until it ends well */
    CUstreamCaptureMode mode;
    const void *thread; /* that began it */
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

/* An event whose last recording was captured; the capture may have ended. */
struct capture_event {
    struct ga_list of_all;
    CUevent event;
    cuuint64_t capture;
    struct capture_set set;
};

/* The state, all under capture_lock. */
extern struct ga_list capture_all, capture_streams, capture_events;

void capture_lock(void);
/* `return capture_unlock(rc);` */
CUresult capture_unlock(CUresult rc);

/* Takes the lock on CUDA_SUCCESS only. FRONT_CAPTURE_RUN: the stream does not capture. Another
 * error: it cannot be used now. */
CUresult capture_enter(CUstream handle, struct capture_stream **stream);
/* The same, of a stream that is given by what it is called under here: see capture_key. */
struct capture_stream *capture_find(uint64_t key);
/* What tells streams apart; CU_STREAM_PER_THREAD is the calling thread's. 0: a legacy stream. Not
 * under the lock: it may ask the host. */
CUresult capture_key(CUstream handle, uint64_t *key);
/* Under the lock. A blocking stream of the current context captures: then the legacy stream cannot
 * be used, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT. */
CUresult capture_implicit(bool invalidate);
/* The capture with that number, or NULL: it has ended. */
struct capture *capture_of(cuuint64_t id);
/* Takes a stream into a capture. */
CUresult capture_join(struct capture *capture, uint64_t key, CUcontext context, bool blocking,
                      struct capture_stream **out);
/* Ends it; its streams capture no more, its graph is the caller's. */
void capture_end(struct capture *capture);
const void *capture_thread(void);

/* Behind the nodes of the set comes a node with these parameters, which are taken; then it is the
 * set. */
CUresult capture_add(struct capture_stream *stream, struct front_node_params *params);
/* The set is this node from now on. */
CUresult capture_became(struct capture_stream *stream, CUgraphNode node);
bool capture_set_add(struct capture_set *set, CUgraphNode node,
                     const CUgraphEdgeData *edge) GA_CHECKED;
bool capture_set_join(struct capture_set *set, const struct capture_set *other) GA_CHECKED;
bool capture_set_has(const struct capture_set *set, CUgraphNode node);
void capture_set_free(struct capture_set *set);
/* The node is still in the graph, and nothing depends on it. */
bool capture_is_last(const struct capture *capture, CUgraphNode node);

#endif
