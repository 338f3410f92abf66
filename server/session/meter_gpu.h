/* SPDX-License-Identifier: Apache-2.0 */
/* What the meter has measured of a GPU. Submit thread only. */
#ifndef SERVER_SESSION_METER_GPU_H
#define SERVER_SESSION_METER_GPU_H

#include "base/interval_union.h"
#include "base/list.h"
#include "server/figures.h"

struct server_conn;

struct meter_gpu {
    struct ga_list link;
    uint32_t ordinal;
    struct gpu_figures *figures;
    struct ga_interval_union busy[FIGURE_ENGINES], any;
    uint64_t works; /* of the engine COMPUTE */
};

/* The GPU of this ordinal of the driver; NULL: no memory. */
struct meter_gpu *meter_gpu_find(struct server_conn *conn, uint32_t ordinal);
/* An engine has worked from then until then, as ga_clock_ns says. */
void meter_gpu_busy(struct meter_gpu *gpu, enum figure_engine engine, uint64_t from, uint64_t to);
/* Tells the figures. */
void meter_gpu_tell(const struct meter_gpu *gpu);

#endif
