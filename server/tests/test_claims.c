/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, which are tickets that nobody has used yet: when they are in another program's way, how
 * they are taken back, what the process's answer changes, and who comes first in the line. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/applications/claims_line.h"
#include "server/seats/claims.h"
#include "server/tests/fake_node.h"

TestSuite(claims, .init = fake_node_start, .fini = fake_node_stop);

static struct control_application *holder, *asker;
static struct seat *seat;
static struct fake_process *process;
static struct claims_place place;

/* One with a claim on the GPU 1, and one that asks, of another tenant or the same. */
static void two_programs(enum isolation isolation, bool same_tenant, uint64_t gpus)
{
    struct tenant_terms lab = fake_terms("lab", 1), other = fake_terms("other", 2);
    lab.isolation = isolation;
    lab.limits.of[LIMIT_GPUS] = gpus;
    holder = fake_application(same_tenant ? &lab : &other, 1);
    asker = fake_application(&lab, 2);
    seat = fake_seat(holder);
    process = fake_process_of(seat);
    fake_ticket(seat, 1);
}

static void answer(uint32_t gpu, bool used, uint32_t tickets)
{
    const union channel_packet packet = {.claim = {.kind = CHANNEL_VOID,
                                                   .seat = seat->number,
                                                   .gpu = gpu,
                                                   .used = used,
                                                   .tickets = tickets}};
    fake_says(seat, &packet);
}

static unsigned questions(void)
{
    return fake_told_times(process, CHANNEL_VOID);
}

Test(claims, a_young_claim_of_an_exclusive_gpu_is_waited_for_and_an_old_one_taken_back)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 0);
    fake_node_pass(999);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 0, "it is safe for a second");
    fake_node_pass(1);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 1);
    const union channel_packet *told = fake_told(process, CHANNEL_VOID);
    cr_assert_eq(told->claim.gpu, 1);
    cr_assert_eq(told->claim.seat, seat->number);
    cr_assert_eq(told->claim.tickets, 1);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 1, "one question at a time");
    answer(1, false, 1);
    cr_assert_not(gpu_set_any(seat->claimed));
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
}

Test(claims, a_claim_that_was_used_meanwhile_is_a_session)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    answer(1, true, 1);
    cr_assert_not(gpu_set_any(seat->claimed));
    cr_assert(gpu_set_has(seat->gpus, 1));
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK, "sessions are not this file's affair");
    fake_ticket(seat, 1);
    cr_assert_not(gpu_set_any(seat->claimed), "of a GPU that it has opened it needs no claim");
}

Test(claims, an_answer_counts_for_the_tickets_that_were_given_until_then)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    fake_ticket(seat, 1);
    answer(1, false, 1);
    cr_assert(gpu_set_has(seat->claimed, 1), "the second ticket is a claim of its own");
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 2);
    cr_assert_eq(fake_told(process, CHANNEL_VOID)->claim.tickets, 2);
    answer(1, false, 2);
    cr_assert_not(gpu_set_any(seat->claimed));
}

Test(claims, answers_that_nobody_has_asked_for_change_nothing)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    answer(1, false, 1);
    answer(0, true, 1);
    answer(CONF_GPUS_MAX, true, 1);
    answer(UINT32_MAX, true, 1);
    cr_assert(gpu_set_has(seat->claimed, 1));
    cr_assert_not(gpu_set_any(seat->gpus));
}

Test(claims, of_a_process_that_had_it_for_longer_than_a_ticket_is_good_no_answer_is_believed)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_node_pass(10000);
    cr_assert_not(claims_doubted(seat));
    fake_node_pass(1);
    cr_assert(claims_doubted(seat));
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    struct seat *gone = seat;
    answer(1, false, 1);
    cr_assert(gpu_set_has(gone->claimed, 1));
    cr_assert_null(holder->seats[CONF_DRIVER_SOFT], "its process must end");
    cr_assert_eq(process->ends, 1);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    fake_dies(process, "exit status 0");
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
}

Test(claims, a_program_that_has_a_session_is_never_doubted)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_open(seat, 0);
    fake_node_pass(60000);
    cr_assert_not(claims_doubted(seat));
}

Test(claims, a_process_that_does_not_answer_within_two_seconds_is_waited_for_in_vain)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    fake_node_pass(2000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    fake_node_pass(1);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_DENIED);
    cr_assert_null(place.application, "it has no place any more");
}

