/* SPDX-License-Identifier: Apache-2.0 */
/* The order of events, and random numbers. */
#include "sim/queue.h"

#include <criterion/criterion.h>
#include <math.h>

#include "sim/random.h"

Test(queue, gives_events_in_the_order_of_time_and_then_of_entry)
{
    struct sim_queue queue = {.count = 0};
    struct sim_random random = sim_random_make(1, "queue", 0);
    struct sim_event event;
    cr_assert_not(sim_queue_take(&queue, &event));
    for (uint32_t round = 0; round < 20; round++) {
        uint64_t last_ns = 0;
        uint32_t last = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            cr_assert_eq(sim_queue_put(&queue, sim_random_next(&random) % 100, 0, i), GA_OK);
        }
        for (uint32_t i = 0; i < 1000; i++) {
            cr_assert(sim_queue_take(&queue, &event));
            cr_assert(event.at_ns > last_ns || i == 0 ||
                      (event.at_ns == last_ns && event.target > last));
            last_ns = event.at_ns;
            last = event.target;
        }
        cr_assert_not(sim_queue_take(&queue, &event));
    }
    sim_queue_free(&queue);
}

Test(random, depends_on_seed_and_use_alone)
{
    struct sim_random a = sim_random_make(7, "MC", 3), same = sim_random_make(7, "MC", 3);
    struct sim_random others[] = {sim_random_make(8, "MC", 3), sim_random_make(7, "MM", 3),
                                  sim_random_make(7, "MC", 4)};
    for (int i = 0; i < 100; i++) {
        uint64_t number = sim_random_next(&a);
        cr_assert_eq(number, sim_random_next(&same));
        for (size_t k = 0; k < 3; k++) {
            cr_assert_neq(number, sim_random_next(&others[k]));
        }
    }
}

Test(random, exponential_has_its_mean_and_is_never_infinite)
{
    struct sim_random random = sim_random_make(1, "mean", 0);
    double sum = 0, squares = 0;
    const int count = 200000;
    for (int i = 0; i < count; i++) {
        double x = sim_random_exponential(&random, 5);
        cr_assert(isfinite(x) && x >= 0);
        sum += x;
        squares += x * x;
    }
    double mean = sum / count, variance = squares / count - mean * mean;
    cr_assert_float_eq(mean, 5, 0.06); /* more than five standard errors */
    cr_assert_float_eq(variance, 25, 0.9);
}
