/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for each other: none may wait for ever, and all must see what they wait for.
 * Every kernel runs with no worker beside the calling thread, where nothing but the scheduler lets
 * others go on, and with three. */
#include <criterion/criterion.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_waiting(void)
{
    engine_open(&engine, 0);
    engine_load_file(&engine, "waiting");
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(waiting, .init = open_waiting, .fini = shut, .timeout = 120);

static void no_fault(const char *kernel)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s: %s at PTX line %u", kernel,
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* Then the same with workers. */
static bool again(int *round)
{
    if (*round == 1) {
        engine_close(&engine);
        engine_open(&engine, 3);
        engine_load_file(&engine, "waiting");
    }
    return (*round)++ < 2;
}

#define BOTH for (int round_ = 0; again(&round_);)

static void take_lock(const char *kernel, uint32_t blocks, uint32_t threads)
{
    int *lock = engine_memory(&engine, 4096), *count = engine_memory(&engine, 4), due = 0;
    for (uint32_t t = 0; t < threads; t++) {
        due += (int)(blocks * (t % 3 + 1));
    }
    ENGINE_LAUNCH(&engine, kernel, blocks, threads, 0, PTR(lock), PTR(count));
    no_fault(kernel);
    cr_assert_eq(*count, due, "%s: %d, not %d", kernel, *count, due);
    cr_assert_eq(lock[0], 0, "%s", kernel);
}

Test(waiting, locks_in_all_spellings)
{
    BOTH
    {
        take_lock("lock_done_flag", 3, 80);
        take_lock("lock_do_while", 3, 80);
        take_lock("lock_backoff", 3, 80);
        take_lock("lock_ticket", 3, 80);
        take_lock("lock_goto", 3, 80);
        take_lock("lock_in_calls", 2, 33);
    }
}

Test(waiting, two_locks)
{
    BOTH
    {
        int *lock = engine_memory(&engine, 64), *count = engine_memory(&engine, 64);
        ENGINE_LAUNCH(&engine, "lock_two", 3, 80, 0, PTR(lock), PTR(count));
        no_fault("lock_two");
        cr_assert_eq(count[0], 240);
        cr_assert_eq(count[1], 240);
    }
}

Test(waiting, a_lane_for_another_with_calls_in_the_loop)
{
    BOTH
    {
        int *flag = engine_memory(&engine, 4), *out = engine_memory(&engine, 4);
        ENGINE_LAUNCH(&engine, "lane_waits_in_calls", 1, 32, 0, PTR(flag), PTR(out));
        no_fault("lane_waits_in_calls");
        cr_assert_eq(*out, 79);
    }
}

Test(waiting, each_lane_for_the_next)
{
    enum { N = 96 };
    BOTH
    {
        int *flags = engine_memory(&engine, 4 * N), *out = engine_memory(&engine, 4 * N);
        ENGINE_LAUNCH(&engine, "lane_chain", 1, N, 0, PTR(flags), PTR(out));
        no_fault("lane_chain");
        for (int t = 0; t < N; t++) {
            cr_assert_eq(out[t], N - t, "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, turns_at_the_bottom_of_recursions)
{
    enum { N = 64 };
    BOTH
    {
        int *turn = engine_memory(&engine, 4);
        unsigned *out = engine_memory(&engine, 4 * N);
        ENGINE_LAUNCH(&engine, "turns_in_recursion", 1, N, 0, PTR(turn), PTR(out));
        no_fault("turns_in_recursion");
        for (unsigned t = 0; t < N; t++) {
            unsigned depth = t % 7;
            cr_assert_eq(out[t], t + depth * (depth + 1) / 2, "thread %u: %u", t, out[t]);
        }
    }
}

Test(waiting, a_warp_for_another)
{
    enum { ROUNDS = 200 };
    BOTH
    {
        int *out = engine_memory(&engine, 128);
        ENGINE_LAUNCH(&engine, "warp_pipeline", 1, 64, 0, PTR(out), ROUNDS);
        no_fault("warp_pipeline");
        for (int t = 0; t < 32; t++) {
            cr_assert_eq(out[t], 3 * ROUNDS * (ROUNDS - 1) / 2, "lane %d: %d", t, out[t]);
        }
    }
}

Test(waiting, blocks_for_those_before_them)
{
    enum { BLOCKS = 500, N = 40 };
    BOTH
    {
        int *state = engine_memory(&engine, 4 * BLOCKS), *sums = engine_memory(&engine, 4 * BLOCKS);
        int *ticket = engine_memory(&engine, 4), *out = engine_memory(&engine, 4 * BLOCKS * N);
        ENGINE_LAUNCH(&engine, "look_back", BLOCKS, N, 0, PTR(state), PTR(sums), PTR(ticket),
                      PTR(out));
        no_fault("look_back");
        for (int b = 0; b < BLOCKS; b++) {
            for (int t = 0; t < N; t++) {
                cr_assert_eq(out[b * N + t], N * b * (b + 1) / 2 + (b + 1) * (t + 1));
            }
        }
    }
}

Test(waiting, blocks_in_turn)
{
    enum { BLOCKS = 6, ROUNDS = 8 };
    BOTH
    {
        int *turn = engine_memory(&engine, 4), *out = engine_memory(&engine, 4);
        ENGINE_LAUNCH(&engine, "ping_pong", BLOCKS, 33, 0, PTR(turn), PTR(out), ROUNDS);
        no_fault("ping_pong");
        cr_assert_eq(*out, BLOCKS * ROUNDS);
    }
}

Test(waiting, grids_again_and_again)
{
    enum { BLOCKS = 20, ROUNDS = 30 };
    BOTH
    {
        int *value = engine_memory(&engine, 4 * (ROUNDS + 1));
        engine.workspace = engine_memory(&engine, SG_GRID_WORKSPACE);
        ENGINE_LAUNCH(&engine, "grid_sum", BLOCKS, 64, 0, PTR(value), ROUNDS);
        engine.workspace = NULL;
        no_fault("grid_sum");
        cr_assert_eq(value[ROUNDS], 0, "%d threads went on too early", value[ROUNDS]);
        cr_assert_eq(value[ROUNDS - 1], BLOCKS * 64);
    }
}

Test(waiting, barriers_from_several_places)
{
    enum { N = 200, ROUNDS = 50 };
    BOTH
    {
        int *out = engine_memory(&engine, 4 * N);
        ENGINE_LAUNCH(&engine, "barriers_here_and_there", 2, N, 0, PTR(out), ROUNDS);
        no_fault("barriers_here_and_there");
        for (int t = 0; t < N; t++) {
            int due = 0, other = N - 1 - t;
            for (int i = 0; i < ROUNDS; i++) {
                int factor = (other ^ i) & 1 ? 1 : (other ^ i) & 2 ? 2 : 3;
                due += factor * other + i;
            }
            cr_assert_eq(out[t], due, "thread %d: %d, not %d", t, out[t], due);
        }
    }
}

Test(waiting, barriers_in_calls)
{
    BOTH
    {
        int *out = engine_memory(&engine, 4 * 128);
        ENGINE_LAUNCH(&engine, "barriers_in_calls", 1, 128, 0, PTR(out));
        no_fault("barriers_in_calls");
        for (int t = 0; t < 128; t++) {
            cr_assert_eq(out[t], (t ^ 1) * 5 + t % 5, "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, threads_leave_one_by_one)
{
    enum { N = 150 };
    BOTH
    {
        int *out = engine_memory(&engine, 4 * N);
        ENGINE_LAUNCH(&engine, "leave_one_by_one", 1, N, 0, PTR(out));
        no_fault("leave_one_by_one");
        for (int t = 0; t < N; t++) {
            cr_assert_eq(out[t], t, "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, barriers_of_a_part_of_the_block)
{
    enum { N = 256, ROUNDS = 100 };
    BOTH
    {
        int *out = engine_memory(&engine, 4 * N);
        ENGINE_LAUNCH(&engine, "subsets", 1, N, 0, PTR(out), ROUNDS);
        no_fault("subsets");
        for (int t = 0; t < N; t++) {
            cr_assert_eq(out[t], ROUNDS * (ROUNDS - 1) / 2 + ROUNDS * (t / 64), "thread %d", t);
        }
    }
}

Test(waiting, arrive_and_sync_in_a_ring)
{
    enum { ROUNDS = 101 };
    BOTH
    {
        int *out = engine_memory(&engine, 128), due = 0;
        for (int i = 0; i < ROUNDS; i++) {
            due += i * i;
        }
        ENGINE_LAUNCH(&engine, "ring", 1, 64, 0, PTR(out), ROUNDS);
        no_fault("ring");
        for (int t = 0; t < 32; t++) {
            cr_assert_eq(out[t], due, "lane %d: %d, not %d", t, out[t], due);
        }
    }
}

Test(waiting, barriers_that_count)
{
    enum { N = 100 };
    BOTH
    {
        int *out = engine_memory(&engine, 4 * N), first = 0, second = 0;
        for (int t = 0; t < N; t++) {
            first += t % 3 == 0;
            second += t & 1 ? t % 5 == 1 : t % 5 == 2;
        }
        ENGINE_LAUNCH(&engine, "votes", 3, N, 0, PTR(out));
        no_fault("votes");
        for (int t = 0; t < N; t++) {
            cr_assert_eq(out[t], (first + second) * 8 + 6, "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, lanes_in_part)
{
    BOTH
    {
        int *out = engine_memory(&engine, 4 * 64);
        ENGINE_LAUNCH(&engine, "partial", 1, 64, 0, PTR(out));
        no_fault("partial");
        for (int t = 0; t < 64; t++) {
            int lane = t % 32, due = lane >= 20 ? 0 : lane & 1 ? 70 : 41;
            due += lane % 5 == 2 ? 4000 : 0;
            due += lane >= 16 ? 100000 : 0;
            cr_assert_eq(out[t], due, "thread %d: %d, not %d", t, out[t], due);
        }
    }
}

Test(waiting, lanes_meet_in_functions)
{
    BOTH
    {
        int *out = engine_memory(&engine, 4 * 64);
        ENGINE_LAUNCH(&engine, "shuffle_in_calls", 1, 64, 0, PTR(out));
        no_fault("shuffle_in_calls");
        for (int t = 0; t < 64; t++) {
            int p = t ^ 1, value = p & 1 ? p : p & 2 ? 2 * p : 3 * p;
            int due = value + (t & 1 ? 0 : t & 2 ? 100 : 200);
            cr_assert_eq(out[t], due, "thread %d: %d, not %d", t, out[t], due);
        }
        ENGINE_LAUNCH(&engine, "vote_in_recursion", 1, 32, 0, PTR(out));
        no_fault("vote_in_recursion");
        for (int t = 0; t < 32; t++) {
            cr_assert_eq(out[t], 11 + t % 4, "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, lanes_that_leave)
{
    BOTH
    {
        int *out = engine_memory(&engine, 4 * 64);
        ENGINE_LAUNCH(&engine, "lanes_leave", 1, 64, 0, PTR(out));
        no_fault("lanes_leave");
        for (int t = 0; t < 64; t++) {
            cr_assert_eq(out[t], 31 * (t % 32 + 1), "thread %d: %d", t, out[t]);
        }
    }
}

Test(waiting, half_a_warp_for_the_other)
{
    enum { ROUNDS = 60 };
    BOTH
    {
        int *box = engine_memory(&engine, 4 * 32), *out = engine_memory(&engine, 4 * 32);
        ENGINE_LAUNCH(&engine, "halves", 1, 32, 0, PTR(box), PTR(out), ROUNDS);
        no_fault("halves");
        for (int t = 0; t < 32; t++) {
            int due = 0;
            for (int i = t < 16 ? 1 : 0; i < ROUNDS; i += 2) {
                due += i * 100 + (t ^ 16);
            }
            cr_assert_eq(out[t], due, "lane %d: %d, not %d", t, out[t], due);
        }
    }
}

Test(waiting, tiles_go_different_ways)
{
    BOTH
    {
        int *out = engine_memory(&engine, 4 * 128);
        ENGINE_LAUNCH(&engine, "tiles", 1, 128, 0, PTR(out));
        no_fault("tiles");
        for (int t = 0; t < 128; t++) {
            int due = 0;
            for (int i = 0; i <= t / 8 % 4; i++) {
                due += 28 + 8 * i;
            }
            cr_assert_eq(out[t], due, "thread %d: %d, not %d", t, out[t], due);
        }
    }
}