Test(claims, nobody_waits_for_longer_than_twenty_seconds)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    for (unsigned i = 0; i < 20; i++) {
        cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
        fake_ticket(seat, 1); /* it gets a new one all the time */
        fake_node_pass(1000 - (i == 19));
    }
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    fake_ticket(seat, 1);
    fake_node_pass(2);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_DENIED);
}

Test(claims, only_an_exclusive_tenant_is_kept_away_and_only_from_that_gpu)
{
    two_programs(ISOLATION_APP, false, LIMIT_NONE);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
    holder->tenant->terms.isolation = ISOLATION_EXCLUSIVE;
    cr_assert_eq(claims_ask(asker, 0, &place), GA_OK);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN, "whichever of both it is");
    claims_leave(&place);
    cr_assert_eq(claims_ask(holder, 1, &place), GA_OK, "its own claim is in nobody's way");
}

Test(claims, those_of_the_same_tenant_are_in_the_way_where_a_limit_would_be_met_on_any_gpu)
{
    two_programs(ISOLATION_EXCLUSIVE, true, 1);
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK, "the same GPU counts once");
    cr_assert_eq(claims_ask(asker, 0, &place), GA_AGAIN);
    cr_assert_eq(fake_told(process, CHANNEL_VOID)->claim.gpu, 1);
    answer(1, false, 1);
    cr_assert_eq(claims_ask(asker, 0, &place), GA_OK);
}

Test(claims, without_a_limit_those_of_the_same_tenant_are_not)
{
    two_programs(ISOLATION_EXCLUSIVE, true, LIMIT_NONE);
    fake_node_pass(1000);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
    cr_assert_eq(questions(), 0);
}

Test(claims, one_that_has_left_is_asked_nothing_and_waited_for)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    control_application_abandon(holder, seat);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(questions(), 0);
    fake_dies(process, "exit status 0");
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
}

Test(claims, who_waits_comes_before_all_that_come_later)
{
    struct claims_place third = {.gpu = 0};
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    struct tenant_terms yet_other = fake_terms("third", 3);
    struct control_application *late = fake_application(&yet_other, 3);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    claims_bound(seat, 1); /* what it waits for is no claim any more */
    cr_assert_eq(claims_ask(late, 1, &third), GA_AGAIN, "behind the one that waits");
    cr_assert_eq(claims_ask(late, 0, &third), GA_OK, "which waits for another GPU");
    cr_assert_eq(claims_ask(asker, 1, &place), GA_OK);
    claims_leave(&place);
    claims_leave(&place);
    cr_assert_eq(claims_ask(late, 1, &third), GA_OK);
    claims_leave(&third);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.claims_line));
}

Test(claims, of_one_tenant_those_that_wait_for_a_limit_come_first_on_any_gpu)
{
    struct claims_place third = {.gpu = 0};
    two_programs(ISOLATION_APP, true, 1);
    struct control_application *late = fake_application(&asker->tenant->terms, 3);
    cr_assert_eq(claims_ask(asker, 0, &place), GA_AGAIN);
    cr_assert(place.limited);
    gpu_set_remove(seat->claimed, 1);
    cr_assert_eq(claims_ask(late, 2, &third), GA_AGAIN);
    cr_assert_eq(claims_ask(asker, 0, &place), GA_OK);
    claims_leave(&place);
    cr_assert_eq(claims_ask(late, 2, &third), GA_OK);
}

Test(claims, a_client_has_one_place_in_the_line)
{
    two_programs(ISOLATION_EXCLUSIVE, false, LIMIT_NONE);
    fake_ticket(seat, 2);
    cr_assert_eq(claims_ask(asker, 1, &place), GA_AGAIN);
    cr_assert_eq(claims_ask(asker, 2, &place), GA_AGAIN);
    cr_assert_eq(place.gpu, 1);
    cr_assert_eq(place.link.next, &node.gpuaasd.applications.claims_line);
    cr_assert_eq(node.gpuaasd.applications.claims_line.next, &place.link);
}

Test(claims, all_of_an_application_are_taken_back_whatever_their_age)
{
    two_programs(ISOLATION_APP, false, LIMIT_NONE);
    fake_ticket(seat, 2);
    fake_open(seat, 0);
    cr_assert(claims_any(holder));
    cr_assert_not(claims_any(asker));
    claims_take_back(asker);
    cr_assert_eq(questions(), 0);
    claims_take_back(holder);
    cr_assert_eq(questions(), 2);
    answer(1, false, 3);
    cr_assert(claims_any(holder));
    answer(2, false, 3);
    cr_assert_not(claims_any(holder));
}
