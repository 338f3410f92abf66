/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the time of a GPU is, when several had work for it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/usage/time_shares.h"

#define USERS 8u
#define SPAN  400u /* units of time */

static const enum gpu_engine COMPUTE = GPU_COMPUTE, H2D = GPU_H2D;

static struct time_shares shares;
static struct time_share of[USERS];

static void begin(void)
{
    memset(of, 0, sizeof of);
    time_shares_init(&shares, 0);
}

static void had_works(unsigned user, enum gpu_engine engine, uint64_t from, uint64_t to, bool ends,
                      bool single)
{
    const struct time_piece piece = {engine, from, to, ends, single};
    cr_assert_eq(time_shares_add(&shares, &of[user], &piece), GA_OK);
}

static void had(unsigned user, enum gpu_engine engine, uint64_t from, uint64_t to)
{
    had_works(user, engine, from, to, true, true);
}

static void divide(uint64_t until)
{
    cr_assert_eq(time_shares_divide(&shares, until), GA_OK);
}

static double sum_ns(void)
{
    double sum = 0;
    for (unsigned i = 0; i < USERS; i++) {
        sum += of[i].gpu_ns;
    }
    return sum;
}

Test(time_shares, of_one_alone_all_is_his)
{
    begin();
    had(0, COMPUTE, 100, 200);
    had(0, H2D, 150, 250);
    divide(1000);
    cr_assert_float_eq(of[0].gpu_ns, 150, 1e-9, "what is of two engines counts once");
    cr_assert_float_eq(of[0].engine_ns[COMPUTE], 100, 1e-9);
    cr_assert_float_eq(of[0].engine_ns[H2D], 100, 1e-9);
    time_shares_fini(&shares);
}

/* Each has work for as long as all of them together need. */
Test(time_shares, copies_of_one_program_get_what_one_gets)
{
    for (unsigned n = 1; n <= USERS; n++) {
        begin();
        for (unsigned i = 0; i < n; i++) {
            had(i, COMPUTE, 1000, 1000 + 600 * n);
        }
        divide(100000);
        for (unsigned i = 0; i < n; i++) {
            cr_assert_float_eq(of[i].gpu_ns, 600, 1e-6);
            cr_assert_float_eq(of[i].engine_ns[COMPUTE], 600, 1e-6);
            cr_assert_eq(of[i].had_ns[COMPUTE], 600 * n);
        }
        time_shares_fini(&shares);
    }
}

Test(time_shares, engines_that_work_at_a_time_have_a_part_each)
{
    begin();
    had(0, COMPUTE, 0, 120);
    had(1, H2D, 0, 120);
    had(2, H2D, 0, 120);
    divide(120);
    cr_assert_float_eq(of[0].engine_ns[COMPUTE], 120, 1e-9, "nobody else has kernels");
    cr_assert_float_eq(of[1].engine_ns[H2D], 60, 1e-9);
    cr_assert_float_eq(of[0].gpu_ns, 60, 1e-9);
    cr_assert_float_eq(of[1].gpu_ns, 30, 1e-9);
    cr_assert_float_eq(of[2].gpu_ns, 30, 1e-9);
    time_shares_fini(&shares);
}

/* Nothing of it is lost, and nobody gets more than there is. */
Test(time_shares, what_comes_late_counts_later)
{
    begin();
    had(0, COMPUTE, 0, 100);
    divide(100);
    had(1, COMPUTE, 50, 100);
    cr_assert_float_eq(of[1].gpu_ns, 0, 1e-9, "that time is all divided");
    had(1, COMPUTE, 100, 130); /* from 150 to 180, thereby */
    divide(120);
    cr_assert_float_eq(of[1].gpu_ns, 20, 1e-9);
    had(0, COMPUTE, 130, 150);
    divide(200);
    cr_assert_float_eq(of[0].gpu_ns + of[1].gpu_ns, 180, 1e-9);
    cr_assert_float_eq(of[1].gpu_ns, 70, 1e-9);
    time_shares_forget(&shares, &of[0]);
    cr_assert_eq(shares.count, 0u);
    time_shares_fini(&shares);
}

/* Each submits one work of 10 after the other, and each waits for those of all others. */

