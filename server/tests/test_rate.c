/* SPDX-License-Identifier: Apache-2.0 */
/* Rates: who is below one never waits, who is above one waits for just so long. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "server/charge/rate.h"

#define BEGIN (100 * GA_NS_PER_S)

Test(rate, no_limit_is_never_waited_for)
{
    struct rate rate = {.per_second = UINT64_MAX};
    cr_assert_leq(rate_count(&rate, UINT64_MAX, BEGIN), BEGIN);
}

Test(rate, a_tenth_of_a_second_comes_at_once)
{
    struct rate rate = {.per_second = 1000};
    cr_assert_leq(rate_count(&rate, 100, BEGIN), BEGIN);
    cr_assert_eq(rate_count(&rate, 101, BEGIN), BEGIN + GA_NS_PER_MS);
}

Test(rate, over_a_long_time_it_is_exact)
{
    struct rate rate = {.per_second = 1000003};
    uint64_t now = BEGIN, count = 0;
    for (unsigned i = 0; i < 100000; i++) {
        count += i % 37;
        uint64_t due = rate_count(&rate, count, now);
        now = due > now ? due : now;
    }
    double seconds = (double)(now - BEGIN) / (double)GA_NS_PER_S;
    cr_assert_float_eq(seconds, (double)count / 1000003 - 0.1, 0.001);
}

Test(rate, who_has_paused_has_no_more_than_the_burst)
{
    struct rate rate = {.per_second = 1000};
    (void)rate_count(&rate, 10, BEGIN);
    uint64_t later = BEGIN + 3600 * GA_NS_PER_S;
    cr_assert_leq(rate_count(&rate, 110, later), later);
    cr_assert_gt(rate_count(&rate, 200, later), later);
}

Test(rate, who_is_below_it_never_waits_however_rarely_he_is_looked_at)
{
    struct rate rate = {.per_second = 1000};
    uint64_t now = BEGIN, looks = 0;
    for (uint64_t count = 1; count < 100000; count++) {
        now += GA_NS_PER_MS + (count > 50000) * GA_NS_PER_MS; /* at the rate, then at half of it */
        if (count - rate.counted > rate.free) {
            cr_assert_leq(rate_count(&rate, count, now), now);
            looks += count > 50000;
        }
    }
    cr_assert_lt(looks, 50000 / 20);
}

Test(rate, what_is_not_looked_at_is_counted)
{
    struct rate rate = {.per_second = 1000};
    uint64_t due = 0, count = 0;
    while (due <= BEGIN) {
        count++;
        due = count - rate.counted > rate.free ? rate_count(&rate, count, BEGIN) : due;
    }
    cr_assert_eq(count, 101, "no more than the burst comes at once");
}

Test(rate, large_counts_do_not_overflow)
{
    struct rate rate = {.per_second = UINT64_C(1) << 50};
    uint64_t due = rate_count(&rate, UINT64_C(1) << 60, BEGIN);
    cr_assert_eq(due, BEGIN + 1024 * GA_NS_PER_S - GA_NS_PER_S / 10);
}

Test(rate, another_limit_forgives_nothing)
{
    struct rate rate = {.per_second = UINT64_MAX};
    rate_change(&rate, 1000, 1000000, BEGIN);
    cr_assert_eq(rate.due_ns, BEGIN, "what was before the limit does not count");
    (void)rate_count(&rate, 1002000, BEGIN);
    rate_change(&rate, 4000, 1002000, BEGIN + GA_NS_PER_S);
    cr_assert_eq(rate.due_ns, BEGIN + GA_NS_PER_S + GA_NS_PER_S / 4, "1000 are left");
    rate_change(&rate, 1, 1002000, BEGIN + GA_NS_PER_S);
    cr_assert_eq(rate.due_ns, BEGIN + 1001 * GA_NS_PER_S);
    rate_change(&rate, UINT64_MAX, 1002000, BEGIN + GA_NS_PER_S);
    cr_assert_eq(rate.due_ns, BEGIN + GA_NS_PER_S);
}
