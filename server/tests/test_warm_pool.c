/* SPDX-License-Identifier: Apache-2.0 */
/* Spare processes: how many there are, which is taken, and how soon one that is taken or dies is
 * replaced. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "server/processes/warm_pool.h"
#include "server/tests/fake_node.h"

static struct warm_pool *pool;

static void start(void)
{
    fake_node_start();
    pool = &node.gpuaasd.processes.warm_pools[CONF_DRIVER_SOFT];
    node.conf.server.spare_backends = 2;
    node.starts = 14;
}

TestSuite(warm_pool, .init = start, .fini = fake_node_stop);

static void begin(void)
{
    warm_pool_start(pool, &node.gpuaasd.processes, CONF_DRIVER_SOFT);
}

static struct backend_process *take(void)
{
    char why[300] = "";
    struct backend_process *process = NULL;
    cr_assert_eq(warm_pool_take(pool, &process, why, sizeof why), GA_OK, "%s", why);
    cr_assert_null(process->owner, "its events are its seats'");
    return process;
}

static void dies(struct backend_process *process)
{
    fake_dies(ga_container(process, struct fake_process, process), "exit status 1");
}

Test(warm_pool, there_are_as_many_as_the_configuration_says)
{
    strcpy(node.conf.server.listen[0].url, "tls://0.0.0.0:1");
    node.conf.server.ledger_interval_s = 0;
    begin();
    cr_assert_eq(pool->count, 2);
    const struct channel_setup *setup = &fake_started()->setup;
    cr_assert_eq(setup->kind, CHANNEL_SETUP);
    cr_assert_eq(setup->probe, CHANNEL_SERVES);
    cr_assert_eq(setup->device_count, FAKE_GPUS);
    cr_assert_eq(setup->tls, 1);
    cr_assert_eq(setup->meter, 0);
    cr_assert_eq(setup->turns, 0);
    cr_assert_eq(setup->seats, 1);
    cr_assert_eq(setup->outlives, 0);
    cr_assert_eq(setup->conf.ticket_s, node.conf.server.backend.ticket_s);
}

Test(warm_pool, they_measure_if_somebody_reads_it)
{
    node.conf.server.ledger_interval_s = 1;
    begin();
    cr_assert_eq(fake_started()->setup.meter, 1);
    cr_assert_eq(fake_started()->setup.tls, 0);
}

Test(warm_pool, of_a_driver_without_gpus_there_are_none)
{
    pool = &node.gpuaasd.processes.warm_pools[CONF_DRIVER_NVIDIA];
    warm_pool_start(pool, &node.gpuaasd.processes, CONF_DRIVER_NVIDIA);
    cr_assert_eq(pool->count, 0);
    warm_pool_renew(pool);
    fake_node_pass(60000);
    cr_assert_eq(pool->count, 0);
}

Test(warm_pool, the_oldest_is_taken_and_replaced_a_moment_later)
{
    begin();
    struct backend_process *first = pool->processes[0], *second = pool->processes[1];
    cr_assert_eq(take(), first);
    cr_assert_eq(pool->count, 1);
    cr_assert_eq(pool->processes[0], second);
    still_clock_pass(&node.still, 199);
    cr_assert_eq(pool->count, 1);
    still_clock_pass(&node.still, 1);
    cr_assert_eq(pool->count, 2);
    cr_assert_eq(pool->processes[0], second);
}

Test(warm_pool, if_there_is_none_one_is_started)
{
    node.conf.server.spare_backends = 0;
    begin();
    struct backend_process *process = take();
    cr_assert_eq(process, &fake_started()->process);
    cr_assert_eq(pool->count, 0);
    node.starts = 0;
    char why[300] = "";
    cr_assert_eq(warm_pool_take(pool, &process, why, sizeof why), GA_LOST);
    cr_assert_str_eq(why, "no process can be started");
}

Test(warm_pool, one_that_dies_young_again_and_again_is_replaced_ever_more_rarely)
{
    node.conf.server.spare_backends = 1;
    node.conf.server.health_check_s = 0;
    begin();
    for (uint64_t ms = 400; ms <= 25600; ms *= 2) {
        dies(pool->processes[0]);
        cr_assert_eq(pool->count, 0);
        still_clock_pass(&node.still, ms - 1);
        cr_assert_eq(pool->count, 0, "%llu ms", (unsigned long long)ms);
        still_clock_pass(&node.still, 1);
        cr_assert_eq(pool->count, 1, "%llu ms", (unsigned long long)ms);
    }
    for (unsigned i = 0; i < 2; i++) {
        dies(pool->processes[0]);
        still_clock_pass(&node.still, 29999);
        cr_assert_eq(pool->count, 0);
        still_clock_pass(&node.still, 1);
        cr_assert_eq(pool->count, 1, "at the latest");
    }
    still_clock_pass(&node.still, 10000);
    dies(pool->processes[0]);
    cr_assert_eq(pool->deaths, 0, "it was not young");
    still_clock_pass(&node.still, 200);
    cr_assert_eq(pool->count, 1);
}

Test(warm_pool, a_spare_that_serves_ends_the_doubts)
{
    node.conf.server.spare_backends = 1;
    begin();
    dies(pool->processes[0]);
    still_clock_pass(&node.still, 400);
    cr_assert_eq(pool->deaths, 1);
    pool->processes[0]->warm = true;
    (void)take();
    cr_assert_eq(pool->deaths, 0);
}

Test(warm_pool, three_young_deaths_make_the_driver_suspect)
{
    node.conf.server.spare_backends = 1;
    node.conf.server.health_check_s = 10;
    begin();
    struct health_check *check = &node.gpuaasd.processes.health[CONF_DRIVER_SOFT];
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_not(check->timer.runs);
        cr_assert_null(check->process);
        dies(pool->processes[0]);
        if (i < 2) {
            still_clock_pass(&node.still, 800);
        }
    }
    cr_assert_not_null(check->process);
}

Test(warm_pool, where_none_can_be_started_it_is_tried_again)
{
    node.starts = 0;
    begin();
    cr_assert_eq(pool->count, 0);
    node.starts = 5;
    still_clock_pass(&node.still, 399);
    cr_assert_eq(pool->count, 0);
    still_clock_pass(&node.still, 1);
    cr_assert_eq(pool->count, 2);
}

Test(warm_pool, new_values_make_spares_give_way)
{
    begin();
    struct backend_process *old = pool->processes[0];
    node.conf.server.spare_backends = 3;
    warm_pool_renew(pool);
    cr_assert_eq(pool->count, 0);
    cr_assert(old->ending);
    still_clock_pass(&node.still, 200);
    cr_assert_eq(pool->count, 3);
    warm_pool_stop(pool);
    (void)take();
    fake_node_pass(60000);
    cr_assert_eq(pool->count, 2, "it keeps no more");
}

Test(warm_pool, the_death_of_one_that_is_taken_is_not_the_pools)
{
    begin();
    struct backend_process *process = take();
    dies(process);
    cr_assert_eq(pool->deaths, 0);
    cr_assert_eq(pool->count, 1);
}
