/* SPDX-License-Identifier: Apache-2.0 */
/* The pool reuses memory that was given back, keeps no more than its limit, and loses nothing
 * when many threads give back while one takes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"

#define OBJECTS 5000
#define THREADS 3

struct object {
    uint64_t number, copy;
    unsigned char rest[40];
};

Test(pool, what_came_back_is_used_again)
{
    struct ga_pool pool;
    ga_pool_init(&pool, sizeof(struct object), 3, 2);
    void *first = ga_pool_take(&pool), *second = ga_pool_take(&pool), *third = ga_pool_take(&pool);
    cr_assert(first != NULL && second != NULL && third != NULL);
    cr_assert_eq((uintptr_t)first % 16, 0u);
    cr_assert_eq(atomic_load(&pool.spare), 0, "it asks for what it needs next in one go");
    memset(first, 1, sizeof(struct object));
    ga_pool_give(&pool, first);
    cr_assert_eq(ga_pool_take(&pool), first);
    memset(first, 2, sizeof(struct object)); /* all of it is legible again */
    ga_pool_give(&pool, NULL);
    ga_pool_give(&pool, first);
    ga_pool_give(&pool, second);
    cr_assert_eq(atomic_load(&pool.spare), 2);
    ga_pool_give(&pool, third); /* one more than it keeps */
    cr_assert_eq(atomic_load(&pool.spare), 2);
    cr_assert_eq(ga_pool_take(&pool), second);
    cr_assert_eq(ga_pool_take(&pool), first);
    ga_pool_give(&pool, first);
    ga_pool_give(&pool, second);
    ga_pool_fini(&pool);
    cr_assert_eq(atomic_load(&pool.spare), 0);
}

/* ---- threads */

static struct ga_pool shared;
static _Atomic(struct object *) handed[THREADS];

/* Gives back objects of the owner, after checking that they are intact. */
static void *give_back(void *argument)
{
    _Atomic(struct object *) *slot = argument;
    size_t wrong = 0;
    for (unsigned given = 0; given < OBJECTS;) {
        struct object *object = atomic_exchange(slot, NULL);
        if (object != NULL) {
            wrong += object->copy != ~object->number;
            ga_pool_give(&shared, object);
            given++;
        } else {
            sched_yield();
        }
    }
    return (void *)wrong;
}

Test(pool, one_takes_and_many_give, .timeout = 120)
{
    pthread_t threads[THREADS];
    ga_pool_init(&shared, sizeof(struct object), 8, 64);
    for (unsigned i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, give_back, &handed[i]), 0);
    }
    uint64_t number = 0;
    unsigned left[THREADS] = {OBJECTS, OBJECTS, OBJECTS};
    while (left[0] + left[1] + left[2] != 0) {
        for (unsigned i = 0; i < THREADS; i++) {
            if (left[i] == 0 || atomic_load(&handed[i]) != NULL) {
                continue;
            }
            struct object *object = ga_pool_take(&shared);
            cr_assert_neq(object, NULL);
            memset(object, 0, sizeof *object);
            object->number = ++number;
            object->copy = ~number;
            atomic_store(&handed[i], object);
            left[i]--;
        }
        sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        cr_assert_eq(pthread_join(threads[i], &wrong), 0);
        cr_assert_eq((size_t)wrong, 0u, "an object was given to two at once");
    }
    cr_assert_leq(atomic_load(&shared.spare), 64u);
    cr_assert_gt(atomic_load(&shared.spare), 0u);
    ga_pool_fini(&shared);
}
