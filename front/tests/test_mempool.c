/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools over a host whose memory is numbers and whose streams are counters. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "front/front.h"
#include "front/mempool/mempool_state.h"
#include "front/tests/fake_host.h"

#define MIB (UINT64_C(1) << 20)

static struct front_stream one = {.id = 11}, two = {.id = 12};

static struct mempool *make(uint64_t most)
{
    struct mempool *pool = NULL;
    cr_assert_eq(mempool_create(0, most, &pool), CUDA_SUCCESS);
    return pool;
}

static uint64_t take(struct mempool *pool, const struct front_stream *stream, uint64_t bytes)
{
    uint64_t address = 0;
    cr_assert_eq(mempool_take(pool, stream, bytes, &address), CUDA_SUCCESS);
    cr_assert_eq(address % FRONT_MEMPOOL_UNIT, 0);
    return address;
}

Test(mempool, own_memory_comes_back_at_once)
{
    struct mempool *pool = make(0);
    uint64_t first = take(pool, &one, 1000);
    cr_assert_eq(mempool_give(first + 512, &one), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    cr_assert_eq(mempool_give(first, &one), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(take(pool, &one, 900), first);
    cr_assert_eq(fake_pool_bytes, 2 * MIB);
    cr_assert_eq(pool->used, 1024);
    struct front_mempool_found found;
    cr_assert(front_mempool_find(first + 899, &found));
    cr_assert_eq(found.start, first);
    cr_assert_not(front_mempool_find(first + 900, &found), "what was asked for counts");
}

Test(mempool, others_wait_for_the_end_of_the_work)
{
    struct mempool *pool = make(2 * MIB);
    uint64_t first = take(pool, &one, 2 * MIB), other;
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    pool->internal = false;
    cr_assert_eq(mempool_take(pool, &two, MIB, &other), CUDA_ERROR_OUT_OF_MEMORY);
    fake_pool_passed = fake_pool_marks;
    cr_assert_eq(take(pool, &two, MIB), first);
    cr_assert_eq(fake_pool_waits, 0);
}

Test(mempool, a_full_pool_makes_streams_wait)
{
    struct mempool *pool = make(2 * MIB);
    uint64_t first = take(pool, &one, 2 * MIB);
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    cr_assert_eq(take(pool, &two, MIB), first);
    cr_assert_eq(fake_pool_waits, 1);
    cr_assert_eq(take(pool, &two, MIB), first + MIB, "the rest is the second stream's, too");
    cr_assert_eq(fake_pool_waits, 1);
    cr_assert_eq(mempool_give(first, &two), CUDA_SUCCESS);
    mempool_trim(pool, 0);
    cr_assert_eq(fake_pool_bytes, 2 * MIB, "a part is in use");
    cr_assert_eq(mempool_give(first + MIB, &two), CUDA_SUCCESS);
    mempool_trim(pool, 0);
    cr_assert_eq(fake_pool_bytes, 2 * MIB, "work may use it");
    fake_pool_passed = fake_pool_marks;
    mempool_trim(pool, 0);
    cr_assert_eq(fake_pool_bytes, 0);
}

Test(mempool, only_what_was_free_before_may_be_taken_in_time)
{
    struct mempool *pool = make(0);
    pool->opportunistic = false;
    uint64_t first = take(pool, &one, 2 * MIB);
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    fake_pool_passed = fake_pool_marks;
    cr_assert_neq(take(pool, &two, 2 * MIB), first);
    pool->opportunistic = true;
    cr_assert_eq(take(pool, &two, 2 * MIB), first);
}

Test(mempool, a_destroyed_pool_ends_with_its_memory)
{
    struct mempool *pool = make(0);
    CUmemoryPool handle = mempool_handle(pool);
    uint64_t first = take(pool, &one, MIB);
    mempool_destroy(pool);
    cr_assert_null(mempool_of(handle));
    cr_assert_eq(fake_pool_bytes, 2 * MIB);
    cr_assert_eq(mempool_give(first, NULL), CUDA_SUCCESS);
    front_mempool_synchronized();
    cr_assert_eq(fake_pool_bytes, 0);
}

Test(mempool, what_pools_do_not_use_goes_when_memory_is_used_up)
{
    struct mempool *pool = make(0), *other = make(0);
    pool->threshold = other->threshold = UINT64_MAX;
    uint64_t first = take(pool, &one, 2 * MIB), second = take(other, &one, 2 * MIB);
    cr_assert_not(front_mempool_release(0));
    cr_assert_eq(fake_pool_bytes, 4 * MIB, "all of it is in use");
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    cr_assert_eq(mempool_give(second, NULL), CUDA_SUCCESS);
    cr_assert(front_mempool_release(0), "a stream may use the first");
    cr_assert_eq(fake_pool_bytes, 2 * MIB);
    fake_pool_askable = fake_pool_marks;
    cr_assert_not(front_mempool_release(0));
    cr_assert_eq(fake_pool_bytes, 0);
}

Test(mempool, a_pool_that_is_full_asks_before_it_gives_up)
{
    struct mempool *pool = make(8 * MIB);
    uint64_t first = take(pool, &one, 4 * MIB), second = take(pool, &one, 4 * MIB), both;
    cr_assert_eq(mempool_give(first, &one), CUDA_SUCCESS);
    cr_assert_eq(mempool_give(second, &one), CUDA_SUCCESS);
    cr_assert_eq(mempool_take(pool, &one, 8 * MIB, &both), CUDA_ERROR_OUT_OF_MEMORY);
    fake_pool_askable = fake_pool_marks;
    (void)take(pool, &one, 8 * MIB);
    cr_assert_eq(fake_pool_bytes, 8 * MIB);
}

Test(mempool, what_other_pools_hold_is_given_to_who_needs_it)
{
    struct mempool *pool = make(0), *other = make(0);
    fake_pool_most = 8 * MIB;
    other->threshold = UINT64_MAX;
    uint64_t first = take(other, &one, 7 * MIB);
    uint64_t address;
    cr_assert_eq(mempool_take(pool, &one, MIB, &address), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(mempool_give(first, NULL), CUDA_SUCCESS);
    (void)take(pool, &one, MIB);
}

/* Random work of streams: live allocations do not overlap, and the sum of bytes is constant. */
Test(mempool, random_work)
{
    enum { LIVE = 200, ROUNDS = 20000 };
    struct front_stream streams[4] = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
    struct {
        uint64_t address, bytes;
    } live[LIVE] = {{0}};
    struct mempool *pool = make(0);
    uint64_t used = 0;
    srand(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned at = (unsigned)rand() % LIVE;
        const struct front_stream *stream = &streams[rand() % 4];
        if (live[at].address != 0) {
            cr_assert_eq(mempool_give(live[at].address, stream), CUDA_SUCCESS);
            used -= live[at].bytes;
            live[at].address = 0;
            continue;
        }
        uint64_t bytes = 512 * (1 + (uint64_t)rand() % 400);
        uint64_t address = take(pool, stream, bytes);
        for (unsigned i = 0; i < LIVE; i++) {
            bool apart = live[i].address == 0 || address + bytes <= live[i].address ||
                         live[i].address + live[i].bytes <= address;
            cr_assert(apart, "round %u", round);
        }
        live[at].address = address;
        live[at].bytes = bytes;
        used += bytes;
        cr_assert_eq(pool->used, used);
        cr_assert_eq(pool->reserved, fake_pool_bytes);
        if (round % 50 == 0) {
            fake_pool_passed = fake_pool_marks;
            mempool_trim(pool, used);
        }
    }
    for (unsigned i = 0; i < LIVE; i++) {
        if (live[i].address != 0) {
            cr_assert_eq(mempool_give(live[i].address, &one), CUDA_SUCCESS);
        }
    }
    fake_pool_passed = fake_pool_marks;
    mempool_trim(pool, 0);
    cr_assert_eq(fake_pool_bytes, 0);
    cr_assert_eq(pool->used, 0);
}
