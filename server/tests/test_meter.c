/* SPDX-License-Identifier: Apache-2.0 */
/* The meter's figures, with a driver whose events are done when the test says so, in the time that
 * the test says: which batches there are, and how long each engine has worked. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/app/app.h"
#include "server/meter/meter.h"
#include "server/meter/meter_batch.h"
#include "server/meter/meter_clock.h"
#include "server/meter/meter_gpu.h"
#include "server/meter/meter_kernels.h"
#include "server/meter/meter_share.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"

#define EVENTS 64u
#define ROW    (&fake_figures.gpus[0])
#define WHOLE  FIGURES_WHOLE
/* From the base of the clock to the first event, and from one event to the next: so little that the
 * clock of the GPU never looks wrong. */
#define EVERY_MS 0.01F
#define EVERY_US 10u

/* Handles are 1 and more; the first one is the base of the clock. */
static struct {
    bool pending;
    float ms;
} events[EVENTS + 1];
static unsigned created, recorded;
static float record_ms;
static CUresult wrong;

static CUresult event_create(CUevent *event, unsigned flags)
{
    (void)flags;
    cr_assert_lt(created, EVENTS);
    *event = (CUevent)(uintptr_t)++created;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    (void)stream;
    events[(uintptr_t)event].ms = (uintptr_t)event == 1 ? 0 : record_ms;
    record_ms += (uintptr_t)event == 1 ? 0 : EVERY_MS;
    recorded++;
    return CUDA_SUCCESS;
}

static CUresult event_any(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult event_elapsed(float *ms, CUevent from, CUevent to)
{
    if (wrong != CUDA_SUCCESS) {
        return wrong;
    }
    if (events[(uintptr_t)to].pending) {
        return CUDA_ERROR_NOT_READY;
    }
    *ms = events[(uintptr_t)to].ms - events[(uintptr_t)from].ms;
    return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned flags)
{
    (void)flags;
    *stream = NULL;
    return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {FAKE_CONTEXT,
                                          .cuEventCreate = event_create,
                                          .cuEventRecord = event_record,
                                          .cuEventSynchronize = event_any,
                                          .cuEventDestroy_v2 = event_any,
                                          .cuEventElapsedTime_v2 = event_elapsed,
                                          .cuStreamCreate = stream_create,
                                          .cuStreamDestroy_v2 = stream_destroy};

static struct figures_times times;
static struct server_session session = {.number = 1, .ordinal = 6};
static struct server_context context = {.session = &session};
static struct server_app *app;

static void start(void)
{
    app = calloc(1, sizeof *app);
    fake_ledger.times = &times;
    app->driver = &driver;
    app->ledger = &fake_ledger;
    app->current = &context;
    record_ms = EVERY_MS;
    meter_context_init(&context.meter);
    meter_init(&app->meter, true, false);
}

static void stop(void)
{
    meter_context_end(app, &context);
    meter_fini(&app->meter);
    free(app);
}

TestSuite(meter, .init = start, .fini = stop, .timeout = 30);

static uint64_t to_us(uint64_t ns)
{
    return (ns + GA_NS_PER_US / 2) / GA_NS_PER_US;
}

static uint64_t busy_us(enum gpu_engine engine)
{
    return to_us(atomic_load(&ROW->busy_ns[engine]));
}

static void rest(void)
{
    meter_rest_all(app);
    meter_look(app);
}

Test(meter, works_of_one_kind_are_one_batch_from_the_first_to_the_rest)
{
    for (unsigned i = 0; i < 5; i++) {
        meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    }
    cr_assert_eq(app->meter.open, 1);
    cr_assert_eq(atomic_load(&ROW->phase), GPU_PHASE_KL);
    rest();
    cr_assert_eq(app->meter.outstanding, 0);
    cr_assert_eq(atomic_load(&ROW->gpu), 7);
    cr_assert_eq(atomic_load(&ROW->works), 5);
    cr_assert_eq(busy_us(GPU_COMPUTE), EVERY_US);
    cr_assert_eq(busy_us(GPU_H2D) + busy_us(GPU_D2H), 0);
    cr_assert_eq(to_us(atomic_load(&ROW->busy_any_ns)), EVERY_US);
    cr_assert_eq(to_us(atomic_load(&ROW->done_ns)), EVERY_US);
    cr_assert_eq(to_us(atomic_load(&ROW->demand_ns)), EVERY_US);
    cr_assert_eq(atomic_load(&ROW->phase), GPU_PHASE_DFL);
}

Test(meter, another_engine_ends_a_batch_and_each_has_its_time)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_work(&app->meter, app, API_ENGINE_H2D, 0);
    cr_assert_eq(app->meter.open, 1);
    cr_assert_eq(app->meter.outstanding, 2);
    cr_assert_eq(atomic_load(&ROW->phase), GPU_PHASE_H2D);
    meter_copied(app, API_ENGINE_H2D, 0, 1000);
    meter_work(&app->meter, app, API_ENGINE_D2H, 0);
    meter_copied(app, API_ENGINE_D2H, 0, 30);
    meter_copied(app, API_ENGINE_D2H, 0, 4);
    rest();
    cr_assert_eq(busy_us(GPU_COMPUTE), EVERY_US);
    cr_assert_eq(busy_us(GPU_H2D), EVERY_US);
    cr_assert_eq(busy_us(GPU_D2H), EVERY_US);
    cr_assert_eq(to_us(atomic_load(&ROW->busy_any_ns)), 3 * EVERY_US);
    cr_assert_eq(atomic_load(&ROW->works), 1, "copies are no works");
    cr_assert_eq(atomic_load(&ROW->copies[0]), 1);
    cr_assert_eq(atomic_load(&ROW->copies[1]), 2);
    cr_assert_eq(atomic_load(&ROW->copied_bytes[0]), 1000);
    cr_assert_eq(atomic_load(&ROW->copied_bytes[1]), 34);
    cr_assert_eq(to_us(atomic_load(&ROW->done_ns)), EVERY_US, "of kernels alone");
}

Test(meter, each_piece_is_told_with_its_row_engine_and_end)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_rest_all(app);
    meter_work(&app->meter, app, API_ENGINE_D2H, 0);
    meter_work(&app->meter, app, API_ENGINE_D2H, 0);
    rest();
    cr_assert_eq(atomic_load(&times.count), 2);
    uint64_t first = atomic_load(&times.of[0].what), second = atomic_load(&times.of[1].what);
    cr_assert_eq(figures_time_row(first), 0);
    cr_assert_eq(figures_time_engine(first), GPU_COMPUTE);
    cr_assert_eq(figures_time_bits(first), FIGURES_TIME_ENDS | FIGURES_TIME_ONE);
    cr_assert_eq(to_us(figures_time_length(first)), EVERY_US);
    cr_assert_eq(figures_time_engine(second), GPU_D2H);
    cr_assert_eq(figures_time_bits(second), FIGURES_TIME_ENDS, "it was not a single one");
    uint64_t gap = atomic_load(&times.of[1].from) - atomic_load(&times.of[0].from);
    cr_assert_eq(to_us(gap), 2 * EVERY_US, "the times are those of the events");
}

