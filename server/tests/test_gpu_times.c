/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time of seats, from the pieces that their processes tell: when it is divided, what counts of
 * it, and what is assumed of a process that says nothing. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "server/gpu_set.h"
#include "server/tests/still_clock.h"
#include "server/usage/gpu_times.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

#define SEATS 2u
#define GPUS  2u
#define MS    GA_NS_PER_MS

static struct still_clock still;
static struct conf conf;
static struct device devices[GPUS];
static uint32_t visible[GPUS] = {0, 1};
static struct processes processes;
static struct usage room;
static struct figures figures[SEATS];
static struct figures_times times[SEATS];
static struct usage_seat seats[SEATS];
static bool ready[SEATS];
static double told[SEATS];

static void seat_shared(const struct usage_seat *seat, uint32_t gpu, const struct time_share *share)
{
    (void)gpu;
    told[seat - seats] = share->gpu_ns;
}

static const struct usage_seat_ops ops = {.shared = seat_shared};

static void start(void)
{
    still_clock_init(&still);
    for (uint32_t i = 0; i < GPUS; i++) {
        conf.gpus[i].driver = CONF_DRIVER_NVIDIA;
        devices[i] = (struct device){.gpu = &conf.gpus[i], .ordinal = 5 + i};
    }
    processes = (struct processes){.timers = &still.timers, .conf = &conf};
    processes.devices =
        (struct devices){.all = devices, .count = GPUS, .visible = visible, .visible_count = GPUS};
    usage_init(&room, &processes, NULL);
    for (unsigned i = 0; i < SEATS; i++) {
        seats[i] = (struct usage_seat){.room = &room,
                                       .ops = &ops,
                                       .driver = CONF_DRIVER_NVIDIA,
                                       .taken_ns = still.now_ns,
                                       .ready = &ready[i],
                                       .figures = &figures[i],
                                       .times = &times[i]};
        ready[i] = true;
        gpu_times_seat_taken(&seats[i]);
    }
}

static void stop(void)
{
    for (unsigned i = 0; i < SEATS; i++) {
        gpu_times_seat_ended(&seats[i]);
    }
    cr_assert_not(room.times.timer.runs);
    usage_fini(&room);
}

TestSuite(gpu_times, .init = start, .fini = stop);

/* The row `row` of the seat is of this GPU, and all until now is told. */
static void looked(unsigned seat, uint32_t row, uint32_t gpu)
{
    struct gpu_figures *of = &figures[seat].gpus[row];
    of->gpu = devices[gpu].ordinal + 1;
    of->phase = GPU_PHASE_KL;
    of->looked_ns = still.now_ns;
}

/* Kernels have run from so long ago to so long ago, in ms. */
static void ran(unsigned seat, uint32_t row, uint64_t from_ms, uint64_t to_ms)
{
    struct figures_times *ring = &times[seat];
    struct figures_time *at = &ring->of[ring->count % FIGURES_TIMES];
    at->from = still.now_ns - from_ms * MS;
    at->what = figures_time_word(row, GPU_COMPUTE, (from_ms - to_ms) * MS, FIGURES_TIME_ENDS);
    ring->count++;
    figures[seat].gpus[row].busy_ns[GPU_COMPUTE] += (from_ms - to_ms) * MS;
}

static double gpu_ms(unsigned seat, uint32_t row)
{
    struct gpu_times_use use;
    return gpu_times_of(&seats[seat], row, &use) ? use.share->gpu_ns / (double)MS : -1;
}

static void assert_gpu_ms(unsigned seat, uint32_t row, double wanted)
{
    cr_assert(fabs(gpu_ms(seat, row) - wanted) < 1e-3, "%f ms, not %f", gpu_ms(seat, row), wanted);
}

/* The seats use the GPU from the start: so nothing is divided before they have looked. */
static void begin(unsigned count, uint64_t ms)
{
    for (unsigned i = 0; i < count; i++) {
        looked(i, 0, 0);
    }
    still_clock_pass(&still, ms);
}

