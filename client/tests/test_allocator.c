/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator against a simple model: a list of what is allocated, and of what is mapped. */
#include "client/tests/allocator_model.h"

Test(allocator, small_ones_share_a_block)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t a, b;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 1, 7, model_map, &model, &a), 0);
    cr_assert_eq(client_allocator_take(&allocator, 513, 7, model_map, &model, &b), 0);
    cr_assert_eq(model.mapped_count, 1);
    cr_assert_eq(a % ALLOCATOR_UNIT, 0);
    cr_assert_eq(b % ALLOCATOR_UNIT, 0);
    struct client_allocation found;
    cr_assert(client_allocator_find(&allocator, b + 512, &found));
    cr_assert_eq(found.address, b);
    cr_assert_eq(found.bytes, 513);
    cr_assert_eq(found.owner, 7);
    cr_assert_not(client_allocator_find(&allocator, b + 513, &found));
    cr_assert_not(client_allocator_find(&allocator, a + 1, &found));
    cr_assert_eq(client_allocator_free_bytes(&allocator), SMALL_SLAB - 3 * ALLOCATOR_UNIT);
    client_allocator_fini(&allocator);
}

Test(allocator, owners_do_not_share)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t a, b;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 100, 1, model_map, &model, &a), 0);
    cr_assert_eq(client_allocator_take(&allocator, 100, 2, model_map, &model, &b), 0);
    cr_assert_eq(model.mapped_count, 2);
    client_allocator_drop(&allocator, 1, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 1);
    struct client_allocation found;
    cr_assert_not(client_allocator_find(&allocator, a, &found));
    cr_assert(client_allocator_find(&allocator, b, &found));
    cr_assert_eq(client_allocator_free_bytes(&allocator), SMALL_SLAB - ALLOCATOR_UNIT);
    client_allocator_fini(&allocator);
}

Test(allocator, what_drains_is_neither_found_nor_given)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    struct client_allocation found;
    uint64_t a, b, bytes;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 4096, 1, model_map, &model, &a), 0);
    cr_assert_eq(client_allocator_drain(&allocator, a, &bytes), 0);
    cr_assert_eq(bytes, 0);
    cr_assert_not(client_allocator_find(&allocator, a, &found));
    cr_assert_eq(client_allocator_drain(&allocator, a, &bytes), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_take(&allocator, 4096, 1, model_map, &model, &b), 0);
    cr_assert_neq(a, b);
    client_allocator_drained(&allocator, a, model_unmap, &model);
    uint64_t c;
    cr_assert_eq(client_allocator_take(&allocator, 4096, 1, model_map, &model, &c), 0);
    cr_assert_eq(a, c);
    client_allocator_fini(&allocator);
}

Test(allocator, wrong_frees_are_refused)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t small, large, bytes;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 4096, 1, model_map, &model, &small), 0);
    cr_assert_eq(client_allocator_take(&allocator, 4 << 20, 1, model_map, &model, &large), 0);
    cr_assert_eq(client_allocator_drain(&allocator, small + 512, &bytes), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_drain(&allocator, large + 512, &bytes), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_drain(&allocator, BASE - 1, &bytes), ALLOCATOR_INVALID);
    give(&allocator, &model, large);
    cr_assert_eq(client_allocator_drain(&allocator, large, &bytes), ALLOCATOR_INVALID);
    client_allocator_fini(&allocator);
}

Test(allocator, full_device_and_trim)
{
    struct client_allocator allocator;
    struct model model = {.capacity = 4 << 20};
    uint64_t a, b;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 4096, 1, model_map, &model, &a), 0);
    give(&allocator, &model, a);
    cr_assert_eq(model.mapped_count, 1, "one empty slab stays");
    cr_assert_eq(client_allocator_take(&allocator, 3 << 20, 1, model_map, &model, &b),
                 ALLOCATOR_FULL);
    client_allocator_trim(&allocator, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    cr_assert_eq(client_allocator_take(&allocator, 3 << 20, 1, model_map, &model, &b), 0);
    cr_assert_eq(client_allocator_take(&allocator, BYTES, 1, model_map, &model, &a),
                 ALLOCATOR_FULL);
    cr_assert_eq(client_allocator_take(&allocator, UINT64_MAX - 5, 1, model_map, &model, &a),
                 ALLOCATOR_FULL);
    client_allocator_fini(&allocator);
}