Test(meter, a_large_copy_ends_its_batch_and_a_small_one_does_not)
{
    meter_work(&app->meter, app, API_ENGINE_H2D, 0);
    meter_copied(app, API_ENGINE_H2D, 0, 65535);
    cr_assert_eq(app->meter.open, 1);
    meter_copied(app, API_ENGINE_H2D, 0, 65536);
    cr_assert_eq(app->meter.open, 0);
    cr_assert_eq(app->meter.outstanding, 1);
}

Test(meter, a_batch_that_runs_is_not_done)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    events[3].pending = true;
    rest();
    cr_assert_eq(app->meter.outstanding, 1);
    cr_assert_eq(app->meter.open, 0);
    cr_assert(meter_runs(app, app->meter.gpu));
    cr_assert_eq(busy_us(GPU_COMPUTE), 0, "it has begun less than 200 ms ago");
    cr_assert_neq(atomic_load(&ROW->runs_ns[GPU_COMPUTE]), 0);
    cr_assert_eq(atomic_load(&ROW->runs_ns[GPU_COMPUTE]) & FIGURES_RUNS_MAYBE, 0);
    events[3].pending = false;
    meter_look(app);
    cr_assert_eq(app->meter.outstanding, 0);
    cr_assert_not(meter_runs(app, app->meter.gpu));
    cr_assert_eq(busy_us(GPU_COMPUTE), EVERY_US);
    cr_assert_eq(atomic_load(&ROW->runs_ns[GPU_COMPUTE]), 0);
}

Test(meter, one_that_has_not_begun_does_not_run)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    cr_assert_eq(atomic_load(&ROW->runs_ns[GPU_COMPUTE]) & FIGURES_RUNS_MAYBE, 1);
    events[2].pending = events[3].pending = true;
    rest();
    cr_assert_not(meter_runs(app, app->meter.gpu));
    cr_assert_eq(atomic_load(&ROW->runs_ns[GPU_COMPUTE]), 0);
    cr_assert_eq(app->meter.outstanding, 1);
}

