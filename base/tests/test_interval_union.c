/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/interval_union.h"

static uint64_t told;

static void news(void *user, uint64_t from, uint64_t to)
{
    (void)user;
    cr_assert_lt(from, to);
    told += to - from;
}

/* It tells what is new. */
static void add(struct ga_interval_union *all, uint64_t from, uint64_t to)
{
    uint64_t before = all->length;
    told = 0;
    ga_interval_union_add(all, from, to, news, NULL);
    cr_assert_eq(told, all->length - before);
}

Test(interval_union, what_is_in_several_counts_once)
{
    struct ga_interval_union all = {0};
    add(&all, 100, 200);
    cr_assert_eq(all.length, 100);
    add(&all, 150, 250);
    cr_assert_eq(all.length, 150);
    add(&all, 120, 130);
    cr_assert_eq(all.length, 150);
    add(&all, 100, 250);
    cr_assert_eq(all.length, 150);
    add(&all, 250, 260);
    cr_assert(all.length == 160 && all.count == 1, "touching spans are one");
    add(&all, 300, 300);
    add(&all, 310, 300);
    cr_assert_eq(all.length, 160);
}

Test(interval_union, a_late_one_joins_what_is_there)
{
    struct ga_interval_union all = {0};
    add(&all, 10, 20);
    add(&all, 50, 60);
    add(&all, 30, 40);
    cr_assert(all.length == 30 && all.count == 3);
    add(&all, 0, 55);
    cr_assert(all.length == 60 && all.count == 1);
}

Test(interval_union, what_is_too_late_counts_from_the_oldest_gap_on)
{
    struct ga_interval_union all = {0};
    for (uint64_t i = 0; i <= GA_INTERVAL_SPANS; i++) {
        add(&all, 100 * i + 50, 100 * i + 60);
    }
    cr_assert_eq(all.length, 10 * (GA_INTERVAL_SPANS + 1));
    add(&all, 0, 100); /* over the one that is forgotten, and what lies behind */
    cr_assert_eq(all.length, 10 * (GA_INTERVAL_SPANS + 1) + 40);
    add(&all, 0, 55);
    cr_assert_eq(all.length, 10 * (GA_INTERVAL_SPANS + 1) + 40);
}

/* Against a bit for each unit of time. */
Test(interval_union, any_order_gives_the_same)
{
    static unsigned char busy[1000];
    struct ga_interval_union all = {0};
    uint64_t expected = 0;
    srand(7);
    for (unsigned i = 0; i < 400; i++) {
        uint64_t from = (uint64_t)rand() % 990, to = from + (uint64_t)rand() % 10;
        add(&all, from, to);
        for (uint64_t at = from; at < to; at++) {
            expected += busy[at] == 0;
            busy[at] = 1;
        }
        if (all.floor == 0) {
            cr_assert_eq(all.length, expected, "after %u", i);
        }
        cr_assert_leq(all.length, expected);
        for (uint32_t n = 1; n < all.count; n++) {
            cr_assert_lt(all.spans[n - 1].to, all.spans[n].from);
        }
    }
}
