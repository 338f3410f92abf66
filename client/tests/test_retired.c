/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing without waiting: what drains, what is kept. */
#include "client/tests/allocator_model.h"

Test(retired, what_is_freed_is_kept_until_its_work_has_ended)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t a, b;
    start(&allocator);
    allocator.cached_max = 128 * MIB;
    cr_assert_eq(client_allocator_take(&allocator, 40 * MIB, 7, model_map, &model, &a), 0);
    cr_assert_eq(client_allocator_free(&allocator, a, 5, model_unmap, &model), 0);
    cr_assert_eq(client_allocator_free(&allocator, a, 5, model_unmap, &model), ALLOCATOR_INVALID);
    struct client_allocation found;
    cr_assert_not(client_allocator_find(&allocator, a, &found));
    cr_assert_eq(client_allocator_free_bytes(&allocator), 40 * MIB);
    cr_assert(client_allocator_drains(&allocator, 7));
    cr_assert_not(client_allocator_drains(&allocator, 8));
    client_allocator_settle(&allocator, 7, 4, model_unmap, &model);
    client_allocator_settle(&allocator, 8, 5, model_unmap, &model);
    cr_assert_eq(client_allocator_take(&allocator, 40 * MIB, 7, model_map, &model, &b), 0);
    cr_assert_neq(a, b, "its work has not ended");
    client_allocator_settle(&allocator, 7, 5, model_unmap, &model);
    cr_assert_not(client_allocator_drains(&allocator, 7));
    cr_assert_eq(client_allocator_take(&allocator, 40 * MIB, 8, model_map, &model, &b), 0);
    cr_assert_neq(a, b, "it belongs to another");
    cr_assert_eq(client_allocator_take(&allocator, 33 * MIB, 7, model_map, &model, &b), 0);
    cr_assert_eq(a, b);
    cr_assert(client_allocator_find(&allocator, b, &found));
    cr_assert_eq(found.bytes, 33 * MIB);
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}

/* LeakSanitizer looks at what is left. */
Test(retired, an_end_while_work_is_under_way)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t at[3];
    start(&allocator);
    allocator.cached_max = 512 * MIB;
    for (uint64_t i = 0; i < 3; i++) {
        cr_assert_eq(client_allocator_take(&allocator, 40 * MIB, 7, model_map, &model, &at[i]), 0);
    }
    for (uint64_t i = 0; i < 3; i++) {
        cr_assert_eq(client_allocator_free(&allocator, at[i], 5 + i, model_unmap, &model), 0);
    }
    client_allocator_settle(&allocator, 7, 5, model_unmap, &model);
    cr_assert(client_allocator_drains(&allocator, 7));
    client_allocator_fini(&allocator);
}

Test(retired, a_kept_block_is_not_wasted)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t a, b, c;
    start(&allocator);
    allocator.cached_max = 256 * MIB;
    cr_assert_eq(client_allocator_take(&allocator, 100 * MIB, 7, model_map, &model, &a), 0);
    cr_assert_eq(client_allocator_take(&allocator, 90 * MIB, 7, model_map, &model, &b), 0);
    cr_assert_eq(client_allocator_free(&allocator, a, 0, model_unmap, &model), 0);
    cr_assert_eq(client_allocator_free(&allocator, b, 0, model_unmap, &model), 0);
    client_allocator_settle(&allocator, 7, 0, model_unmap, &model);
    cr_assert_eq(client_allocator_take(&allocator, 60 * MIB, 7, model_map, &model, &c), 0);
    cr_assert(c != a && c != b, "90 MiB are too many for 60");
    cr_assert_eq(client_allocator_take(&allocator, 85 * MIB, 7, model_map, &model, &c), 0);
    cr_assert_eq(c, b, "the smallest that is large enough");
    client_allocator_trim(&allocator, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 2);
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}

