/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/gpu.h"

#include "base/clock.h"
#include "tests/world/tenants.h"
#include "tests/world/world.h"

#define SLICE_MS 50u

static void gpu_begin(struct world_gpu *gpu);

void gpu_init(struct world_gpu *gpu, struct world *world, unsigned node)
{
    *gpu = (struct world_gpu){.world = world, .node = node};
    ga_list_init(&gpu->sessions);
}

/* Its process has looked at what it has done so far. */
static void session_look(struct world_session *session, uint64_t now_ns)
{
    struct gpu_figures *row = &session->figures->gpus[session->row];
    if (session->dead) {
        return;
    }
    row->phase = session->work_ms != 0 ? GPU_PHASE_KL : GPU_PHASE_DFL;
    row->looked_ns = now_ns;
    if (session->work_ms != 0) {
        session->figures->busy_at_ns = now_ns;
    }
}

static void slice_tell(struct world_session *session, uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns == from_ns) {
        return;
    }
    struct figures_times *times = session->times;
    struct figures_time *at = &times->of[times->count % FIGURES_TIMES];
    struct gpu_figures *row = &session->figures->gpus[session->row];
    at->from = from_ns;
    at->what = figures_time_word(session->row, GPU_COMPUTE, to_ns - from_ns,
                                 FIGURES_TIME_ENDS | FIGURES_TIME_ONE);
    times->count++;
    row->busy_ns[GPU_COMPUTE] += to_ns - from_ns;
    row->busy_any_ns += to_ns - from_ns;
    row->works++;
    row->runs_ns[GPU_COMPUTE] = 0;
}

/* The slice that runs is over. */
static void slice_end(struct world_gpu *gpu)
{
    struct world_session *session = gpu->runs;
    uint64_t now_ns = gpu->world->now_ns, ms = (now_ns - gpu->began_ns) / GA_NS_PER_MS;
    gpu->runs = NULL;
    session->work_ms -= ms < session->work_ms ? ms : session->work_ms;
    session->had_ns += now_ns - gpu->began_ns;
    tenants_used(gpu->world, session->tenant, gpu->node, now_ns - gpu->began_ns);
    if (!session->dead) {
        slice_tell(session, gpu->began_ns, now_ns);
    }
    gpu->world->counts.slices++;
    ga_list_remove(&session->link);
    ga_list_append(&gpu->sessions, &session->link);
    ga_list_each (at, next, &gpu->sessions) {
        session_look(ga_container(at, struct world_session, link), now_ns);
    }
}

static void slice_due(struct server_timer *timer)
{
    struct world_gpu *gpu = ga_container(timer, struct world_gpu, slice);
    slice_end(gpu);
    gpu_begin(gpu);
}

static void gpu_begin(struct world_gpu *gpu)
{
    ga_list_each (at, next, &gpu->sessions) {
        struct world_session *session = ga_container(at, struct world_session, link);
        if (gpu->runs == NULL && session->work_ms != 0) {
            uint64_t ms = session->work_ms < SLICE_MS ? session->work_ms : SLICE_MS;
            gpu->runs = session;
            gpu->began_ns = gpu->world->now_ns;
            session->figures->gpus[session->row].runs_ns[GPU_COMPUTE] = gpu->began_ns;
            timers_start(&gpu->world->events, &gpu->slice, slice_due, ms, 0);
        }
    }
}

void gpu_session_begin(struct world_gpu *gpu, struct world_session *session, uint32_t ordinal)
{
    session->gpu = gpu;
    session->figures->gpus[session->row].gpu = ordinal + 1;
    ga_list_append(&gpu->sessions, &session->link);
    session_look(session, gpu->world->now_ns);
}

void gpu_session_end(struct world_session *session)
{
    struct world_gpu *gpu = session->gpu;
    if (gpu->runs == session) {
        timers_stop(&gpu->world->events, &gpu->slice);
        slice_end(gpu);
    }
    session->work_ms = 0;
    session_look(session, gpu->world->now_ns);
    ga_list_remove(&session->link);
    if (gpu->runs == NULL) {
        gpu_begin(gpu);
    }
}

void gpu_work(struct world_session *session, uint64_t ms)
{
    session->work_ms += ms;
    session_look(session, session->gpu->world->now_ns);
    if (session->gpu->runs == NULL) {
        gpu_begin(session->gpu);
    }
}