/* ---- torture */

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static uint64_t draw_size(void)
{
    switch (draw(4)) {
    case 0:
        return 1 + draw(1024);
    case 1:
        return 1 + draw(64 << 10);
    case 2:
        return 1 + draw(2 << 20);
    default:
        return (2 << 20) + draw(6 << 20);
    }
}

static void check_taken(const struct piece *live, int count, const struct model *model, uint64_t at,
                        uint64_t bytes)
{
    bool inside = false;
    for (int i = 0; i < model->mapped_count; i++) {
        const struct piece *map = &model->mapped[i];
        inside |= at >= map->at && at + bytes <= map->at + map->bytes;
    }
    cr_assert(inside, "allocated where nothing is mapped");
    for (int i = 0; i < count; i++) {
        cr_assert(at + bytes <= live[i].at || live[i].at + live[i].bytes <= at, "allocated twice");
    }
}

static void free_one(struct client_allocator *allocator, struct model *model, struct piece *live,
                     int *count)
{
    int i = (int)draw((uint64_t)*count);
    struct client_allocation found;
    uint64_t bytes;
    if (!live[i].draining) {
        cr_assert(client_allocator_find(allocator, live[i].at + draw(live[i].bytes), &found));
        cr_assert_eq(found.address, live[i].at);
        cr_assert_eq(found.bytes, live[i].bytes);
        cr_assert_eq(client_allocator_drain(allocator, live[i].at, &bytes), 0);
        live[i].draining = true;
        live[i].block_bytes = bytes;
    } else {
        if (live[i].block_bytes != 0) {
            model_unmap(model, live[i].at, live[i].block_bytes);
        }
        client_allocator_drained(allocator, live[i].at, model_unmap, model);
        live[i] = live[--*count];
    }
}

Test(allocator, addresses_are_reserved_for_others)
{
    struct client_allocator allocator;
    struct model model = {.capacity = UINT64_C(1) << 30};
    uint64_t a, b, c, block;
    start(&allocator);
    cr_assert_eq(client_allocator_take(&allocator, 40 * MIB, 7, model_map, &model, &block), 0);
    cr_assert_eq(client_allocator_reserve(&allocator, 0, 3 * GRANULARITY, 0, &a), 0);
    cr_assert_eq(a % GRANULARITY, 0);
    cr_assert(a >= block + 40 * MIB || a + 3 * GRANULARITY <= block);
    uint64_t wish = BASE + BYTES / 2;
    cr_assert_eq(client_allocator_reserve(&allocator, wish, 2 * GRANULARITY, 0, &b), 0);
    cr_assert_eq(b, wish);
    cr_assert_eq(client_allocator_reserve(&allocator, wish + GRANULARITY, MIB, MIB, &c), 0);
    cr_assert_eq(c % MIB, 0, "the wish is taken, and no multiple");
    cr_assert(c >= wish + 2 * GRANULARITY || c + MIB <= wish);
    cr_assert_eq(client_allocator_reserve(&allocator, 0, 100, 0, &c), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_reserve(&allocator, 0, 0, 0, &c), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_reserve(&allocator, 0, MIB, 3 * MIB, &c), ALLOCATOR_INVALID);
    cr_assert_eq(client_allocator_reserve(&allocator, 0, 2 * BYTES, 0, &c), ALLOCATOR_FULL);
    struct client_allocation found;
    cr_assert_not(client_allocator_find(&allocator, b, &found));
    cr_assert(client_allocator_holds(&allocator, b + 2 * GRANULARITY - 1));
    cr_assert_not(client_allocator_holds(&allocator, b + 2 * GRANULARITY));
    /* Back only as it was given, and only what was reserved. */
    static const int wrong = ALLOCATOR_INVALID;
    cr_assert_eq(client_allocator_unreserve(&allocator, a, 2 * GRANULARITY), wrong);
    cr_assert_eq(client_allocator_unreserve(&allocator, a, 4 * GRANULARITY), wrong);
    cr_assert_eq(client_allocator_unreserve(&allocator, a + GRANULARITY, 3 * GRANULARITY), wrong);
    cr_assert_eq(client_allocator_unreserve(&allocator, block, 40 * MIB), wrong);
    cr_assert_eq(client_allocator_unreserve(&allocator, a, 3 * GRANULARITY), ALLOCATOR_OK);
    cr_assert_eq(client_allocator_unreserve(&allocator, a, 3 * GRANULARITY), wrong);
    cr_assert_not(client_allocator_holds(&allocator, a));
    cr_assert_eq(client_allocator_reserve(&allocator, a, 3 * GRANULARITY, 0, &c), 0);
    cr_assert_eq(c, a, "it is free again");
    client_allocator_fini(&allocator);
}

