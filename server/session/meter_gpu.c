/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/meter_gpu.h"

#include <stdlib.h>

#include "server/session/conn.h"

/* The row of a GPU in the figures, which an earlier session on it may have begun. With too many
 * GPUs the last row is for all the others. */
static struct gpu_figures *row_find(struct figures *figures, uint32_t ordinal)
{
    struct gpu_figures *row = figures->gpus;
    while (row + 1 < figures->gpus + FIGURES_GPUS && atomic_load(&row->gpu) != 0 &&
           atomic_load(&row->gpu) != ordinal + 1) {
        row++;
    }
    atomic_store(&row->gpu, ordinal + 1);
    return row;
}

struct meter_gpu *meter_gpu_find(struct server_conn *conn, uint32_t ordinal)
{
    ga_list_each (at, next, &conn->meter.gpus) {
        struct meter_gpu *gpu = ga_container(at, struct meter_gpu, link);
        if (gpu->ordinal == ordinal) {
            return gpu;
        }
    }
    struct meter_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu != NULL) {
        gpu->ordinal = ordinal;
        gpu->figures = row_find(conn->ledger->figures, ordinal);
        ga_list_append(&conn->meter.gpus, &gpu->link);
    }
    return gpu;
}

void meter_gpu_busy(struct meter_gpu *gpu, enum figure_engine engine, uint64_t from, uint64_t to)
{
    ga_interval_union_add(&gpu->busy[engine], from, to);
    ga_interval_union_add(&gpu->any, from, to);
}

void meter_gpu_tell(const struct meter_gpu *gpu)
{
    for (unsigned i = 0; i < FIGURE_ENGINES; i++) {
        atomic_store_explicit(&gpu->figures->busy_ns[i], gpu->busy[i].length, memory_order_relaxed);
    }
    atomic_store_explicit(&gpu->figures->busy_any_ns, gpu->any.length, memory_order_relaxed);
    atomic_store_explicit(&gpu->figures->works, gpu->works, memory_order_relaxed);
}
