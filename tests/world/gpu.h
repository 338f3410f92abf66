/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU: the sessions that have work take slices of its time, one after the other. It knows which
 * session has had each slice, so it can be told whether the accounts say the same. */
#ifndef TESTS_WORLD_GPU_H
#define TESTS_WORLD_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "server/figures.h"
#include "server/timers.h"

struct world;
struct world_gpu;

/* A session on it: what its backend process writes down of it. */
struct world_session {
    struct ga_list link; /* of the GPU's; it uses it */
    struct world_gpu *gpu;
    struct figures *figures;
    struct figures_times *times;
    uint32_t row;     /* in them */
    uint64_t work_ms; /* that it has for the GPU */
    uint64_t had_ns;  /* time of the GPU so far */
    bool dead;        /* its process is, and writes nothing any more */
    unsigned tenant;
};

struct world_gpu {
    struct world *world;
    unsigned node;
    struct ga_list sessions;    /* the one whose turn is next comes first */
    struct server_timer slice;  /* of the world's events: the end of one */
    struct world_session *runs; /* NULL: none does */
    uint64_t bytes;             /* of its memory that is in use */
    uint64_t began_ns;
};

void gpu_init(struct world_gpu *gpu, struct world *world, unsigned node);
/* The session, whose first part the caller has set, uses the GPU from now on. */
void gpu_session_begin(struct world_gpu *gpu, struct world_session *session, uint32_t ordinal);
/* A slice that it has begun ends now; if it is dead, nobody has written that down. */
void gpu_session_end(struct world_session *session);
void gpu_work(struct world_session *session, uint64_t ms);

#endif