Test(allocator, torture)
{
    static struct piece live[PIECES_MAX];
    struct client_allocator allocator;
    static struct model model = {.capacity = UINT64_C(512) << 20};
    int count = 0;
    start(&allocator);
    for (int step = 0; step < 60000; step++) {
        if (draw(100) < 48 && count < PIECES_MAX) {
            uint64_t bytes = draw_size(), owner = 1 + draw(3), at;
            int rc = client_allocator_take(&allocator, bytes, owner, model_map, &model, &at);
            if (rc == 0) {
                check_taken(live, count, &model, at, bytes);
                live[count++] = (struct piece){.at = at, .bytes = bytes, .owner = owner};
            } else {
                cr_assert_eq(rc, ALLOCATOR_FULL);
                client_allocator_trim(&allocator, model_unmap, &model);
            }
        } else if (count != 0) {
            free_one(&allocator, &model, live, &count);
        }
    }
    while (count != 0) {
        free_one(&allocator, &model, live, &count);
    }
    client_allocator_trim(&allocator, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    cr_assert_eq(client_allocator_free_bytes(&allocator), 0);
    client_allocator_fini(&allocator);
}

Test(allocator, first_block_is_at_the_start_of_the_window)
{
    struct client_allocator allocator;
    struct model model = {.capacity = 64 << 20};
    uint64_t at, bytes = client_allocator_first_bytes(GRANULARITY);
    start(&allocator);
    client_allocator_mapped(&allocator, bytes, 7);
    model.mapped[model.mapped_count++] = (struct piece){.at = BASE, .bytes = bytes};
    model.used = bytes;
    cr_assert_eq(client_allocator_free_bytes(&allocator), bytes);
    cr_assert_eq(client_allocator_take(&allocator, 1000, 7, model_map, &model, &at), ALLOCATOR_OK);
    cr_assert_eq(at, BASE);
    cr_assert_eq(model.mapped_count, 1, "nothing had to be mapped");
    cr_assert_eq(client_allocator_take(&allocator, 1000, 8, model_map, &model, &at), ALLOCATOR_OK);
    cr_assert_eq(model.mapped_count, 2, "it is another owner's");
    client_allocator_drop(&allocator, 7, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 1);
    client_allocator_fini(&allocator);
}

Test(allocator, megabytes_share_a_larger_slab)
{
    struct client_allocator allocator;
    struct model model = {.capacity = MEMORY};
    struct client_allocation found;
    uint64_t at[3], alone;
    start(&allocator);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(client_allocator_take(&allocator, 4 * MIB + 77, 1, model_map, &model, &at[i]),
                     0);
        cr_assert(client_allocator_find(&allocator, at[i] + 4 * MIB + 76, &found));
        cr_assert_eq(found.address, at[i]);
        cr_assert_not(client_allocator_find(&allocator, at[i] + 4 * MIB + 77, &found));
    }
    cr_assert_eq(model.mapped_count, 1);
    cr_assert_eq(model.used, LARGE_SLAB);
    cr_assert_eq(client_allocator_take(&allocator, 8 * MIB, 1, model_map, &model, &alone), 0);
    cr_assert_eq(model.used, LARGE_SLAB + 8 * MIB);
    give(&allocator, &model, alone);
    cr_assert_eq(model.used, LARGE_SLAB);
    for (int i = 0; i < 3; i++) {
        give(&allocator, &model, at[i]);
    }
    cr_assert_eq(client_allocator_free_bytes(&allocator), LARGE_SLAB, "one empty slab stays");
    client_allocator_trim(&allocator, model_unmap, &model);
    cr_assert_eq(model.mapped_count, 0);
    client_allocator_fini(&allocator);
}

