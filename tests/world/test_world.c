/* SPDX-License-Identifier: Apache-2.0 */
/* An hour of two nodes: programs of four tenants come, work and go, are refused and ended; tokens
 * expire, processes hang and die, GPUs fail and recover. The same seed gives the same hour. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "tests/world/world.h"

#define HOUR_MS        3600000u
#define TWO_MINUTES_MS 120000u

TestSuite(world, .timeout = 800);

static uint64_t lives(uint64_t seed, uint64_t ms, struct world_counts *counts)
{
    struct world *world = world_make(seed);
    world_run(world, ms);
    world_end(world);
    uint64_t hash = world->hash;
    *counts = world->counts;
    printf("seed %" PRIu64 ": %" PRIu64 " events, %016" PRIx64 "\n", seed, world->events_count,
           hash);
    world_free(world);
    return hash;
}

Test(world, the_same_seed_gives_the_same_hour)
{
    struct world_counts counts, again;
    ga_log_set_level(GA_LOG_ERROR);
    uint64_t hash = lives(1, HOUR_MS, &counts);
    cr_assert_eq(lives(1, HOUR_MS, &again), hash);
    /* All that the hour is about has happened. */
    cr_assert_gt(counts.admitted, 300);
    cr_assert_gt(counts.refused, 30);
    cr_assert_gt(counts.sessions, 200);
    cr_assert_gt(counts.killed, 0);
    cr_assert_gt(counts.allocations, 500);
    cr_assert_gt(counts.allocation_refusals, 0);
    cr_assert_gt(counts.terminated, 0);
    cr_assert_gt(counts.slices, 5000);
    cr_assert_gt(counts.checks, 0);
}

Test(world, another_seed_gives_another_one)
{
    struct world_counts counts;
    ga_log_set_level(GA_LOG_ERROR);
    cr_assert_neq(lives(2, TWO_MINUTES_MS, &counts), lives(3, TWO_MINUTES_MS, &counts));
}