Test(gpu_times, one_alone_has_used_all_of_its_pieces)
{
    begin(1, 100);
    looked(0, 0, 0);
    ran(0, 0, 90, 60);
    ran(0, 0, 50, 40);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40);
    cr_assert(fabs(told[0] - 40 * (double)MS) < 1, "the scheduler hears of it");
    assert_gpu_ms(1, 0, -1);
    struct gpu_times_use use;
    cr_assert(gpu_times_of(&seats[0], 0, &use));
    cr_assert_eq(use.phase, GPU_PHASE_KL);
}

Test(gpu_times, a_time_that_two_had_work_for_is_divided)
{
    begin(2, 100);
    looked(0, 0, 0);
    looked(1, 0, 0);
    ran(0, 0, 90, 50);
    ran(1, 0, 70, 10);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 30);
    assert_gpu_ms(1, 0, 50);
}

Test(gpu_times, on_different_gpus_nobody_shares)
{
    looked(0, 1, 1);
    begin(1, 0);
    looked(1, 0, 1);
    still_clock_pass(&still, 100);
    looked(0, 0, 0);
    looked(0, 1, 1);
    looked(1, 0, 1);
    ran(0, 0, 90, 50);
    ran(0, 1, 20, 10);
    ran(1, 0, 90, 50);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40);
    assert_gpu_ms(0, 1, 10);
    assert_gpu_ms(1, 0, 40);
}

Test(gpu_times, it_is_divided_as_soon_as_all_have_looked)
{
    begin(2, 100);
    looked(0, 0, 0);
    figures[1].gpus[0].looked_ns = still.now_ns - 60 * MS;
    ran(0, 0, 100, 0);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40);
    figures[1].gpus[0].looked_ns = still.now_ns - 80 * MS;
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 70);
}

Test(gpu_times, after_300_ms_nobody_waits_for_a_process_that_is_silent)
{
    begin(2, 100);
    looked(0, 0, 0);
    ran(0, 0, 100, 0);
    still_clock_pass(&still, 200);
    assert_gpu_ms(0, 0, 0);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 50);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 100);
}

Test(gpu_times, a_silent_process_is_assumed_to_go_on_and_that_is_set_off_later)
{
    begin(1, 100);
    looked(0, 0, 0);
    figures[0].gpus[0].runs_ns[GPU_COMPUTE] = still.now_ns;
    ran(0, 0, 60, 20);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40);
    for (unsigned i = 0; i < 8; i++) {
        still_clock_pass(&still, 50);
    }
    assert_gpu_ms(0, 0, 40 + 150); /* until 300 ms ago */
    looked(0, 0, 0);
    figures[0].gpus[0].runs_ns[GPU_COMPUTE] = 0;
    ran(0, 0, 450, 270); /* it was so, and 30 ms more */
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40 + 180);
    looked(0, 0, 0);
    ran(0, 0, 40, 30);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 40 + 180 + 10); /* nothing is left to set off */
}

Test(gpu_times, work_that_was_perhaps_submitted_is_assumed_only_of_one_that_ends)
{
    begin(1, 100);
    looked(0, 0, 0);
    figures[0].gpus[0].runs_ns[GPU_COMPUTE] = still.now_ns | FIGURES_RUNS_MAYBE;
    for (unsigned i = 0; i < 4; i++) {
        still_clock_pass(&still, 50);
    }
    assert_gpu_ms(0, 0, 0);
    gpu_times_seat_ends(&seats[0]);
    assert_gpu_ms(0, 0, 200);
}

Test(gpu_times, before_it_is_ready_its_figures_are_of_another)
{
    ready[0] = false;
    begin(1, 100);
    looked(0, 0, 0);
    ran(0, 0, 90, 60);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, -1);
}