Test(meter, after_a_fault_a_batch_has_run_until_it_is_seen)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    events[3].pending = true;
    rest();
    wrong = CUDA_ERROR_LAUNCH_FAILED;
    uint64_t from = ga_clock_ns(), began = context.meter.clock.base_ns;
    meter_look(app);
    uint64_t busy_ns = atomic_load(&ROW->busy_ns[GPU_COMPUTE]);
    cr_assert_eq(app->meter.outstanding, 0);
    wrong = CUDA_SUCCESS;
    cr_assert(busy_ns + 2 * EVERY_US * GA_NS_PER_US >= from - began);
    cr_assert(busy_ns <= ga_clock_ns() - began);
    cr_assert_eq(atomic_load(&ROW->done_ns), 0, "nobody knows that it was done");
}

Test(meter, small_works_do_not_make_large_ones_look_small)
{
    meter_work_of(&app->meter, app, API_ENGINE_COMPUTE, 0, WHOLE / 2);
    meter_work_of(&app->meter, app, API_ENGINE_COMPUTE, 0, WHOLE / 2 - WHOLE / 16);
    cr_assert_eq(app->meter.outstanding, 1, "about the same share");
    meter_work_of(&app->meter, app, API_ENGINE_COMPUTE, 0, WHOLE / 4);
    cr_assert_eq(app->meter.outstanding, 2);
    rest();
    cr_assert_eq(to_us(atomic_load(&ROW->done_ns)), 2 * EVERY_US);
    cr_assert_eq(to_us(4 * atomic_load(&ROW->demand_ns)), 3 * EVERY_US);
}

Test(meter, without_a_meter_nothing_is_measured)
{
    app->meter.on = false;
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    cr_assert_eq(app->meter.outstanding, 0);
    meter_start(&app->meter);
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    cr_assert_eq(app->meter.outstanding, 1);
}

Test(meter, batches_that_are_done_are_used_again)
{
    for (unsigned i = 0; i < 40; i++) {
        meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
        rest();
    }
    cr_assert_eq(app->meter.made, 1);
    cr_assert_eq(atomic_load(&ROW->works), 40);
    cr_assert_eq(busy_us(GPU_COMPUTE), 40 * EVERY_US);
}

Test(meter, when_calls_come_without_a_pause_it_looks_after_1024_of_them)
{
    for (unsigned i = 0; i < 1023; i++) {
        meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    }
    cr_assert_eq(app->meter.looked_ns, 0);
    for (unsigned i = 0; i < 2; i++) {
        meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    }
    cr_assert_neq(app->meter.looked_ns, 0);
    rest();
    cr_assert_eq(atomic_load(&ROW->works), 1025);
}

Test(meter, there_is_no_sleep_while_nobody_looks)
{
    cr_assert_eq(meter_sleep_ms(app), -1);
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    events[3].pending = true;
    cr_assert_eq(meter_sleep_ms(app), 1);
    cr_assert_eq(app->meter.open, 0, "all batches end");
    app->meter.opened_ns = ga_clock_ns() - 200 * GA_NS_PER_MS;
    int ms = meter_sleep_ms(app);
    cr_assert(ms >= 10 && ms < 64, "%d", ms);
    app->meter.opened_ns = 1;
    cr_assert_eq(meter_sleep_ms(app), 64);
}

/* ---- kernel-time */

Test(meter, under_a_limit_a_batch_has_one_kernel_until_they_are_short)
{
    meter_limit_kernels(&app->meter, 1000 * GA_NS_PER_MS);
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    cr_assert_eq(app->meter.outstanding, 2);
    rest();
    for (unsigned most = 4, twice = 0; most <= METER_KERNELS_MAX * 2; most *= 2) {
        unsigned room = most < METER_KERNELS_MAX ? most : METER_KERNELS_MAX;
        for (unsigned i = 0; i < room; i++) {
            meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
        }
        cr_assert_eq(app->meter.outstanding, 1, "%u", most);
        meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
        cr_assert_eq(app->meter.outstanding, 2, "%u", most);
        twice++;
        meter_rest_all(app);
        context.meter.lane.doublings--; /* of the two batches that end, one counts here */
        meter_look(app);
    }
}

static struct meter_lane lane;

