/* SPDX-License-Identifier: Apache-2.0 */
/* The meter's figures of a GPU. Submit thread only. */
#ifndef SERVER_METER_METER_GPU_H
#define SERVER_METER_METER_GPU_H

#include <stdbool.h>

#include "base/interval_union.h"
#include "base/list.h"
#include "server/figures.h"

struct meter_batch;
struct server_app;

struct meter_tally {
    uint64_t copied_bytes[2]; /* to the device, to the host */
};

struct meter_gpu {
    struct ga_list link;
    uint32_t ordinal;
    struct gpu_figures *figures;
    struct figures_times *times; /* NULL: nobody reads them */
    uint32_t row;                /* of the figures */
    struct ga_interval_union busy[GPU_ENGINES], any;
    uint64_t works; /* of the engine COMPUTE */
    uint64_t copies[2];
    uint64_t demand_ns, done_ns;
    struct meter_tally tally;      /* so far */
    bool records;                  /* each batch is logged (scripts/sim/recorded.py) */
    uint32_t warps, sms;           /* that have a place on it at a time; 0: not asked yet */
    uint64_t runs_ns[GPU_ENGINES]; /* see struct gpu_figures */
    uint64_t looked_ns;            /* the same */
    uint32_t outstanding[2];       /* batches, by their side */
    unsigned side;                 /* of new ones (turn_gate.c changes it) */
};

/* The GPU of this ordinal of the driver; NULL: no memory. */
struct meter_gpu *meter_gpu_find(struct server_app *app, uint32_t ordinal);
/* An engine has worked from then until then, as ga_clock_ns says; for a single work, or
 * several. Not all of it is done. */
void meter_gpu_busy(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t from, uint64_t to,
                    bool single);
/* As meter_gpu_busy, for a batch that is done. */
void meter_gpu_done(struct meter_gpu *gpu, const struct meter_batch *batch, uint64_t from,
                    uint64_t to);
/* A batch of work for the engine begins now, at `side`; and one of that side ends. They tell the
 * phase. */
void meter_gpu_begin(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t now_ns);
void meter_gpu_end(struct meter_gpu *gpu, unsigned side);
/* How many batches are begun and not known to be done. */
uint32_t meter_gpu_outstanding(const struct meter_gpu *gpu);
/* Before a look at all batches. After it, meter_gpu_tell tells the figures. */
void meter_gpu_look(struct meter_gpu *gpu, uint64_t now_ns);
/* Such a look has found that work of the engine runs, all of which until `told_ns` is measured. */
void meter_gpu_runs(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t told_ns);
void meter_gpu_tell(const struct meter_gpu *gpu);

#endif
