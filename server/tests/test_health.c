/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUs: when there is one, what it finds, and when the next one is due. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "server/processes/health.h"
#include "server/tests/fake_node.h"

static struct processes *room;
static struct health_check *check;

static void start(void)
{
    fake_node_start();
    room = &node.gpuaasd.processes;
    check = &room->health[CONF_DRIVER_SOFT];
    node.conf.server.health_check_s = 10;
    node.starts = 8;
}

TestSuite(health, .init = start, .fini = fake_node_stop);

static void sessions_end(unsigned count, bool failed)
{
    for (unsigned i = 0; i < count; i++) {
        health_session_ended(room, CONF_DRIVER_SOFT, failed);
    }
    still_clock_pass(&node.still, 0);
}

static void finds(uint32_t gpu, const char *reason)
{
    union channel_packet packet = {.checked = {.kind = CHANNEL_CHECKED, .device = gpu}};
    snprintf(packet.checked.reason, sizeof packet.checked.reason, "%s", reason);
    check->process->events->packet(check->process, &packet);
}

static const struct health *of(uint32_t gpu)
{
    return &room->devices.all[gpu].health;
}

Test(health, three_sessions_in_succession_that_fail_are_suspicious)
{
    sessions_end(2, true);
    sessions_end(1, false);
    sessions_end(2, true);
    cr_assert_null(check->process);
    sessions_end(1, true);
    cr_assert_not_null(check->process);
    const struct channel_setup *setup = &fake_started()->setup;
    cr_assert_eq(setup->probe, CHANNEL_PROBE_CHECK);
    cr_assert_eq(setup->driver, CONF_DRIVER_SOFT);
    cr_assert_eq(setup->device_count, FAKE_GPUS);
    cr_assert_eq(node.starts, 7);
    sessions_end(3, true);
    cr_assert_eq(node.starts, 7, "one check at a time");
}

Test(health, a_gpu_that_fails_is_checked_until_it_passes)
{
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 0);
    finds(0, "");
    finds(1, "it is hot");
    finds(FAKE_GPUS, "there is none");
    cr_assert_not(of(0)->failed || of(2)->failed);
    cr_assert(of(1)->failed);
    cr_assert_str_eq(of(1)->reason, "it is hot");
    cr_assert_eq(of(1)->failures, 1);
    finds(2, "");
    fake_dies(fake_started(), "exit status 0");
    cr_assert_null(check->process);
    cr_assert_not(of(2)->failed);
    still_clock_pass(&node.still, 9999);
    cr_assert_null(check->process);
    still_clock_pass(&node.still, 1);
    cr_assert_not_null(check->process, "one has failed");
    finds(0, "");
    finds(1, "it is hot");
    finds(2, "");
    cr_assert_eq(of(1)->failures, 2);
    fake_dies(fake_started(), "exit status 0");
    still_clock_pass(&node.still, 10000);
    finds(0, "");
    finds(1, "");
    finds(2, "");
    cr_assert_not(of(1)->failed);
    cr_assert_str_eq(of(1)->reason, "");
    cr_assert_eq(of(1)->failures, 2);
    fake_dies(fake_started(), "exit status 0");
    fake_node_pass(60000);
    cr_assert_null(check->process, "all have passed");
}

Test(health, a_process_that_does_not_answer_has_found_nothing_good)
{
    room->devices.all[2].known = false;
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 0);
    finds(0, "");
    fake_dies(fake_started(), "killed by signal 9");
    cr_assert_not(of(0)->failed);
    cr_assert_str_eq(of(1)->reason, "its driver does not answer: killed by signal 9");
    cr_assert(of(1)->failed);
    cr_assert_not(of(2)->failed, "the driver has never shown it");
    still_clock_pass(&node.still, 10000);
    snprintf(check->process->why, sizeof check->process->why, "no such library");
    fake_dies(fake_started(), "exit status 1");
    cr_assert_str_eq(of(0)->reason, "its driver does not answer: no such library");
    cr_assert_eq(of(0)->failures, 1);
    cr_assert_eq(of(1)->failures, 2);
}

Test(health, checks_are_no_more_often_than_the_configuration_says)
{
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 0);
    for (uint32_t i = 0; i < FAKE_GPUS; i++) {
        finds(i, "");
    }
    still_clock_pass(&node.still, 4000);
    fake_dies(fake_started(), "exit status 0");
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 6000);
    cr_assert_null(check->process);
    still_clock_pass(&node.still, 1);
    cr_assert_not_null(check->process);
}

Test(health, where_no_process_can_be_started_it_is_tried_again)
{
    node.starts = 0;
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 0);
    cr_assert_null(check->process);
    cr_assert_not(of(0)->failed, "that is not the GPU's fault");
    node.starts = 1;
    still_clock_pass(&node.still, 9999);
    cr_assert_null(check->process);
    still_clock_pass(&node.still, 1);
    cr_assert_not_null(check->process);
}

Test(health, without_checks_and_without_gpus_nothing_is_checked)
{
    node.conf.server.health_check_s = 0;
    sessions_end(9, true);
    cr_assert_null(check->process);
    node.conf.server.health_check_s = 10;
    room->serving = false;
    sessions_end(9, true);
    cr_assert_null(check->process);
}

Test(health, at_the_end_a_check_ends_too)
{
    health_suspect(room, CONF_DRIVER_SOFT);
    still_clock_pass(&node.still, 0);
    health_stop(room);
    cr_assert_eq(fake_started()->ends, 1);
    cr_assert_null(check->process);
    health_suspect(room, CONF_DRIVER_SOFT);
    fake_node_pass(30000);
    cr_assert_null(check->process);
}
