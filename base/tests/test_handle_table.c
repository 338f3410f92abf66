/* SPDX-License-Identifier: Apache-2.0 */
/* A handle names one object, once. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/handle_table.h"

Test(handle_table, a_removed_handle_stays_dead_when_its_slot_is_used_again)
{
    struct ga_handle_table table;
    ga_handle_table_init(&table, GA_HANDLE_EVENT, 100);
    int a = 0, b = 0;
    uint64_t first, second;
    cr_assert_eq(ga_handle_table_make(&table, &a, &first), GA_OK);
    cr_assert_eq(ga_handle_table_find(&table, first), &a);
    cr_assert_eq(ga_handle_table_remove(&table, first), &a);
    cr_assert_eq(ga_handle_table_make(&table, &b, &second), GA_OK);
    cr_assert_eq(ga_handle_index(first), ga_handle_index(second));
    cr_assert_null(ga_handle_table_find(&table, first));
    cr_assert_null(ga_handle_table_remove(&table, first));
    cr_assert_eq(ga_handle_table_find(&table, second), &b);
    ga_handle_table_fini(&table);
}

Test(handle_table, foreign_handles_are_not_found)
{
    struct ga_handle_table table;
    ga_handle_table_init(&table, GA_HANDLE_EVENT, 100);
    int a = 0;
    uint64_t handle;
    cr_assert_eq(ga_handle_table_make(&table, &a, &handle), GA_OK);
    cr_assert_null(ga_handle_table_find(&table, 0));
    cr_assert_null(ga_handle_table_find(&table, ~UINT64_C(0)));
    cr_assert_null(ga_handle_table_find(&table, handle ^ (UINT64_C(3) << 56)));
    cr_assert_null(ga_handle_table_find(&table, handle + 1));
    cr_assert_null(ga_handle_table_find(&table, handle + (UINT64_C(1) << 31)));
    ga_handle_table_fini(&table);
}

Test(handle_table, takes_what_the_peer_made_once_and_within_the_limit)
{
    struct ga_handle_table table;
    ga_handle_table_init(&table, GA_HANDLE_STREAM, 8);
    int a = 0;
    uint64_t good = ga_handle_make(GA_HANDLE_STREAM, 1, 8);
    cr_assert_eq(ga_handle_table_take(&table, good, &a), GA_OK);
    cr_assert_eq(ga_handle_table_take(&table, good, &a), GA_INVALID);
    uint64_t far = ga_handle_make(GA_HANDLE_STREAM, 1, 9);
    cr_assert_eq(ga_handle_table_take(&table, far, &a), GA_NO_MEMORY);
    uint64_t other = ga_handle_make(GA_HANDLE_EVENT, 1, 1);
    cr_assert_eq(ga_handle_table_take(&table, other, &a), GA_INVALID);
    uint64_t handle;
    uint32_t index = 0;
    cr_assert_eq(ga_handle_table_next(&table, &index, &handle), &a);
    cr_assert_eq(handle, good);
    cr_assert_null(ga_handle_table_next(&table, &index, &handle));
    ga_handle_table_fini(&table);
}

Test(handle_table, the_limit_holds)
{
    struct ga_handle_table table;
    ga_handle_table_init(&table, GA_HANDLE_EVENT, 2);
    int a = 0;
    uint64_t handle;
    cr_assert_eq(ga_handle_table_make(&table, &a, &handle), GA_OK);
    cr_assert_eq(ga_handle_table_make(&table, &a, &handle), GA_OK);
    cr_assert_eq(ga_handle_table_make(&table, &a, &handle), GA_NO_MEMORY);
    ga_handle_table_fini(&table);
}

#define MANY 100000

Test(handle_table, blocks_of_all_sizes)
{
    struct ga_handle_table table;
    static uint64_t handles[MANY];
    static int objects[MANY];
    ga_handle_table_init(&table, GA_HANDLE_EVENT, MANY);
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(ga_handle_table_make(&table, &objects[i], &handles[i]), GA_OK);
    }
    uint32_t index = 0;
    uint64_t handle;
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(ga_handle_table_find(&table, handles[i]), &objects[i]);
        cr_assert_eq(ga_handle_table_next(&table, &index, &handle), &objects[i]);
        cr_assert_eq(handle, handles[i]);
    }
    for (int i = 0; i < MANY; i += 2) {
        cr_assert_eq(ga_handle_table_remove(&table, handles[i]), &objects[i]);
    }
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(ga_handle_table_find(&table, handles[i]), i % 2 != 0 ? &objects[i] : NULL);
    }
    cr_assert_null(ga_handle_table_find(&table, ga_handle_make(GA_HANDLE_EVENT, 1, UINT32_MAX)));
    ga_handle_table_fini(&table);
}

static void *make_and_remove(void *argument)
{
    struct ga_handle_table *table = argument;
    static int object;
    for (int i = 0; i < MANY; i++) {
        uint64_t handle;
        cr_assert_eq(ga_handle_table_make(table, &object, &handle), GA_OK);
        if (i % 3 != 0) {
            cr_assert_eq(ga_handle_table_remove(table, handle), &object);
        }
    }
    return NULL;
}

/* Its owner makes and removes; who only finds needs no lock. */
Test(handle_table, others_find_meanwhile)
{
    struct ga_handle_table table;
    pthread_t owner;
    int first = 0;
    uint64_t handle;
    ga_handle_table_init(&table, GA_HANDLE_EVENT, 2 * MANY);
    cr_assert_eq(ga_handle_table_make(&table, &first, &handle), GA_OK);
    cr_assert_eq(pthread_create(&owner, NULL, make_and_remove, &table), 0);
    for (int i = 0; i < 10 * MANY; i++) {
        cr_assert_eq(ga_handle_table_find(&table, handle), &first);
    }
    pthread_join(owner, NULL);
    ga_handle_table_fini(&table);
}

