/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of the meter (meter.h): where they come from. One that is done is used again, in the
 * same context. Submit thread only. */
#ifndef SERVER_METER_METER_BATCH_H
#define SERVER_METER_METER_BATCH_H

#include "server/figures.h"
#include "server/meter/meter.h"
#include "server/meter/meter_gpu.h"

#define METER_BATCHES_MAX 1024u /* of an application; a power of two */

struct meter_batch {
    struct ga_list link; /* of meter.batches, or unused */
    struct server_context *context;
    struct server_stream *stream; /* NULL: stream 0 of the context; or, if it is closed, gone */
    struct meter_lane *lane;      /* NULL: gone with the stream */
    struct meter_gpu *gpu;
    enum gpu_engine engine;
    CUevent begin, end;
    uint64_t begin_ns;                /* by the clock of its context; 0: not known to have begun */
    uint64_t waits_ns;                /* by that of this machine: so late it had not begun */
    bool closed;                      /* `end` is recorded */
    uint64_t works;                   /* in it; a graph is as many as it has nodes */
    uint32_t share;                   /* the largest of its works, in millionths of the GPU */
    uint64_t runs_ns;                 /* of meter_kernels.c */
    uint32_t turn;                    /* in which it had work last */
    struct meter_tally before, after; /* of the GPU, when it was opened and closed */
    unsigned side;                    /* at which its GPU counts it */
};

/* One that is used again, or a new one; the clock of its context runs then. NULL: neither. It may
 * look which batches are done. */
struct meter_batch *meter_batch_take(struct server_app *app, struct server_context *context);
static inline bool meter_batch_is_single(const struct meter_batch *batch)
{
    return batch->closed && batch->works == 1;
}
/* The batch is done. */
void meter_batch_drop(struct server_app *app, struct meter_batch *batch);
/* Nothing more will be known of it, after a fault or with its context: it has run until now. */
void meter_batch_lose(struct server_app *app, struct meter_batch *batch, uint64_t now_ns);
/* The batch's context is current; the batch is in no list. */
void meter_batch_destroy(struct server_app *app, struct meter_batch *batch);

#endif
