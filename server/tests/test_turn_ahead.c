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
