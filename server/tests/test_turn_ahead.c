/* SPDX-License-Identifier: Apache-2.0 */
/* Works ahead of a GPU are bounded by their time, whatever their order. The GPU here does one work
 * at a time, when it must. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "server/gate/turn_ahead.h"

#define HORIZON_NS (4 * GA_NS_PER_MS)
#define ROOM       1024u

static struct turn_ahead ahead;
/* A work that is not done, in the order of submission. */
static struct {
    uint64_t ns;
    unsigned side;
} queue[ROOM];
static unsigned first, last;
static uint64_t busy_ns, queued_ns, queued_max_ns;

static void start(void)
{
    turn_ahead_init(&ahead);
    first = last = 0;
    busy_ns = queued_ns = queued_max_ns = 0;
}

TestSuite(turn_ahead, .init = start);

static bool in_flight(unsigned side)
{
    for (unsigned i = first; i != last; i++) {
        if (queue[i % ROOM].side == side) {
            return true;
        }
    }
    return false;
}

static void one_is_done(void)
{
    cr_assert_neq(first, last, "it waits for nothing");
    busy_ns += queue[first % ROOM].ns;
    queued_ns -= queue[first % ROOM].ns;
    first++;
}

/* As the gate does. */
static void submit(uint64_t function, uint64_t ns)
{
    unsigned kind = turn_ahead_kind(API_ENGINE_COMPUTE, function);
    while (!turn_ahead_fits(&ahead, kind)) {
        const bool sides[2] = {in_flight(0), in_flight(1)};
        if (turn_ahead_may_begin(&ahead, kind, HORIZON_NS, sides)) {
            turn_ahead_begin(&ahead, kind, HORIZON_NS, sides, busy_ns);
            break;
        }
        one_is_done();
    }
    cr_assert_lt(last - first, ROOM);
    queue[last % ROOM].ns = ns;
    queue[last % ROOM].side = ahead.side;
    last++;
    queued_ns += ns;
    queued_max_ns = queued_ns > queued_max_ns ? queued_ns : queued_max_ns;
}

Test(turn_ahead, short_and_long_kernels_in_turns)
{
    for (unsigned i = 0; i < 200; i++) {
        submit(1, 10 * GA_NS_PER_US);
        submit(2, 50 * GA_NS_PER_MS);
    }
    cr_assert_leq(queued_max_ns, 50 * GA_NS_PER_MS + HORIZON_NS, "%llu ns were in flight",
                  (unsigned long long)queued_max_ns);
}

Test(turn_ahead, a_long_kernel_now_and_then)
{
    for (unsigned i = 0; i < 10000; i++) {
        submit(1, 10 * GA_NS_PER_US);
        if (i % 100 == 99) {
            submit(2, 50 * GA_NS_PER_MS);
        }
    }
    cr_assert_leq(queued_max_ns, 50 * GA_NS_PER_MS + HORIZON_NS, "%llu ns were in flight",
                  (unsigned long long)queued_max_ns);
}

Test(turn_ahead, equal_kernels_fill_the_horizon)
{
    for (unsigned i = 0; i < 5000; i++) {
        submit(1, 100 * GA_NS_PER_US);
        if (i == 1000) {
            queued_max_ns = 0;
        }
    }
    cr_assert_leq(queued_max_ns, HORIZON_NS + GA_NS_PER_MS / 2);
    cr_assert_geq(queued_max_ns, HORIZON_NS - GA_NS_PER_MS / 2, "the GPU must not run dry");
}

/* The expected time follows the measured one. */
Test(turn_ahead, kernels_that_become_longer)
{
    for (unsigned i = 0; i < 1000; i++) {
        submit(1, 50 * GA_NS_PER_US);
    }
    for (unsigned i = 0; i < 1000; i++) {
        submit(1, GA_NS_PER_MS);
        if (i == 500) {
            queued_max_ns = queued_ns;
        }
    }
    cr_assert_leq(queued_max_ns, HORIZON_NS + 2 * GA_NS_PER_MS);
}

Test(turn_ahead, works_that_take_no_time_come_in_batches)
{
    unsigned most = 0;
    for (unsigned i = 0; i < 10000; i++) {
        submit(i % 50 + 1, 0);
        most = last - first > most ? last - first : most;
    }
    cr_assert(most > 100 && most < 1000, "%u", most);
}

Test(turn_ahead, what_stands_still_may_have_a_few_more_behind_it)
{
    unsigned kind = turn_ahead_kind(API_ENGINE_H2D, 0), count = 1;
    cr_assert(!turn_ahead_fits(&ahead, kind));
    turn_ahead_go_on(&ahead, kind, HORIZON_NS);
    while (turn_ahead_fits(&ahead, kind)) {
        count++;
    }
    cr_assert_eq(count, 4);
}

Test(turn_ahead, who_is_free_may_do_all)
{
    unsigned kind = turn_ahead_kind(API_ENGINE_COMPUTE, 7);
    turn_ahead_free(&ahead, kind);
    for (unsigned i = 0; i < 100000; i++) {
        cr_assert(turn_ahead_fits(&ahead, kind));
    }
}

