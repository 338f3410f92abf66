/* SPDX-License-Identifier: Apache-2.0 */
/* Timers on a clock that stands still until a test moves it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/tests/still_clock.h"

#define COUNT 40u

static struct still_clock still;

struct one {
    struct server_timer timer;
    char name;
    unsigned calls;
} all[COUNT];

static char called[200]; /* names, in order */

static struct one *one_of(struct server_timer *timer)
{
    struct one *one = ga_container(timer, struct one, timer);
    size_t length = strlen(called);
    one->calls++;
    if (length + 1 < sizeof called) {
        called[length] = one->name;
    }
    return one;
}

static void note(struct server_timer *timer)
{
    (void)one_of(timer);
}

static void start(void)
{
    still_clock_init(&still);
    for (unsigned i = 0; i < COUNT; i++) {
        all[i].name = (char)('a' + i);
    }
}

TestSuite(timers, .init = start);

static void pass(uint64_t ms)
{
    still_clock_pass(&still, ms);
}

Test(timers, the_earliest_is_called_first_and_of_two_the_one_started_first)
{
    timers_start(&still.timers, &all[0].timer, note, 30, 0);
    timers_start(&still.timers, &all[1].timer, note, 10, 0);
    timers_start(&still.timers, &all[2].timer, note, 20, 0);
    timers_start(&still.timers, &all[3].timer, note, 10, 0);
    cr_assert_eq(still.next_ns, still.now_ns + 10 * GA_NS_PER_MS);
    pass(9);
    cr_assert_str_eq(called, "");
    pass(1);
    cr_assert_str_eq(called, "bd");
    cr_assert_eq(still.next_ns, still.now_ns + 10 * GA_NS_PER_MS);
    pass(100);
    cr_assert_str_eq(called, "bdca");
    cr_assert_eq(still.next_ns, UINT64_MAX);
    cr_assert_not(all[0].timer.runs);
}

Test(timers, one_that_repeats_is_late_rather_than_called_twice)
{
    timers_start(&still.timers, &all[0].timer, note, 5, 10);
    pass(5);
    pass(9);
    cr_assert_eq(all[0].calls, 1);
    pass(1);
    cr_assert_eq(all[0].calls, 2);
    pass(35);
    cr_assert_eq(all[0].calls, 3);
    cr_assert_eq(still.next_ns, still.now_ns + 10 * GA_NS_PER_MS);
    timers_stop(&still.timers, &all[0].timer);
    timers_stop(&still.timers, &all[0].timer);
    cr_assert_eq(still.next_ns, UINT64_MAX);
    pass(100);
    cr_assert_eq(all[0].calls, 3);
}

Test(timers, one_that_runs_already_is_started_anew)
{
    timers_start(&still.timers, &all[0].timer, note, 5, 5);
    timers_start(&still.timers, &all[1].timer, note, 7, 0);
    timers_start(&still.timers, &all[0].timer, note, 9, 0);
    cr_assert_eq(still.next_ns, still.now_ns + 7 * GA_NS_PER_MS, "the host hears that it is later");
    pass(8);
    cr_assert_str_eq(called, "b");
    pass(1);
    pass(100);
    cr_assert_str_eq(called, "ba");
}

static void note_and_start_at_once(struct server_timer *timer)
{
    (void)one_of(timer);
    timers_start(&still.timers, timer, note_and_start_at_once, 0, 0);
}

Test(timers, what_is_started_meanwhile_waits_for_the_next_run)
{
    timers_start(&still.timers, &all[0].timer, note_and_start_at_once, 0, 0);
    pass(0);
    cr_assert_eq(all[0].calls, 1);
    cr_assert_eq(still.next_ns, still.now_ns);
    pass(0);
    cr_assert_eq(all[0].calls, 2);
}

static void note_and_stop_the_next(struct server_timer *timer)
{
    struct one *one = one_of(timer);
    timers_stop(&still.timers, &one[1].timer);
}

static void note_and_stop_itself(struct server_timer *timer)
{
    (void)one_of(timer);
    timers_stop(&still.timers, timer);
}

Test(timers, a_timer_may_stop_others_and_itself)
{
    timers_start(&still.timers, &all[0].timer, note_and_stop_the_next, 1, 0);
    timers_start(&still.timers, &all[1].timer, note, 1, 1);
    timers_start(&still.timers, &all[2].timer, note_and_stop_itself, 1, 1);
    pass(1);
    pass(10);
    cr_assert_str_eq(called, "ac");
    cr_assert_eq(still.next_ns, UINT64_MAX);
}

static void free_it(struct server_timer *timer)
{
    free(ga_container(timer, struct one, timer));
}

Test(timers, a_timer_may_free_itself)
{
    struct one *one = calloc(1, sizeof *one);
    timers_start(&still.timers, &one->timer, free_it, 0, 0);
    timers_start(&still.timers, &all[0].timer, note, 0, 0);
    pass(0);
    cr_assert_str_eq(called, "a");
}

