/* SPDX-License-Identifier: Apache-2.0 */
/* Penalties: how long, for whom, and that a storm forgets nobody who is punished most. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "auth/penalty.h"

#define SECOND_NS UINT64_C(1000000000)

static struct penalties *make(void)
{
    struct penalties *made = malloc(sizeof *made);
    cr_assert_not_null(made);
    cr_assert(penalty_init(made));
    return made;
}

Test(penalty, doubles_up_to_a_minute)
{
    struct penalties *all = make();
    uint8_t one[PENALTY_KEY_BYTES] = {1}, other[PENALTY_KEY_BYTES] = {2};
    uint64_t now = 5 * SECOND_NS;
    static const uint64_t expected[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++) {
        cr_assert_eq(penalty_left_ms(all, one, now), 0);
        cr_assert_eq(penalty_add(all, one, now), expected[i] * 1000);
        cr_assert_eq(penalty_left_ms(all, one, now), expected[i] * 1000);
        now += expected[i] * SECOND_NS;
        cr_assert_eq(penalty_left_ms(all, one, now - 1), 1);
    }
    cr_assert_eq(penalty_left_ms(all, other, now), 0);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(penalty_add(all, one, now), 64000);
    }
    free(all);
}

Test(penalty, is_forgotten)
{
    struct penalties *all = make();
    uint8_t one[PENALTY_KEY_BYTES] = {1};
    uint64_t now = 5 * SECOND_NS;
    penalty_add(all, one, now);
    penalty_add(all, one, now);
    penalty_forget(all, one);
    cr_assert_eq(penalty_left_ms(all, one, now), 0);
    cr_assert_eq(penalty_add(all, one, now), 1000, "after a success");
    cr_assert_eq(penalty_add(all, one, now + 301 * SECOND_NS), 2000, "not quite quiet long enough");
    cr_assert_eq(penalty_add(all, one, now + 604 * SECOND_NS), 1000, "after a quiet time");
    penalty_forget(all, (uint8_t[PENALTY_KEY_BYTES]){9});
    free(all);
}

Test(penalty, who_has_failed_most_is_not_pushed_out_by_a_storm)
{
    struct penalties *all = make();
    uint8_t one[PENALTY_KEY_BYTES] = {1}, others[PENALTY_KEY_BYTES] = {0};
    uint64_t now = 5 * SECOND_NS;
    for (int i = 0; i < 10; i++) {
        penalty_add(all, one, now);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        memcpy(others + 4, &i, sizeof i);
        penalty_add(all, others, now);
    }
    cr_assert_eq(penalty_left_ms(all, one, now), 64000);
    cr_assert_eq(penalty_left_ms(all, others, now), 1000);
    free(all);
}

Test(penalty, keys_are_of_a_source_and_an_id)
{
    struct penalties *all = make();
    static const uint8_t one[AUTH_SOURCE_BYTES] = {1}, other[AUTH_SOURCE_BYTES] = {2};
    uint8_t key[PENALTY_KEY_BYTES];
    penalty_key(one, "abc", key);
    penalty_add(all, key, SECOND_NS);
    penalty_key(one, "abc", key);
    cr_assert_eq(penalty_left_ms(all, key, SECOND_NS), 1000);
    static const struct {
        const uint8_t *source;
        const char *id;
    } others[] = {{one, "abd"}, {one, "ab"}, {one, ""}, {other, "abc"}};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        penalty_key(others[i].source, others[i].id, key);
        cr_assert_eq(penalty_left_ms(all, key, SECOND_NS), 0);
    }
    penalty_key(one, "an id of 32 characters, the most.", key); /* a longer one is cut */
    penalty_add(all, key, SECOND_NS);
    free(all);
}