/* ---- what is expected */

static const bool none_in_flight[2];

static uint32_t expected_us(unsigned kind)
{
    return ahead.expected_ns[kind] / (uint32_t)GA_NS_PER_US;
}

/* A batch of so many works of two kinds, the first of which begins it; then it took so long. */
static void batch(unsigned first_kind, unsigned firsts, unsigned other, unsigned others,
                  uint64_t took_us)
{
    turn_ahead_begin(&ahead, first_kind, HORIZON_NS, none_in_flight, busy_ns);
    ahead.works[ahead.side][first_kind] += firsts - 1;
    ahead.works[ahead.side][other] += others;
    busy_ns += took_us * GA_NS_PER_US;
    turn_ahead_begin(&ahead, TURN_AHEAD_KINDS - 1, HORIZON_NS, none_in_flight, busy_ns);
    ahead.works[ahead.side][TURN_AHEAD_KINDS - 1] = 0;
}

Test(turn_ahead, a_new_kind_takes_what_the_known_ones_leave)
{
    batch(3, 1, 4, 0, 300);
    cr_assert_eq(expected_us(3), 300);
    cr_assert_eq(ahead.expected_ns[4], TURN_AHEAD_UNKNOWN);
    batch(3, 2, 4, 4, 800);
    cr_assert_eq(expected_us(4), 50);
    cr_assert_eq(expected_us(3), 300, "nothing new is known of it");
    batch(5, 4, 3, 0, 1000);
    cr_assert_eq(expected_us(5), 250);
}

Test(turn_ahead, half_of_a_change_is_believed_and_a_factor_of_four_at_most)
{
    batch(3, 1, 4, 0, 300);
    batch(4, 1, 3, 0, 200);
    batch(3, 1, 4, 1, 1000);
    cr_assert_eq(expected_us(3), 450);
    cr_assert_eq(expected_us(4), 300);
    batch(3, 1, 4, 1, 375);
    cr_assert_eq(expected_us(3), 337);
    cr_assert_eq(expected_us(4), 225);
    batch(4, 2, 3, 0, 100000);
    cr_assert_eq(expected_us(4), 562);
    cr_assert_eq(expected_us(3), 337, "it had no work");
}

Test(turn_ahead, expectations_have_bounds)
{
    batch(3, 1, 4, 0, 0);
    cr_assert_eq(expected_us(3), 8);
    batch(4, 1, 3, 0, 100000000);
    cr_assert_eq(ahead.expected_ns[4], 4 * GA_NS_PER_S);
}

Test(turn_ahead, works_in_flight_are_not_learned_from_yet)
{
    const bool first_side[2] = {false, true};
    turn_ahead_begin(&ahead, 3, HORIZON_NS, none_in_flight, 0);
    cr_assert_eq(ahead.side, 1);
    turn_ahead_begin(&ahead, 4, HORIZON_NS, first_side, 100 * GA_NS_PER_US);
    cr_assert_eq(ahead.side, 0);
    cr_assert_eq(ahead.expected_ns[3], TURN_AHEAD_UNKNOWN);
    cr_assert_eq(ahead.works[1][3], 1);
    turn_ahead_begin(&ahead, 3, HORIZON_NS, none_in_flight, 300 * GA_NS_PER_US);
    cr_assert_eq(expected_us(3), 100, "both of them took 200 us");
    cr_assert_eq(expected_us(4), 100);
}

Test(turn_ahead, a_batch_is_half_of_the_horizon_less_its_first_work)
{
    ahead.expected_ns[3] = 500000;
    turn_ahead_begin(&ahead, 3, 4000000, none_in_flight, 0);
    cr_assert_eq(ahead.left_ns, 1500000);
    cr_assert(turn_ahead_fits(&ahead, 3));
    cr_assert_eq(ahead.left_ns, 1000000);
    cr_assert_eq(ahead.works[1][3], 2);
    turn_ahead_go_on(&ahead, 3, 4000000);
    cr_assert_eq(ahead.left_ns, 1500000);
    turn_ahead_end(&ahead);
    cr_assert_not(turn_ahead_fits(&ahead, 3));
    turn_ahead_go_on(&ahead, 9, 4000000);
    cr_assert_eq(ahead.expected_ns[9], 500000, "of a new kind a quarter of the batch");
}

Test(turn_ahead, a_long_work_waits_for_all_and_a_short_one_for_the_other_side)
{
    const bool own[2] = {true, false}, other[2] = {false, true};
    ahead.expected_ns[3] = (uint32_t)HORIZON_NS;
    ahead.expected_ns[4] = (uint32_t)HORIZON_NS + 1;
    cr_assert(turn_ahead_may_begin(&ahead, 3, HORIZON_NS, own));
    cr_assert_not(turn_ahead_may_begin(&ahead, 4, HORIZON_NS, own));
    cr_assert_not(turn_ahead_may_begin(&ahead, 3, HORIZON_NS, other));
    cr_assert(turn_ahead_may_begin(&ahead, 4, HORIZON_NS, none_in_flight));
}