Test(retired, no_more_is_kept_than_may_be)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t at[4];
    start(&allocator);
    allocator.cached_max = 100 * MIB;
    for (int i = 0; i < 4; i++) {
        uint64_t bytes = (i == 3 ? 101 : 40) * MIB;
        cr_assert_eq(client_allocator_take(&allocator, bytes, 7, model_map, &model, &at[i]), 0);
    }
    cr_assert_eq(client_allocator_free(&allocator, at[0], 1, model_unmap, &model), 0);
    cr_assert_eq(client_allocator_free(&allocator, at[1], 2, model_unmap, &model), 0);
    cr_assert_eq(client_allocator_free(&allocator, at[2], 3, model_unmap, &model), ALLOCATOR_FULL);
    cr_assert_eq(client_allocator_free(&allocator, at[3], 3, model_unmap, &model), ALLOCATOR_FULL);
    client_allocator_settle(&allocator, 7, 1, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 4);
    cr_assert_eq(client_allocator_free(&allocator, at[2], 3, model_unmap, &model), 0);
    cr_assert_eq(model.mapped_count, 3, "the first has made room");
    cr_assert_eq(client_allocator_free_bytes(&allocator), 80 * MIB);
    allocator.cached_max = 0;
    cr_assert_eq(client_allocator_free(&allocator, at[3], 3, model_unmap, &model), ALLOCATOR_FULL);
    give(&allocator, &model, at[3]);
    client_allocator_drop(&allocator, 7, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    cr_assert_not(client_allocator_drains(&allocator, 7));
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}

Test(retired, small_ones_drain_in_their_slab)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t at[3], again;
    start(&allocator);
    allocator.cached_max = 100 * MIB;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(client_allocator_take(&allocator, 1000, 7, model_map, &model, &at[i]), 0);
        cr_assert_eq(client_allocator_free(&allocator, at[i], (uint64_t)i + 1, model_unmap, &model),
                     0);
    }
    cr_assert_eq(model.mapped_count, 1);
    cr_assert_eq(client_allocator_free_bytes(&allocator), SMALL_SLAB);
    client_allocator_settle(&allocator, 7, 2, model_unmap, &model);
    cr_assert_eq(client_allocator_take(&allocator, 2000, 7, model_map, &model, &again), 0);
    cr_assert_eq(again, at[0], "two of them make room for a larger one");
    client_allocator_drop(&allocator, 7, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}

/* Nothing that drains or is kept is lost, however it is mixed. */
Test(retired, kept_memory_at_random)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t at[64] = {0}, mark = 0, done = 0;
    unsigned kept = 0;
    start(&allocator);
    allocator.cached_max = 64 * MIB;
    srand(4);
    for (int round = 0; round < 20000; round++) {
        unsigned i = (unsigned)rand() % 64;
        uint64_t bytes = UINT64_C(1) << (rand() % 26);
        if (at[i] == 0) {
            cr_assert_eq(client_allocator_take(&allocator, bytes, 7, model_map, &model, &at[i]), 0);
            for (unsigned k = 0; k < 64; k++) {
                cr_assert(k == i || at[k] != at[i], "it is another's");
            }
            continue;
        }
        int rc = client_allocator_free(&allocator, at[i], ++mark, model_unmap, &model);
        if (rc == ALLOCATOR_FULL) {
            done = mark;
            client_allocator_settle(&allocator, 7, done, model_unmap, &model);
            give(&allocator, &model, at[i]);
        } else {
            cr_assert_eq(rc, 0);
            kept++;
        }
        at[i] = 0;
        if (rand() % 8 == 0) {
            done += (mark - done) / 2;
            client_allocator_settle(&allocator, 7, done, model_unmap, &model);
        }
    }
    cr_assert_gt(kept, 1000);
    for (unsigned i = 0; i < 64; i++) {
        if (at[i] != 0) {
            give(&allocator, &model, at[i]);
        }
    }
    client_allocator_settle(&allocator, 7, mark, model_unmap, &model);
    client_allocator_trim(&allocator, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    cr_assert_eq(model.used, 0);
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}
