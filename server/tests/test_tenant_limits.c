/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a tenant, and of its users, allow its programs to begin, and to open one more GPU,
 * or not. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/status_sink.h"
#include "server/applications/tenant_applications.h"
#include "server/tenants/member.h"
#include "server/tenants/refusal.h"
#include "server/tests/fake_node.h"

TestSuite(tenant_limits, .init = fake_node_start, .fini = fake_node_stop);

static struct refusal refusal;

static bool may_open(const struct control_application *application, uint32_t gpu, bool claims)
{
    memset(&refusal, 0, sizeof refusal);
    return tenant_may_open(application, gpu, claims, &refusal);
}

static bool admits(const struct control_application *application)
{
    memset(&refusal, 0, sizeof refusal);
    return tenant_admits(application->tenant, application, &refusal);
}

static void assert_limit(enum limit limit, const char *why)
{
    cr_assert_eq(refusal.reason, REFUSAL_LIMIT);
    cr_assert_eq(refusal.limit, limit);
    cr_assert_str_eq(refusal.why, why);
}

static struct tenant_terms lab_with(enum limit limit, uint64_t most)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    lab.limits.of[limit] = most;
    return lab;
}

Test(tenant_limits, gpus_count_once_however_many_programs_use_them)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPUS, 2);
    struct control_application *one = fake_application(&lab, 1), *two = fake_application(&lab, 2);
    struct seat *seat = fake_seat(one);
    fake_open(seat, 0);
    cr_assert(may_open(two, 0, false) && may_open(two, 1, false));
    fake_open(seat, 2);
    cr_assert(may_open(two, 0, false) && may_open(two, 2, false));
    cr_assert_not(may_open(two, 1, false));
    assert_limit(LIMIT_GPUS, "limit gpus of tenant lab: 2 allowed, 2 used; end another program "
                             "first, or ask for a higher limit");
    cr_assert_not(may_open(one, 1, false));
    control_application_end(one);
    cr_assert(may_open(two, 1, false), "what has been left counts no more");
}

Test(tenant_limits, claims_count_for_their_own_program_and_for_others_where_that_is_asked)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPUS, 1);
    struct control_application *one = fake_application(&lab, 1), *two = fake_application(&lab, 2);
    fake_ticket(fake_seat(one), 0);
    cr_assert(may_open(two, 1, false));
    cr_assert_not(may_open(two, 1, true));
    cr_assert(may_open(two, 0, true));
    cr_assert_not(may_open(one, 1, false));
    cr_assert(may_open(one, 0, false));
}

Test(tenant_limits, a_session_is_a_program_that_has_opened_a_device)
{
    const struct tenant_terms lab = lab_with(LIMIT_SESSIONS, 2);
    struct control_application *one = fake_application(&lab, 1), *two = fake_application(&lab, 2),
                               *three = fake_application(&lab, 3);
    struct seat *seats[] = {fake_seat(one), fake_seat(two)};
    fake_open(seats[0], 0);
    cr_assert(may_open(two, 0, false) && admits(three));
    fake_open(seats[1], 0);
    cr_assert(may_open(two, 1, false) && may_open(one, 1, false), "they have their sessions");
    cr_assert_not(may_open(three, 0, false));
    const char why[] = "limit sessions of tenant lab: 2 allowed, 2 used; end another program "
                       "first, or ask for a higher limit";
    assert_limit(LIMIT_SESSIONS, why);
    cr_assert_not(admits(three));
    assert_limit(LIMIT_SESSIONS, why);
    three->observer = true;
    cr_assert(admits(three), "one that only looks is no session");
    three->observer = false;
    control_application_end(one);
    cr_assert(may_open(three, 0, false) && admits(three));
}

Test(tenant_limits, others_that_are_about_to_begin_count_where_that_is_asked)
{
    const struct tenant_terms lab = lab_with(LIMIT_SESSIONS, 2);
    struct control_application *one = fake_application(&lab, 1), *two = fake_application(&lab, 2),
                               *three = fake_application(&lab, 3);
    fake_ticket(fake_seat(one), 0);
    cr_assert(may_open(three, 0, true));
    fake_ticket(fake_seat(two), 0);
    cr_assert(may_open(three, 0, false));
    cr_assert_not(may_open(three, 0, true));
    cr_assert(may_open(two, 1, true), "its own claim is not another's");
}

Test(tenant_limits, a_user_is_held_by_its_own_limits_within_those_of_the_tenant)
{
    struct tenant_terms lab = lab_with(LIMIT_GPUS, 2);
    struct limits anns = lab.limits;
    anns.of[LIMIT_GPUS] = 1;
    anns.of[LIMIT_SESSIONS] = 1;
    struct control_application *ann = fake_application_of_user(&lab, "ann", &anns, 1),
                               *also = fake_application_of_user(&lab, "ann", &anns, 2),
                               *bob = fake_application_of_user(&lab, "bob", NULL, 3);
    fake_open(fake_seat(bob), 0);
    cr_assert(may_open(ann, 1, false), "what others use does not count for her");
    fake_open(fake_seat(ann), 1);
    cr_assert_not(may_open(ann, 0, false));
    assert_limit(LIMIT_GPUS, "limit gpus of user ann of tenant lab: 1 allowed, 1 used; end another "
                             "program first, or ask for a higher limit");
    cr_assert_not(may_open(also, 1, false));
    assert_limit(LIMIT_SESSIONS, "limit sessions of user ann of tenant lab: 1 allowed, 1 used; end "
                                 "another program first, or ask for a higher limit");
    cr_assert_not(admits(also));
    cr_assert_eq(refusal.limit, LIMIT_SESSIONS);
    cr_assert_not(may_open(bob, 2, false));
    assert_limit(LIMIT_GPUS, "limit gpus of tenant lab: 2 allowed, 2 used; end another program "
                             "first, or ask for a higher limit");
    control_application_end(ann);
    cr_assert(admits(also) && may_open(also, 1, false));
}