static struct meter_batch kernels(uint64_t works)
{
    return (struct meter_batch){
        .engine = GPU_COMPUTE, .closed = true, .works = works, .lane = &lane};
}

Test(meter, a_batch_is_over_when_one_of_its_kernels_must_be)
{
    struct meter meter = {.kernel_ns = 100, .grace_ns = 30};
    struct meter_batch batch = kernels(3);
    cr_assert_not(meter_kernels_over(&meter, &batch, 1000), "it counts from the first look");
    lane.doublings = 4;
    cr_assert_not(meter_kernels_over(&meter, &batch, 1100));
    cr_assert_eq(lane.doublings, 4);
    cr_assert_not(meter_kernels_over(&meter, &batch, 1101));
    cr_assert_eq(lane.doublings, 0, "the next batches have one kernel");
    cr_assert_not(meter_kernels_over(&meter, &batch, 1030 + 302));
    cr_assert(meter_kernels_over(&meter, &batch, 1030 + 303));
    struct meter_batch open = kernels(1), copies = kernels(1);
    open.closed = false;
    copies.engine = GPU_H2D;
    for (uint64_t now = 1000; now < 10000; now += 1000) {
        cr_assert_not(meter_kernels_over(&meter, &open, now));
        cr_assert_not(meter_kernels_over(&meter, &copies, now));
    }
    meter.kernel_ns = 0;
    cr_assert_not(meter_kernels_over(&meter, &batch, 100000), "there is no limit");
}

Test(meter, short_batches_let_the_next_ones_be_longer)
{
    const struct meter meter = {.kernel_ns = 6400};
    const struct meter_batch batch = kernels(1);
    lane.doublings = 0;
    for (unsigned i = 1; i < 9; i++) {
        meter_kernels_learn(&meter, &batch, 99);
        cr_assert_eq(lane.doublings, i < METER_DOUBLINGS ? i : METER_DOUBLINGS);
    }
    cr_assert_eq(meter_kernels_most(&lane), METER_KERNELS_MAX);
    meter_kernels_learn(&meter, &batch, 100);
    cr_assert_eq(lane.doublings, 0);
    cr_assert_eq(meter_kernels_most(&lane), 1);
}

Test(meter, a_launch_of_several_kernels_counts_each)
{
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_kernels_more(&app->meter, 4);
    struct meter_batch *batch = app->meter.batch;
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_forget(&app->meter);
    cr_assert_eq(batch->works, 6);
    cr_assert_eq(app->meter.gpu->works, 2);
    meter_limit_kernels(&app->meter, GA_NS_PER_S);
    meter_work(&app->meter, app, API_ENGINE_COMPUTE, 0);
    meter_kernels_more(&app->meter, 1);
    cr_assert_null(app->meter.batch, "the next work looks whether it is full");
}

/* ---- shares */

Test(meter, ends_of_batches_for_the_sake_of_shares_are_paid_for_by_works)
{
    struct meter meter = {.splits = 15};
    struct meter_batch batch = {.engine = GPU_COMPUTE, .works = 1, .share = WHOLE / 2};
    cr_assert_not(meter_share_splits(&meter, &batch, WHOLE / 4));
    meter.splits = 17;
    cr_assert_not(meter_share_splits(&meter, &batch, WHOLE / 2 - WHOLE / 16));
    cr_assert_not(meter_share_splits(&meter, &batch, WHOLE / 2 + WHOLE / 16));
    cr_assert_eq(meter.splits, 17);
    cr_assert(meter_share_splits(&meter, &batch, WHOLE / 2 + WHOLE / 16 + 1));
    cr_assert_eq(meter.splits, 1);
    cr_assert_not(meter_share_splits(&meter, &batch, WHOLE), "nothing is left");
    meter.splits = 16;
    cr_assert(meter_share_splits(&meter, &batch, WHOLE / 2 - WHOLE / 16 - 1));
    meter.splits = 16;
    batch.works = 0;
    cr_assert_not(meter_share_splits(&meter, &batch, 0), "it has no work yet");
    batch.works = 1;
    batch.engine = GPU_H2D;
    cr_assert_not(meter_share_splits(&meter, &batch, 0), "copies have no shares");
    batch.works = 20;
    meter_share_closed(&meter, &batch);
    cr_assert_eq(meter.splits, 36);
    batch.works = UINT32_MAX;
    meter_share_closed(&meter, &batch);
    cr_assert_eq(meter.splits, METER_SPLITS_SAVED);
}

