/* SPDX-License-Identifier: Apache-2.0 */
/* A slab by itself: what it refuses, and what it has again when something came back. */
#include <criterion/criterion.h>

#include "client/alloc/slab.h"

#define UNIT_BYTES 512u

static uint32_t take(struct client_slab *slab, uint32_t units)
{
    uint32_t unit = UINT32_MAX;
    cr_assert(client_slab_take(slab, units * UNIT_BYTES, &unit), "%u units", units);
    return unit;
}

static void expect_full(struct client_slab *slab, uint32_t units)
{
    uint32_t unit;
    cr_assert_not(client_slab_take(slab, units * UNIT_BYTES, &unit), "%u units", units);
}

Test(slab, what_comes_back_is_used_again_after_a_refusal)
{
    struct client_slab *slab = client_slab_create(100, UNIT_BYTES);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(take(slab, 1), i);
    }
    cr_assert_eq(slab->used, 100);
    expect_full(slab, 1);
    client_slab_give(slab, 70);
    expect_full(slab, 2);
    cr_assert_eq(take(slab, 1), 70);
    expect_full(slab, 1);
    client_slab_give(slab, 30);
    client_slab_give(slab, 64);
    expect_full(slab, 2);
    client_slab_give(slab, 63);
    expect_full(slab, 3);
    cr_assert_eq(take(slab, 2), 63);
    cr_assert_eq(take(slab, 1), 30);
    cr_assert_eq(slab->used, 100);
    client_slab_destroy(slab);
}

/* Free runs of many lengths: one is refused when none is long enough, and only then. */
Test(slab, a_refusal_is_about_the_longest_run)
{
    struct client_slab *slab = client_slab_create(130, UNIT_BYTES);
    (void)take(slab, 10);
    uint32_t middle = take(slab, 60);
    (void)take(slab, 55);
    expect_full(slab, 6);
    cr_assert_eq(take(slab, 5), 125, "the end is a run, too");
    client_slab_give(slab, middle);
    expect_full(slab, 61);
    cr_assert_eq(take(slab, 60), middle);
    client_slab_destroy(slab);
}

Test(slab, units_belong_to_the_allocation_that_covers_them)
{
    struct client_slab *slab = client_slab_create(100, UNIT_BYTES);
    uint32_t unit, first;
    (void)take(slab, 3);
    cr_assert(client_slab_take(slab, 70 * UNIT_BYTES - 1, &unit));
    cr_assert_eq(unit, 3);
    for (uint32_t at = 0; at < 100; at++) {
        bool found = client_slab_find(slab, at, &first);
        cr_assert_eq(found, at < 73, "%u", at);
        cr_assert(!found || first == (at < 3 ? 0 : 3), "%u", at);
    }
    client_slab_destroy(slab);
}