Test(allocator, memory_that_is_too_short_for_a_slab_is_used_up)
{
    struct client_allocator allocator;
    struct model model = {.capacity = 12 * MIB};
    uint64_t at;
    start(&allocator);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(client_allocator_take(&allocator, 4 * MIB, 1, model_map, &model, &at), 0);
    }
    cr_assert_eq(client_allocator_take(&allocator, 4 * MIB, 1, model_map, &model, &at),
                 ALLOCATOR_FULL);
    cr_assert_eq(model.used, model.capacity);
    client_allocator_fini(&allocator);
}

/* A server that picks addresses itself, from high to low. */
static int model_choose(void *user, uint64_t *address, uint64_t bytes)
{
    static uint64_t lowest = BASE + BYTES;
    cr_assert_eq(*address, 0);
    lowest -= bytes;
    *address = lowest;
    return model_map(user, address, bytes);
}

/* A server that gives the address that came back last. */
static uint64_t given_back;

static int model_choose_again(void *user, uint64_t *address, uint64_t bytes)
{
    *address = given_back;
    return model_map(user, address, bytes);
}

struct between {
    struct client_allocator *allocator;
    struct model *model;
    uint64_t taken;
};

/* While a slab is being given back, another thread gets its address for something else. */
static int unmap_and_take(void *user, uint64_t at, uint64_t bytes)
{
    struct between *between = user;
    int rc = model_unmap(between->model, at, bytes);
    given_back = at;
    cr_assert_eq(client_allocator_take(between->allocator, 100, 2, model_choose_again,
                                       between->model, &between->taken),
                 ALLOCATOR_OK);
    return rc;
}

Test(allocator, without_a_window_an_address_comes_again_at_once)
{
    struct client_allocator allocator;
    struct model model = {.capacity = MEMORY};
    struct between between = {&allocator, &model, 0};
    struct client_allocation found;
    uint64_t address;
    client_allocator_init(&allocator, 0, 0, GRANULARITY, MEMORY);
    cr_assert_eq(client_allocator_take(&allocator, 100, 1, model_choose, &model, &address), 0);
    give(&allocator, &model, address);
    client_allocator_trim(&allocator, unmap_and_take, &between);
    cr_expect_eq(between.taken, given_back);
    cr_expect(client_allocator_find(&allocator, between.taken, &found));
    cr_expect_eq(found.owner, 2);
    client_allocator_drop(&allocator, 2, model_unmap, &model);
    cr_expect_eq(model.used, 0);
    client_allocator_fini(&allocator);
}

Test(allocator, without_a_window_addresses_come_from_the_server)
{
    struct client_allocator allocator;
    struct model model = {.capacity = MEMORY};
    struct client_allocation found;
    uint64_t small, large;
    client_allocator_init(&allocator, 0, 0, GRANULARITY, MEMORY);
    cr_assert_eq(client_allocator_take(&allocator, 100, 1, model_choose, &model, &small), 0);
    cr_assert_eq(client_allocator_take(&allocator, 64 * MIB, 1, model_choose, &model, &large), 0);
    cr_assert_lt(large, small);
    cr_expect(client_allocator_find(&allocator, small + 99, &found));
    cr_expect_eq(found.bytes, 100);
    cr_expect(!client_allocator_find(&allocator, small + 100, &found));
    cr_expect(client_allocator_holds(&allocator, small + 100));
    cr_expect(!client_allocator_holds(&allocator, large - 1));
    give(&allocator, &model, large);
    cr_expect(!client_allocator_holds(&allocator, large));
    client_allocator_drop(&allocator, 1, model_unmap, &model);
    cr_expect_eq(model.used, 0);
    client_allocator_fini(&allocator);
}
