/* SPDX-License-Identifier: Apache-2.0 */
/* Waits end by the clock of their deadline. */
#include "base/wait.h"

#include <criterion/criterion.h>

#define WAIT_NS (20 * GA_NS_PER_MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

Test(wait, a_condition_is_waited_for_until_the_time, .timeout = 60)
{
    pthread_cond_t cond;
    ga_cond_init(&cond);
    pthread_mutex_lock(&lock);
    uint64_t until = ga_clock_ns() + WAIT_NS;
    while (ga_cond_wait_until(&cond, &lock, until)) {
    }
    cr_expect_geq(ga_clock_ns(), until);
    cr_expect_not(ga_cond_wait_until(&cond, &lock, until), "it has come already");
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&cond);
}

static void *wait_in_vain(void *until)
{
    cr_assert_eq(ga_mutex_lock_until(&lock, *(uint64_t *)until), ETIMEDOUT);
    cr_expect_geq(ga_clock_ns(), *(uint64_t *)until);
    return NULL;
}

Test(wait, a_lock_is_waited_for_until_the_time, .timeout = 60)
{
    pthread_t thread;
    uint64_t until = ga_clock_ns() + WAIT_NS;
    cr_assert_eq(ga_mutex_lock_until(&lock, until), 0);
    cr_assert_eq(pthread_create(&thread, NULL, wait_in_vain, &until), 0);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&lock);
}
