/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter_gpu.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/app/app.h"
#include "server/meter/meter_batch.h"

/* The row of a GPU in the figures, which an earlier session on it may have begun. With too many
 * GPUs the last row is for all the others. */
static uint32_t row_find(struct figures *figures, uint32_t ordinal)
{
    const struct gpu_figures *rows = figures->gpus;
    uint32_t row = 0;
    while (row + 1 < FIGURES_GPUS && atomic_load(&rows[row].gpu) != 0 &&
           atomic_load(&rows[row].gpu) != ordinal + 1) {
        row++;
    }
    atomic_store(&figures->gpus[row].gpu, ordinal + 1);
    return row;
}

struct meter_gpu *meter_gpu_find(struct server_app *app, uint32_t ordinal)
{
    ga_list_each (at, next, &app->meter.gpus) {
        struct meter_gpu *gpu = ga_container(at, struct meter_gpu, link);
        if (gpu->ordinal == ordinal) {
            return gpu;
        }
    }
    struct meter_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu != NULL) {
        gpu->ordinal = ordinal;
        gpu->records = app->meter.records;
        gpu->row = row_find(app->ledger->figures, ordinal);
        gpu->figures = &app->ledger->figures->gpus[gpu->row];
        gpu->times = app->ledger->times;
        ga_list_append(&app->meter.gpus, &gpu->link);
    }
    return gpu;
}

struct times_news {
    const struct meter_gpu *gpu;
    enum gpu_engine engine;
    uint64_t to;
    bool single, ends;
};

static void times_tell(void *user, uint64_t from, uint64_t to)
{
    const struct times_news *news = user;
    struct figures_times *times = news->gpu->times;
    uint64_t count = atomic_load_explicit(&times->count, memory_order_relaxed);
    struct figures_time *time = &times->of[count % FIGURES_TIMES];
    unsigned bits = (news->ends && to == news->to ? FIGURES_TIME_ENDS : 0) |
                    (news->single ? FIGURES_TIME_ONE : 0);
    uint64_t word = figures_time_word(news->gpu->row, news->engine, to - from, bits);
    atomic_store_explicit(&time->from, from, memory_order_relaxed);
    atomic_store_explicit(&time->what, word, memory_order_relaxed);
    atomic_store_explicit(&times->count, count + 1, memory_order_release);
}

static void gpu_busy(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t from, uint64_t to,
                     bool single, bool ends)
{
    struct times_news news = {
        .gpu = gpu, .engine = engine, .to = to, .single = single, .ends = ends};
    ga_interval_union_add(&gpu->busy[engine], from, to, gpu->times != NULL ? times_tell : NULL,
                          &news);
    ga_interval_union_add(&gpu->any, from, to, NULL, NULL);
}

void meter_gpu_busy(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t from, uint64_t to,
                    bool single)
{
    gpu_busy(gpu, engine, from, to, single, false);
}

static void runs_tell(const struct meter_gpu *gpu)
{
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        atomic_store_explicit(&gpu->figures->runs_ns[i], gpu->runs_ns[i], memory_order_release);
    }
    atomic_store_explicit(&gpu->figures->looked_ns, gpu->looked_ns, memory_order_release);
}

void meter_gpu_look(struct meter_gpu *gpu, uint64_t now_ns)
{
    gpu->looked_ns = now_ns;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        gpu->runs_ns[i] = 0;
    }
}

void meter_gpu_runs(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t told_ns)
{
    uint64_t runs_ns = told_ns & ~(uint64_t)FIGURES_RUNS_MAYBE;
    gpu->runs_ns[engine] = runs_ns > gpu->runs_ns[engine] ? runs_ns : gpu->runs_ns[engine];
    gpu->looked_ns = told_ns < gpu->looked_ns ? told_ns : gpu->looked_ns;
}

static void phase_tell(const struct meter_gpu *gpu, enum gpu_phase phase)
{
    atomic_store_explicit(&gpu->figures->phase, phase, memory_order_release);
}

uint32_t meter_gpu_outstanding(const struct meter_gpu *gpu)
{
    return gpu->outstanding[0] + gpu->outstanding[1];
}

void meter_gpu_begin(struct meter_gpu *gpu, enum gpu_engine engine, uint64_t now_ns)
{
    if (meter_gpu_outstanding(gpu) == 0) {
        gpu->looked_ns = now_ns;
    }
    if (gpu->runs_ns[engine] == 0) { /* for all that is known until the next look */
        gpu->runs_ns[engine] = now_ns | FIGURES_RUNS_MAYBE;
        runs_tell(gpu);
    }
    gpu->outstanding[gpu->side]++;
    phase_tell(gpu, gpu_phase_of(engine));
}

void meter_gpu_end(struct meter_gpu *gpu, unsigned side)
{
    gpu->outstanding[side]--;
    if (meter_gpu_outstanding(gpu) == 0) {
        meter_gpu_look(gpu, gpu->looked_ns);
        meter_gpu_tell(gpu); /* who reads that nothing is under way reads all that has been */
        phase_tell(gpu, GPU_PHASE_DFL);
    }
}

void meter_gpu_done(struct meter_gpu *gpu, const struct meter_batch *batch, uint64_t from,
                    uint64_t to)
{
    static const char *const words[GPU_ENGINES] = {"kernel", "h2d", "d2h"};
    enum gpu_engine engine = batch->engine;
    uint64_t bytes = 0;
    gpu_busy(gpu, engine, from, to, meter_batch_is_single(batch), true);
    if (engine == GPU_COMPUTE) {
        gpu->done_ns += to - from;
        gpu->demand_ns += (uint64_t)((double)(to - from) * batch->share / FIGURES_WHOLE);
    } else {
        unsigned way = engine == GPU_D2H;
        bytes = batch->after.copied_bytes[way] - batch->before.copied_bytes[way];
    }
    if (gpu->records) {
        ga_info_each(NULL, "phase on GPU %u: %s at %llu for %llu ns, %llu bytes, share %u",
                     gpu->ordinal, words[engine], (unsigned long long)from,
                     (unsigned long long)(to - from), (unsigned long long)bytes, batch->share);
    }
}

void meter_gpu_tell(const struct meter_gpu *gpu)
{
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        atomic_store_explicit(&gpu->figures->busy_ns[i], gpu->busy[i].length, memory_order_relaxed);
    }
    atomic_store_explicit(&gpu->figures->busy_any_ns, gpu->any.length, memory_order_relaxed);
    atomic_store_explicit(&gpu->figures->works, gpu->works, memory_order_relaxed);
    for (unsigned way = 0; way < 2; way++) {
        atomic_store_explicit(&gpu->figures->copies[way], gpu->copies[way], memory_order_relaxed);
        atomic_store_explicit(&gpu->figures->copied_bytes[way], gpu->tally.copied_bytes[way],
                              memory_order_relaxed);
    }
    atomic_store_explicit(&gpu->figures->demand_ns, gpu->demand_ns, memory_order_relaxed);
    atomic_store_explicit(&gpu->figures->done_ns, gpu->done_ns, memory_order_relaxed);
    runs_tell(gpu);
}
