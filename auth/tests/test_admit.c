/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: each way of saying who one is, each thing that may be wrong with it, and that who
 * connects is not told which. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "auth/auth.h"
#include "auth/token.h"

#define NOW       INT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

static struct store *store;
static struct auth *auth;
static char token[AUTH_TOKEN_BYTES];
static struct store_credential issued;
static struct auth_grant grant;
static struct auth_refusal refusal;
static uint64_t now_ns;

static void set_up(void)
{
    char why[300] = "";
    struct store_tenant tenant;
    struct store_user user = {.tenant = "lab", .name = "ana"};
    cr_assert_eq(store_open(":memory:", &store, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(auth_open(store, &auth), GA_OK);
    store_tenant_init(&tenant, "lab");
    tenant.limits.of[LIMIT_GPUS] = 4;
    tenant.limits.of[LIMIT_SESSIONS] = 8;
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK);
    limits_clear(&user.limits);
    user.limits.of[LIMIT_GPUS] = 2;
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    cr_assert_eq(
        auth_token_issue(store, "lab", "ana", "", 3600, NOW, token, &issued, why, sizeof why),
        GA_OK, "%s", why);
}

static void tear_down(void)
{
    auth_close(auth);
    store_close(store);
}

TestSuite(admit, .init = set_up, .fini = tear_down);

/* Each call comes from another address. */
static enum ga_status admit(struct auth_claim claim, int64_t now)
{
    static uint32_t address;
    address++;
    memcpy(claim.source, &address, sizeof address);
    memset(&grant, 0xee, sizeof grant);
    memset(&refusal, 0, sizeof refusal);
    return auth_admit(auth, &claim, now, now_ns, &grant, &refusal);
}

static void expect_refused(struct auth_claim claim, int64_t now, enum auth_reason reason)
{
    cr_assert_eq(admit(claim, now), GA_DENIED);
    cr_assert_eq(refusal.reason, reason, "%s: %s", auth_reason_name(refusal.reason),
                 refusal.detail);
    cr_assert_neq(refusal.why[0], 0);
    cr_assert_neq(refusal.detail[0], 0);
    cr_assert_null(strstr(refusal.detail, token + 20), "a secret in a log");
}

Test(admit, a_token)
{
    struct auth_claim claim = {.token = token};
    struct store_credential found;
    cr_assert_eq(admit(claim, NOW), GA_OK, "%s", refusal.detail);
    cr_assert_eq(grant.by, AUTH_BY_TOKEN);
    cr_assert_str_eq(grant.tenant.name, "lab");
    cr_assert_str_eq(grant.user, "ana");
    cr_assert_str_eq(grant.credential, issued.id);
    cr_assert_eq(grant.expires, NOW + 3600);
    cr_assert_eq(grant.limits.of[LIMIT_GPUS], 2, "the user's");
    cr_assert_eq(grant.limits.of[LIMIT_SESSIONS], 8, "the tenant's");
    cr_assert_eq(grant.tenant.limits.of[LIMIT_GPUS], 4);
    cr_assert_not(grant.admin);
    cr_assert_eq(store_credential_get(store, issued.id, &found), GA_OK);
    cr_assert_eq(found.used, NOW);
}

Test(admit, wrong_tokens_all_get_the_same_answer)
{
    char other[AUTH_TOKEN_BYTES], first[AUTH_WHY_BYTES];
    struct auth_claim claim = {.token = other};
    strcpy(other, token);
    other[30] = other[30] == 'A' ? 'B' : 'A';
    expect_refused(claim, NOW, AUTH_WRONG);
    strcpy(first, refusal.why);
    strcpy(other, token);
    other[8] = other[8] == 'a' ? 'b' : 'a';
    expect_refused(claim, NOW, AUTH_UNKNOWN);
    cr_assert_str_eq(refusal.why, first);
    strcpy(other, "password");
    expect_refused(claim, NOW, AUTH_MALFORMED);
    cr_assert_str_eq(refusal.why, first);
    strcpy(other, token);
    expect_refused(claim, NOW + 3600, AUTH_EXPIRED);
    cr_assert_not_null(strstr(refusal.why, "has expired at "), "%s", refusal.why);
    cr_assert_eq(refusal.wait_ms, 0, "it was no guess");
    cr_assert_eq(admit(claim, NOW + 3599), GA_OK);
    claim.admin = true;
    expect_refused(claim, NOW, AUTH_NOT_FOR_THIS);
    cr_assert_str_eq(refusal.why, first);
    cr_assert_eq(refusal.wait_ms, 0, "it was no guess");
    claim.admin = false;
    cr_assert_eq(store_credential_revoke(store, issued.id, NOW), GA_OK);
    expect_refused(claim, NOW, AUTH_REVOKED);
    cr_assert_not_null(strstr(refusal.why, "was revoked by its administrator at "), "%s",
                       refusal.why);
    cr_assert_eq(refusal.wait_ms, 0, "it was no guess");
    other[30] = other[30] == 'A' ? 'B' : 'A'; /* another secret */
    expect_refused(claim, NOW + 3600, AUTH_WRONG);
    cr_assert_str_eq(refusal.why, first, "who has not the secret is not told");
    cr_assert_eq(refusal.wait_ms, 1000);
}

Test(admit, nothing_is_not_enough)
{
    struct auth_claim claim = {.token = ""};
    expect_refused(claim, NOW, AUTH_NOTHING_SHOWN);
    cr_assert_not_null(strstr(refusal.why, "GPUAAS_TOKEN_FILE"));
    cr_assert_eq(refusal.wait_ms, 0, "who shows nothing guesses nothing");
    claim.token = NULL;
    expect_refused(claim, NOW, AUTH_NOTHING_SHOWN);
    claim.admin = true;
    claim.proof = AUTH_PROVES_USER;
    expect_refused(claim, NOW, AUTH_NOTHING_SHOWN);
}

Test(admit, certificates)
{
    struct store_credential made = {.id = "abc",
                                    .kind = STORE_CERTIFICATE,
                                    .scope = STORE_OF_TENANT,
                                    .tenant = "lab",
                                    .created = NOW,
                                    .expires = NOW + 100};
    struct store_credential boss = {.id = "boss1",
                                    .kind = STORE_CERTIFICATE,
                                    .scope = STORE_OF_ADMIN,
                                    .name = "root",
                                    .created = NOW,
                                    .expires = NOW + 100};
    memset(made.hash, 7, sizeof made.hash);
    memset(boss.hash, 8, sizeof boss.hash);
    cr_assert_eq(store_credential_put(store, &made), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_credential_put(store, &boss), GA_OK, "%s", store_why(store));
    struct auth_claim claim = {
        .proof = AUTH_PROVES_KEY, .uri = "gpuaas://tenant/lab/abc", .certificate = made.hash};
    cr_assert_eq(admit(claim, NOW), GA_OK, "%s", refusal.detail);
    cr_assert_eq(grant.by, AUTH_BY_CERTIFICATE);
    cr_assert_str_eq(grant.tenant.name, "lab");
    cr_assert_str_eq(grant.user, "");
    cr_assert_eq(grant.limits.of[LIMIT_GPUS], 4);
    /* The certificate counts, not the name that is written in it. */
    cr_assert_eq(store_tenant_rename(store, "lab", "new-lab", STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(admit(claim, NOW), GA_OK, "%s", refusal.detail);
    cr_assert_str_eq(grant.tenant.name, "new-lab");
    claim.certificate = boss.hash;
    expect_refused(claim, NOW, AUTH_WRONG);
    claim.certificate = made.hash;
    claim.uri = "gpuaas://tenant/lab/abd";
    expect_refused(claim, NOW, AUTH_UNKNOWN);
    claim.uri = "gpuaas://tenant/lab";
    expect_refused(claim, NOW, AUTH_MALFORMED);
    claim.uri = "";
    expect_refused(claim, NOW, AUTH_NOTHING_SHOWN);
    claim.uri = "gpuaas://admin/root/boss1";
    claim.certificate = boss.hash;
    expect_refused(claim, NOW, AUTH_NOT_FOR_THIS);
    claim.admin = true;
    cr_assert_eq(admit(claim, NOW), GA_OK, "%s", refusal.detail);
    cr_assert(grant.admin);
    cr_assert_str_eq(grant.user, "root");
    cr_assert_str_eq(grant.tenant.name, "");
    /* An administrator's URI with a tenant's credential, and the other way round. */
    claim.uri = "gpuaas://admin/root/abc";
    claim.certificate = made.hash;
    expect_refused(claim, NOW, AUTH_NOT_FOR_THIS);
    claim.admin = false;
    claim.uri = "gpuaas://tenant/lab/boss1";
    claim.certificate = boss.hash;
    expect_refused(claim, NOW, AUTH_NOT_FOR_THIS);
    /* A token in the place of a certificate: ids do not change their kind. */
    char uri[AUTH_URI_BYTES];
    struct auth_uri named = {.name = "lab"};
    strcpy(named.credential, issued.id);
    auth_uri_write(&named, uri);
    claim.uri = uri;
    claim.certificate = issued.hash;
    expect_refused(claim, NOW, AUTH_WRONG);
}

Test(admit, the_token_decides_before_the_certificate_and_the_user)
{
    struct auth_claim claim = {.proof = AUTH_PROVES_USER, .uid = 1000, .token = "wrong"};
    struct store_local local = {.kind = STORE_UID, .number = 1000, .tenant = "lab"};
    cr_assert_eq(store_local_put(store, &local), GA_OK);
    expect_refused(claim, NOW, AUTH_MALFORMED);
    claim.token = NULL;
    cr_assert_eq(admit(claim, NOW), GA_OK);
}

Test(admit, local_users)
{
    struct store_local uid = {.kind = STORE_UID, .number = 1000, .tenant = "lab", .user = "ana"},
                       gid = {.kind = STORE_GID, .number = 50, .tenant = "default"};
    struct auth_claim claim = {.proof = AUTH_PROVES_USER, .uid = 1000, .gid = 50, .pid = 4711};
    expect_refused(claim, NOW, AUTH_UNKNOWN);
    cr_assert_not_null(strstr(refusal.why, "user 1000 of this machine belongs to no tenant"));
    cr_assert_not_null(strstr(refusal.detail, "4711"));
    cr_assert_eq(refusal.wait_ms, 0, "he has guessed nothing");
    cr_assert_eq(store_local_put(store, &gid), GA_OK);
    cr_assert_eq(admit(claim, NOW), GA_OK);
    cr_assert_eq(grant.by, AUTH_BY_GID);
    cr_assert_str_eq(grant.tenant.name, "default");
    cr_assert_eq(store_local_put(store, &uid), GA_OK);
    cr_assert_eq(admit(claim, NOW), GA_OK);
    cr_assert_eq(grant.by, AUTH_BY_UID, "the uid comes first");
    cr_assert_str_eq(grant.tenant.name, "lab");
    cr_assert_str_eq(grant.user, "ana");
    cr_assert_eq(grant.limits.of[LIMIT_GPUS], 2);
    cr_assert_eq(grant.expires, 0);
}

Test(admit, suspended_ones_are_told)
{
    struct auth_claim claim = {.token = token};
    struct store_tenant tenant;
    struct store_user user;
    cr_assert_eq(store_user_get(store, "lab", "ana", &user), GA_OK);
    user.suspended = true;
    strcpy(user.reason, "on leave");
    cr_assert_eq(store_user_put(store, &user, STORE_ANY_GENERATION), GA_OK);
    expect_refused(claim, NOW, AUTH_SUSPENDED);
    cr_assert_not_null(strstr(refusal.why, "on leave"));
    cr_assert_eq(store_tenant_get(store, "lab", &tenant), GA_OK);
    tenant.suspended = true;
    strcpy(tenant.reason, "unpaid");
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_ANY_GENERATION), GA_OK);
    expect_refused(claim, NOW, AUTH_SUSPENDED);
    cr_assert_not_null(strstr(refusal.why, "tenant lab is suspended: unpaid"));
    cr_assert_eq(refusal.wait_ms, 0);
}

/* A stale token, and others, of the same source; and guesses at the id of the right one. */
Test(admit, a_right_secret_gets_in_whatever_has_failed)
{
    char stale[AUTH_TOKEN_BYTES], guess[AUTH_TOKEN_BYTES];
    snprintf(stale, sizeof stale, "%s", token);
    snprintf(guess, sizeof guess, "%s", token);
    stale[strlen("gpuaas_")] ^= 1; /* another id */
    guess[strlen(guess) - 2] ^= 1; /* another secret */
    const char *wrong[] = {"junk", stale, guess};
    struct auth_claim right = {.token = token, .source = {1}};
    now_ns = SECOND_NS;
    for (unsigned i = 0; i < 300; i++) {
        struct auth_claim claim = {.token = wrong[i % 3], .source = {1}};
        cr_assert_eq(auth_admit(auth, &claim, NOW, now_ns, &grant, &refusal), GA_DENIED);
        cr_assert_neq(auth_penalty_ms(auth, claim.source, now_ns), 0);
        cr_assert_eq(auth_admit(auth, &right, NOW, now_ns, &grant, &refusal), GA_OK);
        now_ns += i * SECOND_NS / 100;
    }
}

Test(admit, failures_count_by_source_and_credential)
{
    char unknown[AUTH_TOKEN_BYTES];
    snprintf(unknown, sizeof unknown, "%s", token);
    char *letter = &unknown[strlen("gpuaas_")];
    *letter = *letter == 'a' ? 'b' : 'a';
    struct auth_claim junk = {.token = "junk", .source = {1}},
                      other = {.token = unknown, .source = {1}},
                      neighbour = {.token = "junk", .source = {2}};
    now_ns = SECOND_NS;
    cr_assert_eq(auth_admit(auth, &junk, NOW, now_ns, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_MALFORMED);
    cr_assert_eq(refusal.wait_ms, 1000);
    cr_assert_str_eq(refusal.credential, "");
    char why[AUTH_WHY_BYTES];
    memcpy(why, refusal.why, sizeof why);
    cr_assert_eq(auth_admit(auth, &junk, NOW, now_ns, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_PENALTY, "the same again");
    cr_assert_str_eq(refusal.why, why, "is told the same");
    cr_assert_eq(refusal.wait_ms, 2000);
    cr_assert_eq(auth_admit(auth, &other, NOW, now_ns, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_UNKNOWN, "another credential");
    cr_assert_eq(strncmp(refusal.credential, unknown + strlen("gpuaas_"), 12), 0);
    cr_assert_eq(auth_admit(auth, &neighbour, NOW, now_ns, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_MALFORMED, "another source");
    cr_assert_eq(auth_penalty_ms(auth, junk.source, now_ns), 4000, "of the source all count");
    cr_assert_eq(auth_penalty_ms(auth, neighbour.source, now_ns), 1000);
    now_ns += 4 * SECOND_NS;
    cr_assert_eq(auth_penalty_ms(auth, junk.source, now_ns), 0);
    cr_assert_eq(auth_admit(auth, &junk, NOW, now_ns, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_MALFORMED);
    cr_assert_eq(refusal.wait_ms, 4000);
    cr_assert_eq(auth_admit(auth, &neighbour, NOW, now_ns, &grant, &refusal), GA_DENIED);
    struct auth_claim right = {.token = token, .source = {1}};
    cr_assert_eq(auth_admit(auth, &right, NOW, now_ns, &grant, &refusal), GA_OK);
    cr_assert_eq(auth_penalty_ms(auth, right.source, now_ns), 0, "it has shown a right one");
    cr_assert_neq(auth_penalty_ms(auth, neighbour.source, now_ns), 0, "its neighbour has not");
}

Test(admit, what_was_granted_is_looked_at_again)
{
    struct auth_claim claim = {.token = token};
    struct store_tenant tenant;
    cr_assert_eq(admit(claim, NOW), GA_OK);
    cr_assert_eq(store_tenant_get(store, "lab", &tenant), GA_OK);
    tenant.limits.of[LIMIT_SESSIONS] = 1;
    tenant.suspended = true;
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_OK);
    cr_assert_eq(grant.limits.of[LIMIT_SESSIONS], 1);
    cr_assert(grant.tenant.suspended);
    cr_assert_eq(store_credential_revoke(store, issued.id, NOW), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_DENIED);
    cr_assert_eq(refusal.reason, AUTH_REVOKED);
    cr_assert_not_null(strstr(refusal.why, "revoked"));
}

Test(admit, of_local_users_too)
{
    struct store_local uid = {.kind = STORE_UID, .number = 1000, .tenant = "lab"};
    struct auth_claim claim = {.proof = AUTH_PROVES_USER, .uid = 1000};
    cr_assert_eq(store_local_put(store, &uid), GA_OK);
    cr_assert_eq(admit(claim, NOW), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_OK);
    cr_assert_eq(store_tenant_rename(store, "lab", "b", STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_OK);
    cr_assert_str_eq(grant.tenant.name, "b");
    strcpy(uid.tenant, "default");
    cr_assert_eq(store_local_put(store, &uid), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_DENIED, "he is another one's now");
    cr_assert_eq(store_local_remove(store, STORE_UID, 1000), GA_OK);
    cr_assert_eq(auth_still(auth, &grant, &refusal), GA_DENIED);
}