/* ---- a host that stands still */

Test(timers, a_stall_counts_for_one_turn)
{
    const uint64_t turn_ms = TIMERS_TURN_NS / GA_NS_PER_MS, began_ns = still.now_ns;
    timers_start(&still.timers, &all[0].timer, note, 3000, 0);
    timers_start(&still.timers, &all[1].timer, note, turn_ms, 0);
    still_clock_stall(&still, 10000);
    cr_assert_str_eq(called, "b");
    cr_assert_eq(timers_now(&still.timers), began_ns + 10000 * GA_NS_PER_MS, "what is booked");
    cr_assert_eq(timers_awake(&still.timers), began_ns + TIMERS_TURN_NS);
    pass(3000 - turn_ms - 1);
    cr_assert_str_eq(called, "b");
    pass(1);
    cr_assert_str_eq(called, "ba");
}

static void note_and_stand_still(struct server_timer *timer)
{
    (void)one_of(timer);
    still.now_ns += 10000 * GA_NS_PER_MS;
}

Test(timers, a_timer_that_takes_long_does_not_make_others_due)
{
    timers_start(&still.timers, &all[0].timer, note_and_stand_still, 1, 0);
    timers_start(&still.timers, &all[1].timer, note, 1000, 0);
    pass(1);
    pass(0);
    cr_assert_str_eq(called, "a");
    pass(1000);
    cr_assert_str_eq(called, "ab");
}

/* Several turns may be needed to read all that has come in a stall. */
Test(timers, a_timer_that_is_started_after_a_stall_has_its_whole_time)
{
    still.now_ns += 10000 * GA_NS_PER_MS;
    timers_start(&still.timers, &all[0].timer, note, 200, 0); /* by what was read in that turn */
    still_clock_stall(&still, 0);
    pass(199);
    cr_assert_str_eq(called, "");
    pass(1);
    cr_assert_str_eq(called, "a");
}

Test(timers, the_host_wakes_more_often_than_a_turn_counts)
{
    timers_start(&still.timers, &all[0].timer, note, 60000, 0);
    for (uint64_t ms = 0; ms < 60000; ms += TIMERS_WAKE_NS / GA_NS_PER_MS) {
        cr_assert_eq(still.next_ns, still.now_ns + TIMERS_WAKE_NS);
        still_clock_stall(&still, (still.next_ns - still.now_ns) / GA_NS_PER_MS);
    }
    cr_assert_str_eq(called, "a");
    cr_assert_eq(still.next_ns, UINT64_MAX, "without a timer it sleeps");
}

Test(timers, a_host_that_has_slept_without_timers_has_not_stood_still_for_them)
{
    still_clock_stall(&still, 3600 * 1000);
    timers_start(&still.timers, &all[0].timer, note, 1000, 0);
    pass(999);
    cr_assert_str_eq(called, "");
    pass(1);
    cr_assert_str_eq(called, "a");
}

/* ---- any number of them, against a table */

static uint64_t chance = 1;

static uint64_t any(uint64_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance % below;
}

static uint64_t due_ns[COUNT], every_ns[COUNT], order[COUNT],
    orders; /* due_ns 0: it does not run */

static void check(struct server_timer *timer)
{
    unsigned i = (unsigned)(one_of(timer) - all);
    cr_assert_neq(due_ns[i], 0, "timer %u does not run", i);
    for (unsigned other = 0; other < COUNT; other++) {
        bool before =
            due_ns[other] < due_ns[i] || (due_ns[other] == due_ns[i] && order[other] < order[i]);
        cr_assert_not(due_ns[other] != 0 && before, "timer %u comes before %u", other, i);
    }
    cr_assert_leq(due_ns[i], still.now_ns);
    due_ns[i] = every_ns[i] != 0 ? still.now_ns + every_ns[i] : 0;
    order[i] = ++orders;
}

Test(timers, any_number_come_in_their_order)
{
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)any(COUNT);
        uint64_t after_ms = any(50), every_ms = any(3) == 0 ? 1 + any(30) : 0;
        if (any(4) == 0) {
            timers_stop(&still.timers, &all[i].timer);
            due_ns[i] = 0;
        } else {
            timers_start(&still.timers, &all[i].timer, check, after_ms, every_ms);
            due_ns[i] = still.now_ns + after_ms * GA_NS_PER_MS;
            every_ns[i] = every_ms * GA_NS_PER_MS;
            order[i] = ++orders;
        }
        pass(any(3) == 0 ? any(20) : 0);
        uint64_t soonest = UINT64_MAX;
        for (unsigned other = 0; other < COUNT; other++) {
            cr_assert_eq(all[other].timer.runs, due_ns[other] != 0);
            cr_assert(due_ns[other] == 0 || due_ns[other] > still.now_ns, "timer %u is late",
                      other);
            soonest = due_ns[other] != 0 && due_ns[other] < soonest ? due_ns[other] : soonest;
        }
        cr_assert_eq(still.next_ns, soonest);
    }
}