/* It goes, and has told late of what lies before. */
Test(time_shares, what_is_settled_is_no_more_than_there_is)
{
    begin();
    had(0, COMPUTE, 0, 1000);
    divide(1000);
    had(1, COMPUTE, 0, 600); /* late */
    had(1, H2D, 1100, 1200);
    had(2, COMPUTE, 1000, 1400);
    time_shares_settle(&shares, &of[1], 10000);
    cr_assert_float_eq(of[1].gpu_ns, 600, 1e-9, "both engines at a time: %f", of[1].gpu_ns);
    cr_assert_float_eq(of[1].engine_ns[COMPUTE], 600, 1e-9);
    cr_assert_float_eq(of[1].engine_ns[H2D], 100, 1e-9);
    cr_assert_float_eq(shares.given_ns, 1600, 1e-9);
    divide(2000);
    cr_assert_float_eq(of[1].gpu_ns, 600, 1e-9, "nothing of it is left");
    cr_assert_float_eq(of[0].gpu_ns, 1000, 1e-9, "others keep what they have");
    cr_assert_float_eq(of[2].gpu_ns, 400, 1e-9);
    had(1, COMPUTE, 0, 600);
    time_shares_settle(&shares, &of[1], 250);
    cr_assert_float_eq(of[1].gpu_ns, 850, 1e-9, "no more than is left");
    cr_assert_float_eq(shares.given_ns, 2250, 1e-9);
    cr_assert_float_eq(sum_ns(), 2250, 1e-9);
    time_shares_settle(&shares, &of[1], 250);
    cr_assert_float_eq(of[1].gpu_ns, 850, 1e-9, "once");
    time_shares_fini(&shares);
}

Test(time_shares, of_works_one_after_the_other_each_gets_his_own)
{
    const uint64_t works = 60;
    for (unsigned n = 1; n <= USERS; n++) {
        begin();
        shares.serial = true;
        for (uint64_t i = 0; i < works; i++) {
            for (unsigned user = 0; user < n; user++) {
                uint64_t before = i != 0 ? (n * (i - 1) + user + 1) * 10 : 0;
                had(user, COMPUTE, before, (n * i + user + 1) * 10);
            }
            divide(n * i * 10);
        }
        divide(100000);
        for (unsigned user = 0; user < n; user++) {
            cr_assert_float_eq(of[user].gpu_ns, 600, 1e-6, "%u of %u: %g", user, n,
                               of[user].gpu_ns);
        }
        time_shares_fini(&shares);
    }
}

/* And others lose no more by it than by somebody who always has work. */
Test(time_shares, who_says_things_twice_has_them_once)
{
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        had(0, COMPUTE, i % 7, 90 + i % 11);
    }
    had(1, COMPUTE, 20, 80);
    divide(1000);
    cr_assert_float_eq(of[1].gpu_ns, 30, 1e-6);
    cr_assert_float_eq(of[0].gpu_ns, 70, 1e-6);
    time_shares_fini(&shares);
}

Test(time_shares, several_works_at_a_time_are_divided_evenly)
{
    begin();
    shares.serial = true;
    had_works(0, COMPUTE, 0, 100, true, false);
    had(1, COMPUTE, 0, 40);
    had(1, COMPUTE, 50, 100);
    divide(1000);
    cr_assert_float_eq(of[0].gpu_ns, 55, 1e-9);
    cr_assert_float_eq(of[1].gpu_ns, 45, 1e-9);
    time_shares_fini(&shares);
}

/* One that is told while it goes on ends behind all that are known to have ended. */
Test(time_shares, a_long_work_is_behind_those_that_end_before_it)
{
    begin();
    shares.serial = true;
    had_works(0, COMPUTE, 0, 40, false, true);
    had(1, COMPUTE, 5, 30);
    divide(40);
    had_works(0, COMPUTE, 40, 90, true, true);
    had(1, COMPUTE, 40, 100);
    divide(100);
    cr_assert_float_eq(of[1].gpu_ns, 25 + 10, 1e-9);
    cr_assert_float_eq(of[0].gpu_ns, 100 - 35, 1e-9);
    time_shares_fini(&shares);
}

/* ---- against a sum over each unit of time */