static bool purse_take(void *user, uint64_t bytes)
{
    uint64_t *purse = user;
    bool enough = bytes <= *purse;
    *purse -= enough ? bytes : 0;
    return enough;
}

static uint32_t given;

static void purse_give(void *user, uint32_t objects, uint64_t bytes)
{
    given += objects;
    *(uint64_t *)user += bytes;
}

Test(handle_table, objects_are_paid_for_while_they_live)
{
    uint64_t purse = 250, handles[3];
    const struct ga_handle_budget budget = {purse_take, purse_give, &purse};
    struct ga_handle_table made, taken;
    int object;
    ga_handle_table_init(&made, GA_HANDLE_EVENT, 100);
    ga_handle_table_charge(&made, &budget, 100);
    cr_assert_eq(ga_handle_table_make(&made, &object, &handles[0]), GA_OK);
    cr_assert_eq(ga_handle_table_make(&made, &object, &handles[1]), GA_OK);
    cr_assert_eq(ga_handle_table_make(&made, &object, &handles[2]), GA_NO_MEMORY);
    cr_assert_eq(purse, 50);
    cr_assert_eq(ga_handle_table_remove(&made, handles[0]), &object);
    cr_assert_null(ga_handle_table_remove(&made, handles[0]));
    cr_assert_eq(purse, 150, "it is paid back once");
    cr_assert_eq(ga_handle_table_make(&made, &object, &handles[2]), GA_OK);
    cr_assert_eq(ga_handle_table_find(&made, handles[2]), &object);

    ga_handle_table_init(&taken, GA_HANDLE_STREAM, 100);
    ga_handle_table_charge(&taken, &budget, 30);
    uint64_t handle = ga_handle_make(GA_HANDLE_STREAM, 1, 5);
    cr_assert_eq(ga_handle_table_take(&taken, handle, &object), GA_OK);
    cr_assert_eq(ga_handle_table_take(&taken, handle, &object), GA_INVALID);
    cr_assert_eq(purse, 20, "what is refused costs nothing");
    cr_assert_eq(ga_handle_table_take(&taken, ga_handle_make(GA_HANDLE_STREAM, 1, 6), &object),
                 GA_NO_MEMORY);
    ga_handle_table_fini(&taken);
    ga_handle_table_fini(&made);
    cr_assert_eq(purse, 250);
    cr_assert_eq(given, 4);
}