Test(gpu_times, pieces_from_before_it_came_and_from_the_future_are_cut)
{
    begin(1, 100);
    looked(0, 0, 0);
    ran(0, 0, 150, 80); /* it came 100 ms ago */
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 20);
    looked(0, 0, 0);
    ran(0, 0, 10, 0);
    times[0].of[1].what = figures_time_word(0, GPU_COMPUTE, 10000 * MS, FIGURES_TIME_ENDS);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 20 + 10);
    figures[0].gpus[0].looked_ns = UINT64_MAX;
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 20 + 62); /* clocks differ by 2 ms at most */
}

Test(gpu_times, nonsense_of_a_stranger_counts_nothing)
{
    begin(1, 100);
    looked(0, 0, 0);
    ran(0, 0, 50, 40);
    times[0].of[0].what |= 3; /* no such engine */
    ran(0, 1, 50, 40);        /* a row that is not used */
    ran(0, 0, 50, 40);
    times[0].of[2].from = still.now_ns + 52 * MS + 1;
    figures[0].gpus[0].phase = 77;
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 0);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, 0);
    struct gpu_times_use use;
    cr_assert(gpu_times_of(&seats[0], 0, &use));
    cr_assert_eq(use.phase, GPU_PHASE_DFL);
}

Test(gpu_times, a_gpu_that_clients_do_not_see_has_no_row)
{
    looked(0, 0, 0);
    figures[0].gpus[0].gpu = 99;
    still_clock_pass(&still, 100);
    ran(0, 0, 50, 40);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, -1);
}

Test(gpu_times, pieces_that_were_overwritten_are_made_up_for)
{
    begin(1, 250);
    looked(0, 0, 0);
    for (uint64_t i = 0; i < FIGURES_TIMES + 100; i++) {
        struct figures_time *at = &times[0].of[times[0].count % FIGURES_TIMES];
        at->from = still.now_ns - 170 * MS + i * 20000;
        at->what = figures_time_word(0, GPU_COMPUTE, 10000, FIGURES_TIME_ENDS);
        times[0].count++;
        figures[0].gpus[0].busy_ns[GPU_COMPUTE] += 10000;
    }
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, (double)(FIGURES_TIMES + 100) * 0.01);
    looked(0, 0, 0);
    ran(0, 0, 40, 30);
    still_clock_pass(&still, 50);
    assert_gpu_ms(0, 0, (double)(FIGURES_TIMES + 100) * 0.01 + 10);
}

Test(gpu_times, one_that_ends_gets_what_it_told_too_late_as_far_as_there_was_time)
{
    begin(1, 100);
    looked(0, 0, 0);
    still_clock_pass(&still, 50);
    looked(0, 0, 0);
    still_clock_pass(&still, 50);
    ran(0, 0, 190, 110); /* before what has been divided already: it moves to the end */
    gpu_times_seat_ends(&seats[0]);
    assert_gpu_ms(0, 0, 80);
}

Test(gpu_times, nobody_gets_more_than_there_was_since_it_uses_the_gpu)
{
    begin(1, 100);
    looked(0, 0, 0);
    still_clock_pass(&still, 100);
    ran(0, 0, 200, 0);
    ran(0, 0, 150, 0);
    gpu_times_seat_ends(&seats[0]);
    assert_gpu_ms(0, 0, 100); /* its row was first read 100 ms ago */
}

Test(gpu_times, all_that_a_seat_has_used_is_divided_when_it_ends)
{
    begin(2, 100);
    looked(0, 0, 0);
    ran(0, 0, 50, 0);
    still_clock_pass(&still, 1);
    gpu_times_seat_ends(&seats[0]);
    assert_gpu_ms(0, 0, 50);
}

Test(gpu_times, it_is_read_again_after_a_millisecond)
{
    begin(1, 100);
    looked(0, 0, 0);
    ran(0, 0, 50, 40);
    still.now_ns += MS;
    gpu_times_look(&room);
    assert_gpu_ms(0, 0, 0);
    still.now_ns += 1;
    gpu_times_look(&room);
    assert_gpu_ms(0, 0, 10);
}
