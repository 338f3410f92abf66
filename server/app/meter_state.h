/* SPDX-License-Identifier: Apache-2.0 */
/* The state that the meter (meter.h) and the request monitor (monitor.h) keep of an application, of
 * its contexts and its streams. */
#ifndef SERVER_APP_METER_STATE_H
#define SERVER_APP_METER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/call_info.h"
#include "api/cuda_names.h"
#include "base/list.h"

struct figures_shape;
struct meter_batch;
struct meter_gpu;
struct server_function;

/* ---- the meter */

/* The clock of a context (meter_clock.h). */
struct meter_clock {
    bool runs;
    bool broken;       /* it could not be started: nothing of the context is measured */
    CUevent base;      /* with timing; its context's */
    uint64_t base_ns;  /* when it was done */
    int64_t shift_ns;  /* from this clock to the machine's; it changes seldom */
    uint64_t lag_ns;   /* the shortest time from the end of an event until it was seen, ... */
    uint64_t since_ns; /* ... since then */
};

/* In which context or stream a batch was begun last. */
struct meter_lane {
    struct meter_batch *last; /* open or not; NULL: it is done */
    uint8_t doublings;        /* of meter_kernels.c */
};

/* The meter's part of a context. */
struct meter_context {
    struct meter_clock clock;
    struct meter_lane lane; /* of its stream 0 */
    struct ga_list unused;  /* struct meter_batch */
};

struct meter {
    bool on;
    /* The open batch that the last call went on with: a call for the same one only counts. */
    uint64_t stream;
    enum api_engine engine;    /* NONE: there is no such batch */
    struct meter_batch *batch; /* NULL: the same */
    /* Works of kernels whose share is in [least, least + span] go on with it. */
    uint32_t least, span;
    uint32_t left, from; /* works that it takes without more ado; before those not counted yet */
    uint32_t ahead;      /* more works until the next turn */
    struct meter_gpu *gpu;
    struct ga_list batches; /* begun and not known to be done, in the order of their beginning */
    uint32_t open, outstanding, made; /* how many batches are open, begun, there at all */
    uint32_t turn;
    uint32_t splits;               /* works that pay for batches of other shares (meter_share.h) */
    bool full;                     /* it was said that there are too many batches */
    bool records;                  /* the log has a line for each batch (scripts/sim/recorded.py) */
    uint64_t looked_ns, opened_ns; /* the last look; when a batch was begun last */
    uint64_t kernel_ns;  /* a kernel may run for so long; 0: for ever, or its driver sees to that */
    uint64_t grace_ns;   /* and so much longer, since the client was told that one has */
    struct ga_list gpus; /* struct meter_gpu */
};

/* ---- the request monitor */

/* The shape of the last launch. */
struct monitor {
    const struct server_function *function; /* NULL: there was none */
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t share;
    uint64_t launches;           /* that its row has not got yet */
    struct figures_shape *shape; /* its row; NULL: none */
};

#endif
