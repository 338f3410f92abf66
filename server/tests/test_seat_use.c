/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a GPU as a seat's process tells it: each figure, within what can be. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "server/tests/still_clock.h"
#include "server/usage/seat_use.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

#define GPUS 3u
#define MS   GA_NS_PER_MS

static struct still_clock still;
static struct conf conf;
static struct device devices[GPUS];
static uint32_t visible[GPUS] = {0, 2}; /* clients do not see the device 1 */
static struct processes processes;
static struct usage room;
static struct figures figures;
static struct figures_times times;
static const bool ready = true;
static struct usage_seat seat;

static void seat_shared(const struct usage_seat *of, uint32_t gpu, const struct time_share *share)
{
    (void)of, (void)gpu, (void)share;
}

static const struct usage_seat_ops ops = {.shared = seat_shared};

static void start(void)
{
    still_clock_init(&still);
    for (uint32_t i = 0; i < GPUS; i++) {
        conf.gpus[i].driver = CONF_DRIVER_NVIDIA;
        devices[i] = (struct device){.gpu = &conf.gpus[i], .ordinal = 4 + i};
    }
    processes = (struct processes){.timers = &still.timers, .conf = &conf};
    processes.devices =
        (struct devices){.all = devices, .count = GPUS, .visible = visible, .visible_count = 2};
    usage_init(&room, &processes, NULL);
    seat = (struct usage_seat){.room = &room,
                               .ops = &ops,
                               .driver = CONF_DRIVER_NVIDIA,
                               .taken_ns = still.now_ns,
                               .ready = &ready,
                               .figures = &figures,
                               .times = &times};
    figures.gpus[0].gpu = 6 + 1;
    figures.gpus[0].phase = GPU_PHASE_KL;
    gpu_times_seat_taken(&seat);
    still_clock_pass(&still, 50);
}

static void stop(void)
{
    gpu_times_seat_ended(&seat);
    usage_fini(&room);
}

TestSuite(seat_use, .init = start, .fini = stop);

static struct seat_use read_row(uint32_t row)
{
    struct seat_use use;
    cr_assert(seat_use_read(&seat, row, &use));
    return use;
}

/* All until now is told, and an engine has worked for so long just before. */
static void worked(enum gpu_engine engine, uint64_t ms)
{
    struct figures_time *at = &times.of[times.count % FIGURES_TIMES];
    at->from = still.now_ns - ms * MS;
    at->what = figures_time_word(0, engine, ms * MS, FIGURES_TIME_ENDS);
    times.count++;
    figures.gpus[0].busy_ns[engine] += ms * MS;
    figures.gpus[0].looked_ns = still.now_ns;
}

Test(seat_use, the_gpu_is_the_one_of_that_ordinal_that_clients_see)
{
    struct seat_use use;
    cr_assert(seat_use_gpu(&seat, 0, &use));
    cr_assert_eq(use.gpu, 1);
    cr_assert_eq(use.device, &devices[2]);
    cr_assert_not(seat_use_gpu(&seat, 1, &use), "that row is not used");
    cr_assert_not(seat_use_gpu(&seat, FIGURES_GPUS, &use));
    figures.gpus[0].gpu = 5 + 1;
    cr_assert_not(seat_use_gpu(&seat, 0, &use), "clients do not see it");
    figures.gpus[0].gpu = 6 + 1;
    seat.driver = CONF_DRIVER_SOFT;
    cr_assert_not(seat_use_gpu(&seat, 0, &use), "its driver has none such");
}

Test(seat_use, each_figure_is_told)
{
    figures.gpus[0].works = 9;
    for (unsigned way = 0; way < 2; way++) {
        figures.gpus[0].copies[way] = 10 + way;
        figures.gpus[0].copied_bytes[way] = 1000 + way;
    }
    const struct seat_use use = read_row(0);
    cr_assert_eq(use.works, 9);
    cr_assert(use.copies[0] == 10 && use.copies[1] == 11);
    cr_assert(use.copied_bytes[0] == 1000 && use.copied_bytes[1] == 1001);
    cr_assert_eq(use.phase, GPU_PHASE_KL);
    cr_assert_eq(use.shape_count, 0);
}

Test(seat_use, times_are_those_that_were_divided)
{
    worked(GPU_COMPUTE, 20);
    worked(GPU_D2H, 10);
    still_clock_pass(&still, 50);
    const struct seat_use use = read_row(0);
    cr_assert_eq(use.busy_ns[GPU_COMPUTE], 20 * MS);
    cr_assert_eq(use.busy_ns[GPU_H2D], 0);
    cr_assert_eq(use.busy_ns[GPU_D2H], 10 * MS);
    cr_assert_eq(use.busy_any_ns, 20 * MS);
}

Test(seat_use, demand_is_no_more_than_the_time_that_it_was_there)
{
    worked(GPU_COMPUTE, 20);
    still_clock_pass(&still, 50);
    figures.gpus[0].demand_ns = 7 * MS;
    cr_assert_eq(read_row(0).demand_ns, 7 * MS);
    figures.gpus[0].demand_ns = UINT64_MAX;
    cr_assert_eq(read_row(0).demand_ns, 100 * MS);
}

Test(seat_use, without_a_time_that_it_had_there_is_no_demand)
{
    figures.gpus[0].demand_ns = 7 * MS;
    cr_assert_eq(read_row(0).demand_ns, 0);
}

Test(seat_use, the_most_frequent_shapes_come_first)
{
    const uint64_t counts[] = {5, 0, 70, 5, 900};
    for (uint32_t i = 0; i < 5; i++) {
        struct figures_shape *shape = &figures.gpus[0].shapes[i];
        shape->count = counts[i];
        for (unsigned k = 0; k < 3; k++) {
            shape->grid[k] = 10 * i + k;
            shape->block[k] = 100 * i + k;
        }
        shape->shared_bytes = 1000 + i;
        shape->share = i * 300000;
    }
    const struct seat_use use = read_row(0);
    cr_assert_eq(use.shape_count, 4);
    cr_assert_eq(use.shapes[0].launches, 900);
    cr_assert_eq(use.shapes[1].launches, 70);
    cr_assert_eq(use.shapes[2].shared_bytes, 1000, "of two that are equal, the first");
    cr_assert_eq(use.shapes[3].shared_bytes, 1003);
    cr_assert(use.shapes[0].grid[0] == 40 && use.shapes[0].grid[1] == 41 &&
              use.shapes[0].grid[2] == 42);
    cr_assert(use.shapes[1].block[0] == 200 && use.shapes[1].block[1] == 201 &&
              use.shapes[1].block[2] == 202);
    cr_assert_eq(use.shapes[1].share, 600000);
    cr_assert_eq(use.shapes[0].share, FIGURES_WHOLE, "no more than a whole GPU");
}

Test(seat_use, a_bandwidth_is_bytes_in_the_time_that_the_gpu_worked)
{
    const uint64_t bytes[2] = {3000, 1000}, most[2] = {UINT64_MAX, UINT64_MAX};
    cr_assert_eq(seat_use_bandwidth(bytes, 2 * GA_NS_PER_S), 2000);
    cr_assert_eq(seat_use_bandwidth(bytes, 0), 0);
    cr_assert_eq(seat_use_bandwidth(bytes, 1), UINT64_C(4000000000000));
    cr_assert_eq(seat_use_bandwidth(most, 1), 0, "nobody believes that");
}
