/* SPDX-License-Identifier: Apache-2.0 */
/* Facts learnt of programs: sums over sessions, told bit by bit, in a bounded table. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "server/usage/feedback.h"

static struct feedback_key key_of(const char *tenant, const char *program)
{
    struct feedback_key key = {.model = "A100"};
    snprintf(key.tenant, sizeof key.tenant, "%s", tenant);
    snprintf(key.program, sizeof key.program, "%s", program);
    return key;
}

static const struct feedback_row *row_find(const struct feedback *feedback,
                                           const struct feedback_key *key)
{
    ga_list_each (at, next, &feedback->rows) {
        const struct feedback_row *row = ga_container(at, struct feedback_row, link);
        if (strcmp(row->key.tenant, key->tenant) == 0 &&
            strcmp(row->key.program, key->program) == 0) {
            return row;
        }
    }
    return NULL;
}

Test(feedback, sessions_add_up_and_nothing_counts_twice)
{
    struct feedback feedback;
    struct feedback_figures first = {0}, second = {0};
    const struct feedback_key key = key_of("a", "train");
    feedback_init(&feedback);
    feedback_tell(&feedback, &key, &first,
                  &(struct feedback_figures){.wall_ns = 10, .works = 4, .copied_bytes = {100, 0}});
    feedback_tell(&feedback, &key, &first,
                  &(struct feedback_figures){.wall_ns = 25, .works = 6, .copied_bytes = {100, 7}});
    feedback_tell(&feedback, &key, &second, &(struct feedback_figures){.wall_ns = 5, .works = 1});
    const struct feedback_row *row = row_find(&feedback, &key);
    cr_assert_not_null(row);
    cr_assert_eq(row->sessions, 2);
    cr_assert_eq(row->sum.wall_ns, 30);
    cr_assert_eq(row->sum.works, 7);
    cr_assert_eq(row->sum.copied_bytes[0], 100);
    cr_assert_eq(row->sum.copied_bytes[1], 7);
    feedback_fini(&feedback);
}

Test(feedback, figures_that_fall_take_nothing_away)
{
    struct feedback feedback;
    struct feedback_figures told = {0};
    const struct feedback_key key = key_of("a", "liar");
    feedback_init(&feedback);
    feedback_tell(&feedback, &key, &told, &(struct feedback_figures){.wall_ns = 9, .works = 50});
    feedback_tell(&feedback, &key, &told, &(struct feedback_figures){.wall_ns = 10, .works = 3});
    feedback_tell(&feedback, &key, &told, &(struct feedback_figures){.wall_ns = 11, .works = 60});
    cr_assert_eq(row_find(&feedback, &key)->sum.works, 60);
    feedback_fini(&feedback);
}

Test(feedback, a_tenant_is_its_number)
{
    struct feedback feedback;
    struct feedback_key first = key_of("a", "train"), again = first, renamed = first;
    struct feedback_figures told[3] = {{0}};
    const struct feedback_figures now = {.wall_ns = 10, .works = 4};
    first.number = 7;
    again.number = 8; /* made anew */
    renamed.number = 7;
    snprintf(renamed.tenant, sizeof renamed.tenant, "b");
    feedback_init(&feedback);
    feedback_tell(&feedback, &first, &told[0], &now);
    feedback_tell(&feedback, &again, &told[1], &now);
    cr_assert_eq(feedback.count, 2, "one of the same name has inherited");
    feedback_tell(&feedback, &renamed, &told[2], &now);
    cr_assert_eq(feedback.count, 2, "another name has made it another tenant");
    const struct feedback_row *row = row_find(&feedback, &renamed);
    cr_assert_not_null(row);
    cr_assert_eq(row->sum.works, 8);
    feedback_fini(&feedback);
}

static void tell_program(struct feedback *feedback, const char *tenant, unsigned number)
{
    char program[32];
    struct feedback_figures told = {0};
    snprintf(program, sizeof program, "p%u", number);
    const struct feedback_key key = key_of(tenant, program);
    feedback_tell(feedback, &key, &told, &(struct feedback_figures){.wall_ns = 1});
}

Test(feedback, many_names_of_one_tenant_cost_it_its_own_rows)
{
    struct feedback feedback;
    const struct feedback_key other = key_of("b", "p0"), oldest = key_of("a", "p0"),
                              touched = key_of("a", "p1");
    feedback_init(&feedback);
    tell_program(&feedback, "b", 0);
    for (unsigned i = 0; i < FEEDBACK_TENANT_ROWS_MAX; i++) {
        tell_program(&feedback, "a", i);
    }
    tell_program(&feedback, "a", 1);
    tell_program(&feedback, "a", FEEDBACK_TENANT_ROWS_MAX);
    cr_assert_not_null(row_find(&feedback, &other));
    cr_assert_null(row_find(&feedback, &oldest));
    cr_assert_eq(row_find(&feedback, &touched)->sessions, 2);
    cr_assert_eq(feedback.count, FEEDBACK_TENANT_ROWS_MAX + 1);
    feedback_fini(&feedback);
}

Test(feedback, the_table_is_bounded)
{
    struct feedback feedback;
    char tenant[32];
    feedback_init(&feedback);
    for (unsigned i = 0; i < FEEDBACK_ROWS_MAX + 5; i++) {
        snprintf(tenant, sizeof tenant, "t%u", i);
        tell_program(&feedback, tenant, 0);
    }
    cr_assert_eq(feedback.count, FEEDBACK_ROWS_MAX);
    const struct feedback_key gone = key_of("t4", "p0"), there = key_of("t5", "p0");
    cr_assert_null(row_find(&feedback, &gone));
    cr_assert_not_null(row_find(&feedback, &there));
    feedback_fini(&feedback);
}