static uint8_t works[USERS][GPU_ENGINES][SPAN];

static unsigned any(unsigned below)
{
    return (unsigned)rand() % below;
}

/* Disjoint pieces of each engine, in any order. */
static void pieces_make(unsigned density)
{
    memset(works, 0, sizeof works);
    for (unsigned user = 0; user < USERS; user++) {
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            for (unsigned i = 0; i < any(density + 1); i++) {
                unsigned from = any(SPAN - 60), to = from + any(60);
                for (unsigned at = from; at < to; at++) {
                    works[user][engine][at] = 1;
                }
            }
        }
    }
}

static void pieces_tell(unsigned user, unsigned engine, unsigned from, unsigned to)
{
    const uint8_t *at = works[user][engine];
    for (unsigned begin = from, end; begin < to; begin = end + 1) {
        for (end = begin; end < to && at[end] != 0; end++) {
        }
        had(user, (enum gpu_engine)engine, begin, end);
    }
}

static void expect_unit(unsigned at, struct time_share expected[USERS], double *used)
{
    unsigned with_work[GPU_ENGINES] = {0}, working = 0;
    for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
        for (unsigned user = 0; user < USERS; user++) {
            with_work[engine] += works[user][engine][at];
        }
        working += with_work[engine] != 0;
    }
    *used += working != 0;
    for (unsigned user = 0; user < USERS; user++) {
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            if (works[user][engine][at] != 0) {
                expected[user].engine_ns[engine] += 1.0 / with_work[engine];
                expected[user].gpu_ns += 1.0 / with_work[engine] / working;
            }
        }
    }
}

static void expect_same(const struct time_share expected[USERS], unsigned round, unsigned until)
{
    for (unsigned user = 0; user < USERS; user++) {
        cr_assert_float_eq(of[user].gpu_ns, expected[user].gpu_ns, 1e-6, "round %u, until %u",
                           round, until);
        for (unsigned i = 0; i < GPU_ENGINES; i++) {
            cr_assert_float_eq(of[user].engine_ns[i], expected[user].engine_ns[i], 1e-6);
        }
    }
}

Test(time_shares, random_pieces_are_divided_as_instant_by_instant)
{
    srand(11);
    for (unsigned round = 0; round < 300; round++) {
        struct time_share expected[USERS] = {0};
        double used = 0;
        begin();
        pieces_make(1 + any(6));
        for (unsigned until = 0; until < SPAN;) {
            unsigned from = until;
            until += 1 + any(150);
            until = until < SPAN ? until : SPAN;
            for (unsigned i = 0; i < USERS * GPU_ENGINES; i++) {
                pieces_tell((i + round) % USERS, i / USERS, from, until);
            }
            divide(until);
            for (unsigned at = from; at < until; at++) {
                expect_unit(at, expected, &used);
            }
            expect_same(expected, round, until);
            cr_assert_float_eq(sum_ns(), used, 1e-6, "all is somebody's, once");
        }
        time_shares_fini(&shares);
    }
}

/* A process reports impossible times: pieces one over the other, late, in the future. */
Test(time_shares, whatever_is_told_no_more_is_divided_than_there_is)
{
    srand(12);
    for (unsigned round = 0; round < 300; round++) {
        uint64_t now = 1000;
        begin();
        time_shares_init(&shares, now);
        shares.serial = round % 2 == 0;
        for (unsigned i = 0; i < 200; i++) {
            double before = sum_ns();
            uint64_t step = any(50);
            for (unsigned k = any(6); k != 0; k--) {
                uint64_t from = now - 500 + any(1000);
                had_works(any(USERS), (enum gpu_engine)any(GPU_ENGINES), from, from + any(700),
                          any(2) == 0, any(4) != 0);
            }
            if (any(20) == 0) {
                time_shares_forget(&shares, &of[any(USERS)]);
            }
            now += step;
            divide(now);
            cr_assert_leq(sum_ns() - before, (double)step + 1e-6);
            for (unsigned user = 0; user < USERS; user++) {
                cr_assert(of[user].gpu_ns >= 0 && of[user].gpu_ns <= (double)(now - 1000) + 1e-6);
            }
        }
        time_shares_fini(&shares);
    }
}