Test(tenant_limits, users_claims_count_for_that_user_alone)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    struct limits own = lab.limits;
    own.of[LIMIT_SESSIONS] = 1;
    struct control_application *ann = fake_application_of_user(&lab, "ann", &own, 1),
                               *bob = fake_application_of_user(&lab, "bob", &own, 2),
                               *bobs = fake_application_of_user(&lab, "bob", &own, 3);
    fake_ticket(fake_seat(bob), 0);
    cr_assert(may_open(ann, 0, true));
    cr_assert_not(may_open(bobs, 0, true));
}

Test(tenant_limits, types_of_gpu_decide_what_a_tenant_sees)
{
    struct tenant_terms lab = fake_terms("lab", 1), all = fake_terms("all", 2);
    strcpy(lab.gpu_types, "Fast");
    strcpy(node.gpuaasd.processes.devices.all[1].facts.name, "Fast");
    struct control_application *one = fake_application(&lab, 1), *two = fake_application(&all, 2);
    cr_assert_eq(one->gpu_count, 1);
    cr_assert_eq(one->gpus[0], 1);
    cr_assert_eq(two->gpu_count, FAKE_GPUS);
    cr_assert(two->gpus[0] == 0 && two->gpus[1] == 1 && two->gpus[2] == 2);
    cr_assert(may_open(one, 1, false) && admits(one));
    cr_assert_not(may_open(one, 0, false));
    cr_assert_eq(refusal.reason, REFUSAL_GPU_TYPES);
    cr_assert_eq(refusal.result, CUDA_ERROR_NOT_PERMITTED);
    cr_assert_str_eq(refusal.why, "gpu-types of tenant lab: Soft is not among Fast");
    strcpy(node.gpuaasd.processes.devices.all[1].facts.name, "Soft");
    one->observer = true;
    cr_assert_not(admits(one), "not even to look");
    cr_assert_eq(refusal.reason, REFUSAL_GPU_TYPES);
    cr_assert_str_eq(refusal.why, "gpu-types of tenant lab: this node has none of Fast");
}

Test(tenant_limits, programs_and_sessions_of_a_tenant_are_counted)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *one = fake_application_of_user(&lab, "ann", NULL, 1),
                               *two = fake_application_of_user(&lab, "ann", NULL, 2);
    const struct tenant *tenant = one->tenant;
    const struct member *ann = one->member;
    cr_assert_eq(tenant->application_count, 2);
    cr_assert_eq(tenant->session_count + ann->session_count, 0);
    fake_open(fake_seat(one), 0);
    fake_open(fake_seat(two), 0);
    fake_open(two->seats[CONF_DRIVER_SOFT], 1);
    cr_assert_eq(tenant->session_count, 2);
    cr_assert_eq(ann->session_count, 2);
    struct control_application *looks = fake_greeting(3, HANDSHAKE_HELLO_OBSERVER);
    cr_assert(control_application_admit(looks, one->tenant));
    cr_assert_eq(tenant->application_count, 2);
    control_application_end(looks);
    cr_assert_eq(tenant->application_count, 2);
    control_application_end(two);
    cr_assert_eq(tenant->application_count, 1);
    cr_assert_eq(tenant->session_count, 1);
    cr_assert_eq(ann->session_count, 1);
    cr_assert_neq(one->alone_number, 0);
}

static struct status_tenant told[3];
static unsigned told_count;

static void take(void *user, const struct status_tenant *tenant)
{
    (void)user;
    told[told_count++] = *tenant;
}

Test(tenant_limits, the_status_tells_each_tenant)
{
    const struct tenant_terms lab = lab_with(LIMIT_OBJECTS, 5000), other = fake_terms("other", 2);
    struct control_application *one = fake_application(&lab, 1);
    struct seat *seat = fake_seat(one);
    (void)fake_application(&lab, 2);
    (void)fake_application(&other, 3);
    fake_open(seat, 0);
    struct channel_request lend = {
        .kind = CHANNEL_REQUEST, .verb = CHANNEL_LEND, .what = CHANNEL_LENT_OBJECTS, .bytes = 7};
    int fd = -1;
    cr_assert_not(seat->base.ops->request(&seat->base, &lend, &fd));
    atomic_store(&((struct figures *)(uintptr_t)seat->usage.figures)->of[FIGURE_OBJECTS], 3);
    const struct status_sink sink = {.tenant = take};
    tenant_status(&node.gpuaasd.applications.tenants, &sink);
    cr_assert_eq(told_count, 2);
    cr_assert_str_eq(told[0].name, "lab");
    cr_assert_eq(told[0].application_count, 2);
    cr_assert_eq(told[0].session_count, 1);
    cr_assert_eq(told[0].limits->of[LIMIT_OBJECTS], 5000);
    cr_assert_eq(told[0].lent[CHANNEL_LENT_OBJECTS], CHANNEL_GRAIN_OBJECTS);
    cr_assert_eq(told[0].charged[CHANNEL_LENT_OBJECTS], 3);
    cr_assert(told[0].balanced);
    cr_assert_str_eq(told[1].name, "other");
    cr_assert_eq(told[1].application_count, 1);
    cr_assert_eq(told[1].session_count, 0);
}