Test(meter, a_batch_goes_on_with_shares_near_its_largest)
{
    struct meter meter = {.splits = 16};
    struct meter_batch batch = {.engine = GPU_COMPUTE};
    meter_share_take(&meter, &batch, WHOLE / 2);
    meter_share_take(&meter, &batch, WHOLE / 4);
    cr_assert_eq(batch.share, WHOLE / 2);
    cr_assert_eq(meter.least, WHOLE / 2 - WHOLE / 16);
    cr_assert_eq(meter.span, WHOLE / 16);
    batch.share = 0;
    meter_share_take(&meter, &batch, WHOLE / 16);
    cr_assert_eq(meter.least, 0);
    cr_assert_eq(meter.span, WHOLE / 16);
    meter.splits = 15;
    meter_share_take(&meter, &batch, WHOLE);
    cr_assert_eq(meter.least, 0, "it cannot be ended for others");
    cr_assert_eq(meter.span, WHOLE);
}

/* ---- clocks */

Test(meter, a_late_event_becomes_the_base)
{
    struct meter_clock clock = {.runs = true, .base = (CUevent)(uintptr_t)1, .base_ns = 5000};
    CUevent event = (CUevent)(uintptr_t)2;
    uint64_t ns;
    events[2].ms = 64;
    cr_assert_eq(meter_clock_read(&clock, &driver, &event, &ns), CUDA_SUCCESS);
    cr_assert_eq(ns, 5000 + 64 * GA_NS_PER_MS);
    cr_assert_eq(event, (CUevent)(uintptr_t)2);
    events[2].ms = 65;
    cr_assert_eq(meter_clock_read(&clock, &driver, &event, &ns), CUDA_SUCCESS);
    cr_assert_eq(ns, 5000 + 65 * GA_NS_PER_MS);
    cr_assert_eq(event, (CUevent)(uintptr_t)1);
    cr_assert_eq(clock.base, (CUevent)(uintptr_t)2);
    cr_assert_eq(clock.base_ns, ns);
    events[1].ms = 62;
    cr_assert_eq(meter_clock_read(&clock, &driver, &event, &ns), CUDA_SUCCESS);
    cr_assert_eq(ns, 5000 + 62 * GA_NS_PER_MS, "before the base");
    events[1].pending = true;
    cr_assert_eq(meter_clock_read(&clock, &driver, &event, &ns), CUDA_ERROR_NOT_READY);
}

Test(meter, a_clock_that_is_ahead_is_corrected_at_once)
{
    struct meter_clock clock = {.runs = true};
    meter_clock_seen(&clock, 10 * GA_NS_PER_MS + GA_NS_PER_MS, 10 * GA_NS_PER_MS);
    cr_assert_eq(clock.shift_ns, 0, "a millisecond is no error");
    meter_clock_seen(&clock, 20 * GA_NS_PER_MS + GA_NS_PER_MS + 1, 20 * GA_NS_PER_MS);
    cr_assert_eq(clock.shift_ns, -(int64_t)(GA_NS_PER_MS + 1));
    cr_assert_eq(clock.since_ns, 0);
    meter_clock_seen(&clock, 30 * GA_NS_PER_MS + GA_NS_PER_MS + 1, 30 * GA_NS_PER_MS);
    cr_assert_eq(clock.shift_ns, -(int64_t)(GA_NS_PER_MS + 1), "it fits now");
}

Test(meter, a_clock_that_is_behind_is_corrected_by_the_shortest_lag_of_a_minute)
{
    const uint64_t minute = 60 * GA_NS_PER_S, ms = GA_NS_PER_MS;
    struct meter_clock clock = {.runs = true};
    meter_clock_seen(&clock, 100 * ms, 105 * ms);
    meter_clock_seen(&clock, 200 * ms, 203 * ms);
    meter_clock_seen(&clock, 300 * ms, 309 * ms);
    cr_assert_eq(clock.lag_ns, 3 * ms);
    cr_assert_eq(clock.since_ns, 105 * ms);
    meter_clock_seen(&clock, 98 * ms + minute, 105 * ms + minute);
    cr_assert_eq(clock.shift_ns, 0);
    meter_clock_seen(&clock, 99 * ms + minute, 105 * ms + minute + 1);
    cr_assert_eq(clock.shift_ns, 3 * (int64_t)ms);
    cr_assert_eq(clock.since_ns, 0);
    meter_clock_seen(&clock, minute, minute + 4 * ms);
    meter_clock_seen(&clock, 2 * minute, 2 * minute + 5 * ms);
    cr_assert_eq(clock.shift_ns, 3 * (int64_t)ms, "a millisecond is no error");
}
