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
    struct ga_interval_union busy[FIGURE_ENGINES];
    uint64_t works; /* of the engine COMPUTE */
};

/* The GPU of this ordinal of the driver; NULL: no memory. */
struct meter_gpu *meter_gpu_find(struct server_conn *conn, uint32_t ordinal);
/* Tells the figures. */
void meter_gpu_tell(const struct meter_gpu *gpu);

#endif
