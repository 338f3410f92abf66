/* SPDX-License-Identifier: Apache-2.0 */
/* The applications of each GPU, as placement sees them. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/placement/occupancy.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"
#include "server/tenants/tenant.h"

static struct processes processes;
static struct tenant mine, other;
static struct seat my_seat, other_seat;
static struct backend_process process;

static void setup(void)
{
    processes.devices.visible_count = 80;
    ga_list_init(&processes.processes);
    ga_list_append(&processes.processes, &process.link);
    my_seat.of.tenant = &mine;
    other_seat.of.tenant = &other;
    process.seats[0] = &my_seat.base;
    process.seats[CHANNEL_SEATS - 1] = &other_seat.base;
}

TestSuite(occupancy, .init = setup);

static uint32_t pick(uint32_t device)
{
    const struct node_view node = occupancy_view(&processes, &mine);
    return placement_pick(&node, device);
}

Test(occupancy, applications_of_the_same_tenant_are_no_others)
{
    mine.terms.isolation = ISOLATION_EXCLUSIVE;
    my_seat.gpus[1] = 1 << 3;
    cr_expect_eq(pick(67), 67);
    cr_expect_eq(pick(80), PLACEMENT_NONE);
}

Test(occupancy, others_use_a_gpu_until_their_process_has_ended)
{
    other_seat.gpus[1] = 1 << 3;
    other_seat.left = true;
    cr_expect_eq(pick(67), 67);
    mine.terms.isolation = ISOLATION_EXCLUSIVE;
    cr_expect_eq(pick(67), PLACEMENT_TAKEN);
    cr_expect_eq(pick(66), 66);
    process.seats[CHANNEL_SEATS - 1] = NULL;
    cr_expect_eq(pick(67), 67);
}

Test(occupancy, terms_hold_as_they_are_now)
{
    struct refusal refusal;
    other_seat.gpus[0] = 1;
    other.terms.isolation = ISOLATION_EXCLUSIVE;
    cr_expect_eq(pick(0), PLACEMENT_TAKEN);
    occupancy_refusal(&mine, &refusal);
    cr_expect_not_null(strstr(refusal.why, "another tenant has it for itself"));
    other.terms.isolation = ISOLATION_APP;
    cr_expect_eq(pick(0), 0);
}
