/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that end, how often strangers may try a handshake, and the terms of a tenant of the
 * store. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/access/access.h"
#include "server/access/authentication.h"
#include "server/access/certificates.h"
#include "server/tests/fake_node.h"

#define NOW    INT64_C(1700000000) /* 2023-11-14T22:13:20Z */
#define HOUR_S 3600
#define DAY_S  86400

TestSuite(access, .init = fake_node_start, .fini = fake_node_stop);

static struct certificates certificates;
static struct conf_server server;
static char why[600];

static bool wrong(int64_t from, int64_t until)
{
    strcpy(server.tls_cert, "/etc/cert.pem");
    certificates.of[CERTIFICATE_SERVER] = (struct transport_validity){.from = from, .until = until};
    return certificates_wrong(&certificates, &server, NOW, why, sizeof why);
}

static void assert_says(const char *part)
{
    cr_assert_not_null(strstr(why, part), "%s", why);
}

Test(access, a_certificate_is_wrong_on_its_last_day)
{
    cr_assert_not(wrong(0, 0), "there is none");
    cr_assert_not(wrong(NOW, NOW + DAY_S + 1));
    cr_assert(wrong(NOW, NOW + DAY_S));
    assert_says("/etc/cert.pem ends in 24 hours, at ");
    assert_says("gpuaasctl cert issue-server");
    cr_assert(wrong(0, NOW + 2 * HOUR_S));
    assert_says(" ends in 2 hours, ");
    cr_assert(wrong(0, NOW + 2 * HOUR_S - 1));
    assert_says(" ends in 7199 s, ");
    cr_assert(wrong(0, NOW + 1));
    assert_says(" ends in 1 s, ");
    cr_assert(wrong(0, NOW));
    assert_says("/etc/cert.pem has expired, at ");
    cr_assert(wrong(NOW + 1, NOW + 100 * DAY_S));
    assert_says("is valid from ");
    cr_assert_not(wrong(NOW, NOW + 100 * DAY_S));
    assert_says(" ends in 100 days, ");
}

Test(access, the_log_tells_of_one_that_ends_once_a_day_and_when_it_has)
{
    int64_t *told = &certificates.told[CERTIFICATE_SERVER];
    (void)wrong(0, NOW + 15 * DAY_S);
    certificates_look(&certificates, &server, NOW);
    cr_assert_eq(*told, 0, "more than two weeks are left");
    certificates_look(&certificates, &server, NOW + DAY_S);
    cr_assert_eq(*told, NOW + DAY_S);
    certificates_look(&certificates, &server, NOW + 2 * DAY_S - 1);
    cr_assert_eq(*told, NOW + DAY_S);
    certificates_look(&certificates, &server, NOW + 2 * DAY_S);
    cr_assert_eq(*told, NOW + 2 * DAY_S);
    *told = NOW + 15 * DAY_S - 10;
    certificates_look(&certificates, &server, NOW + 15 * DAY_S - 1);
    cr_assert_eq(*told, NOW + 15 * DAY_S - 10);
    certificates_look(&certificates, &server, NOW + 15 * DAY_S);
    cr_assert_eq(*told, NOW + 15 * DAY_S, "it has ended since");
    cr_assert_eq(certificates.told[CERTIFICATE_CLIENT_CA], 0, "there is none");
}

Test(access, their_words_and_paths_are_those_of_their_keys)
{
    strcpy(server.tls_cert, "a");
    strcpy(server.tls_client_ca, "b");
    cr_assert_str_eq(certificates_word(CERTIFICATE_SERVER), "server");
    cr_assert_str_eq(certificates_word(CERTIFICATE_CLIENT_CA), "client_ca");
    cr_assert_str_eq(certificates_path(&server, CERTIFICATE_SERVER), "a");
    cr_assert_str_eq(certificates_path(&server, CERTIFICATE_CLIENT_CA), "b");
}

Test(access, sources_that_fail_have_64_handshakes_at_once_and_one_each_25_ms)
{
    struct access *access = &node.gpuaasd.access;
    for (unsigned i = 0; i < 64; i++) {
        cr_assert_eq(authentication_slow_wait_ns(access), 0, "%u", i);
    }
    cr_assert_eq(authentication_slow_wait_ns(access), 25 * GA_NS_PER_MS);
    still_clock_pass(&node.still, 24);
    cr_assert_eq(authentication_slow_wait_ns(access), GA_NS_PER_MS);
    still_clock_pass(&node.still, 1);
    cr_assert_eq(authentication_slow_wait_ns(access), 0);
    cr_assert_eq(authentication_slow_wait_ns(access), 25 * GA_NS_PER_MS);
    still_clock_pass(&node.still, 25 * 64);
    for (unsigned i = 0; i < 64; i++) {
        cr_assert_eq(authentication_slow_wait_ns(access), 0, "%u", i);
    }
    cr_assert_neq(authentication_slow_wait_ns(access), 0, "no more than so many are saved");
}

Test(access, terms_are_those_of_the_store)
{
    struct store_tenant tenant;
    store_tenant_init(&tenant, "lab");
    tenant.number = 7;
    tenant.generation = 9;
    tenant.limits.of[LIMIT_GPUS] = 3;
    tenant.isolation = ISOLATION_EXCLUSIVE;
    tenant.exhausted = EXHAUSTED_SUSPEND;
    strcpy(tenant.gpu_types, "A100");
    const struct tenant_terms terms = access_terms(&tenant);
    cr_assert_str_eq(terms.name, "lab");
    cr_assert(terms.number == 7 && terms.generation == 9);
    cr_assert(terms.limits.of[LIMIT_GPUS] == 3 && terms.limits.of[LIMIT_SESSIONS] == LIMIT_NONE);
    cr_assert(terms.isolation == ISOLATION_EXCLUSIVE && terms.exhausted == EXHAUSTED_SUSPEND);
    cr_assert_str_eq(terms.gpu_types, "A100");
}

Test(access, everybody_is_the_tenant_default_with_its_limits)
{
    struct store_tenant tenant;
    cr_assert_eq(store_tenant_get(node.gpuaasd.storage.store, TENANT_DEFAULT, &tenant), GA_OK);
    tenant.limits.of[LIMIT_GPUS] = 3;
    cr_assert_eq(store_tenant_put(node.gpuaasd.storage.store, &tenant, STORE_ANY_GENERATION),
                 GA_OK);
    const struct tenant_terms terms = access_everybody(&node.gpuaasd.access);
    cr_assert_str_eq(terms.name, TENANT_DEFAULT);
    cr_assert_eq(terms.limits.of[LIMIT_GPUS], 3);
    cr_assert_neq(terms.number, 0);
}
