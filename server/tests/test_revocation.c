/* SPDX-License-Identifier: Apache-2.0 */
/* Rights that end, and terms that change, while programs run: what is done when the store has
 * changed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/revocation.h"
#include "server/tenants/member.h"
#include "server/tests/fake_node.h"

#define NOW INT64_C(1700000000)

static struct auth *auth;
static struct store *store;
static struct store_tenant tenant;
static struct store_credential token;
static struct control_application *it;
static struct fake_process *process;

static void tenant_write(void)
{
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_ANY_GENERATION), GA_OK, "%s",
                 store_why(store));
}

/* A program of the user ann of the tenant lab, by a token. */
static void start(void)
{
    char text[AUTH_TOKEN_BYTES], why[AUTH_WHY_BYTES] = "";
    struct auth_refusal refusal;
    fake_node_start();
    store = node.gpuaasd.storage.store;
    cr_assert_eq(auth_open(store, &auth), GA_OK);
    node.gpuaasd.access.auth = auth;
    store_tenant_init(&tenant, "lab");
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK);
    cr_assert_eq(store_tenant_get(store, "lab", &tenant), GA_OK);
    struct store_user ann = {.tenant = "lab", .name = "ann"};
    limits_clear(&ann.limits);
    cr_assert_eq(store_user_put(store, &ann, STORE_NEW), GA_OK, "%s", store_why(store));
    cr_assert_eq(
        auth_token_issue(store, "lab", "ann", "", 3600, NOW, text, &token, why, sizeof why), GA_OK,
        "%s", why);
    const struct auth_claim claim = {.token = text, .uri = ""};
    struct auth_grant *grant = calloc(1, sizeof *grant);
    cr_assert_eq(auth_admit(auth, &claim, NOW, 1, grant, &refusal), GA_OK, "%s", refusal.why);
    const struct tenant_terms terms = access_terms(&grant->tenant);
    it = fake_application_of_user(&terms, "ann", &grant->limits, 1);
    it->grant = grant;
    struct seat *seat = fake_seat(it);
    process = fake_process_of(seat);
    fake_ticket(seat, 1);
}

static void stop(void)
{
    fake_node_stop();
    auth_close(auth);
}

TestSuite(revocation, .init = start, .fini = stop);

static enum ga_status look(void)
{
    return revocation_look(&node.gpuaasd.applications.watcher);
}

Test(revocation, a_right_that_holds_changes_nothing)
{
    cr_assert_eq(look(), GA_OK);
    cr_assert_eq(it->terminated_ns, 0);
    cr_assert_null(fake_told(process, CHANNEL_VOID));
}

Test(revocation, a_program_whose_credential_is_revoked_is_ended)
{
    struct control_application *other = fake_application(&it->tenant->terms, 2);
    cr_assert_eq(store_credential_revoke(store, token.id, NOW), GA_OK);
    cr_assert_eq(look(), GA_OK);
    cr_assert_neq(it->terminated_ns, 0);
    cr_assert_eq(it->closes, APPLICATION_KILLED);
    cr_assert_eq(it->terminated_result, CUDA_ERROR_NOT_PERMITTED);
    cr_assert_not_null(strstr(it->terminated_why, "revoked"), "%s", it->terminated_why);
    cr_assert_eq(other->terminated_ns, 0, "it has none");
}

Test(revocation, new_terms_hold_for_programs_that_run)
{
    cr_assert_eq(store_tenant_rename(store, "lab", "laboratory", STORE_ANY_GENERATION), GA_OK, "%s",
                 store_why(store));
    cr_assert_eq(store_tenant_get(store, "laboratory", &tenant), GA_OK);
    tenant.limits.of[LIMIT_GPUS] = 2;
    tenant_write();
    cr_assert_eq(look(), GA_OK);
    cr_assert_str_eq(it->tenant->terms.name, "laboratory");
    cr_assert_eq(it->tenant->terms.limits.of[LIMIT_GPUS], 2);
    cr_assert_eq(it->member->limits.of[LIMIT_GPUS], 2, "its user has no own one");
    cr_assert_eq(it->terminated_ns, 0);
}

Test(revocation, of_a_suspended_tenant_what_runs_goes_on_and_nothing_begins)
{
    tenant.suspended = true;
    strcpy(tenant.reason, "unpaid");
    tenant_write();
    cr_assert_eq(look(), GA_OK);
    cr_assert_eq(it->terminated_ns, 0);
    cr_assert_eq(fake_told(process, CHANNEL_VOID)->claim.gpu, 1);
    fake_open(it->seats[CONF_DRIVER_SOFT], 0);
    fake_ticket(it->seats[CONF_DRIVER_SOFT], 2);
    cr_assert_eq(look(), GA_OK);
    cr_assert_eq(fake_told_times(process, CHANNEL_VOID), 1, "it has a session");
}

Test(revocation, a_program_whose_tenant_was_removed_is_ended)
{
    cr_assert_eq(store_tenant_remove(store, "lab", STORE_ANY_GENERATION), GA_OK, "%s",
                 store_why(store));
    cr_assert_eq(look(), GA_OK);
    cr_assert_eq(it->closes, APPLICATION_KILLED);
    cr_assert_neq(it->terminated_ns, 0);
}
