/* SPDX-License-Identifier: Apache-2.0 */
/* The authority: what it signs is valid for what it is meant for and for nothing else, before and
 * after a new key, and its files are whole and private. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "auth/auth.h"
#include "auth/certificate.h"

#define NOW INT64_C(1764089049)
#define DAY INT64_C(86400)

static char folder[] = "/tmp/gpuaas_ca.XXXXXX";
static struct store *store;
static char why[600];

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static const char *in(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    struct store_tenant tenant;
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(store_open(":memory:", &store, why, sizeof why), GA_OK, "%s", why);
    store_tenant_init(&tenant, "lab");
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK);
}

static void tear_down(void)
{
    store_close(store);
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(ca, .init = set_up, .fini = tear_down);

static X509 *load(const char *path)
{
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    X509 *read = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    cr_assert_not_null(read, "%s", path);
    return read;
}

/* As the other end of a connection does it, with the bundle `ca`. */
static bool is_valid(const char *ca, const char *path, int purpose, int64_t now, const char *host)
{
    X509_STORE *trusted = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509 *certificate = load(path);
    cr_assert_eq(X509_STORE_load_file(trusted, ca), 1);
    cr_assert_eq(X509_STORE_CTX_init(context, trusted, certificate, NULL), 1);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(param, (time_t)now);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    X509_STORE_CTX_set_purpose(context, purpose);
    if (host != NULL && X509_check_ip_asc(certificate, host, 0) == -2) {
        X509_VERIFY_PARAM_set1_host(param, host, 0);
    } else if (host != NULL) {
        X509_VERIFY_PARAM_set1_ip_asc(param, host);
    }
    bool valid = X509_verify_cert(context) == 1;
    X509_free(certificate);
    X509_STORE_CTX_free(context);
    X509_STORE_free(trusted);
    return valid;
}

static void issue(const struct auth_cert_request *request, const char *cert, const char *key,
                  struct store_credential *out)
{
    cr_assert_eq(
        auth_cert_issue(in("ca"), store, request, NOW, in(cert), in(key), out, why, sizeof why),
        GA_OK, "%s", why);
}

static void refused(const struct auth_cert_request *request, enum ga_status wanted,
                    const char *part)
{
    struct store_credential out;
    enum ga_status status = auth_cert_issue(in("ca"), store, request, NOW, in("x.pem"), in("x.key"),
                                            &out, why, sizeof why);
    cr_assert_eq(status, wanted, "%d: %s", (int)status, why);
    cr_assert_not_null(strstr(why, part), "%s", why);
    cr_assert_neq(access(in("x.pem"), F_OK), 0);
    cr_assert_neq(access(in("x.key"), F_OK), 0);
}

static void make_ca(void)
{
    cr_assert_eq(auth_ca_init(in("ca"), "test of \xc3\xa4", NOW, why, sizeof why), GA_OK, "%s",
                 why);
}

static const struct auth_cert_request of_lab = {.scope = STORE_OF_TENANT,
                                                .tenant = "lab",
                                                .user = "",
                                                .name = "laptop",
                                                .ttl_s = AUTH_CERT_DAYS * DAY};

Test(ca, files_are_private_and_made_once)
{
    struct stat file;
    struct auth_ca_facts facts;
    umask(0);
    cr_assert_eq(auth_ca_show(in("ca"), &facts, why, sizeof why), GA_NOT_FOUND);
    cr_assert_not_null(strstr(why, "gpuaasctl ca init"));
    make_ca();
    cr_assert_eq(stat(in("ca"), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0700);
    cr_assert_eq(stat(in("ca/ca.key"), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    cr_assert_eq(stat(in("ca/ca.pem"), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0644);
    cr_assert_eq(auth_ca_init(in("ca"), "again", NOW, why, sizeof why), GA_CONFLICT);
    cr_assert_eq(auth_ca_show(in("ca"), &facts, why, sizeof why), GA_OK, "%s", why);
    cr_assert_str_eq(facts.name, "test of \xc3\xa4");
    cr_assert_eq(facts.ends, NOW + 3650 * DAY);
    cr_assert_eq(facts.earlier, 0);
    cr_assert_eq(chmod(in("ca/ca.key"), 0640), 0);
    refused(&of_lab, GA_DENIED, "chmod 600");
}

Test(ca, what_was_begun_and_not_ended_is_begun_anew)
{
    struct auth_ca_facts facts;
    make_ca();
    cr_assert_eq(unlink(in("ca/ca.key")), 0); /* the bundle was written, the key was not */
    FILE *left = fopen(in("ca/ca.key.new"), "we");
    fputs("half", left);
    fclose(left);
    make_ca();
    cr_assert_eq(auth_ca_show(in("ca"), &facts, why, sizeof why), GA_OK, "%s", why);
    cr_assert_neq(access(in("ca/ca.key.new"), F_OK), 0);
}

/* Clocks of others may be five minutes behind. */
static void begins_for_slow_clocks(const char *path)
{
    struct tm begins;
    X509 *certificate = load(path);
    cr_assert_eq(ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &begins), 1);
    cr_assert_eq(timegm(&begins), NOW - 300, "%s", path);
    X509_free(certificate);
}

Test(ca, a_tenants_certificate_is_for_clients)
{
    struct store_credential made;
    struct auth_uri uri;
    struct stat file;
    make_ca();
    issue(&of_lab, "c.pem", "c.key", &made);
    cr_assert(is_valid(in("ca/ca.pem"), in("c.pem"), X509_PURPOSE_SSL_CLIENT, NOW, NULL));
    cr_assert_not(is_valid(in("ca/ca.pem"), in("c.pem"), X509_PURPOSE_SSL_SERVER, NOW, NULL));
    cr_assert(
        is_valid(in("ca/ca.pem"), in("c.pem"), X509_PURPOSE_SSL_CLIENT, NOW + 90 * DAY - 1, NULL));
    cr_assert_not(
        is_valid(in("ca/ca.pem"), in("c.pem"), X509_PURPOSE_SSL_CLIENT, NOW + 90 * DAY + 1, NULL));
    cr_assert_eq(made.expires, NOW + 90 * DAY);
    begins_for_slow_clocks(in("c.pem"));
    begins_for_slow_clocks(in("ca/ca.pem"));
    cr_assert_str_eq(made.tenant, "lab");
    cr_assert_str_eq(made.name, "laptop");
    cr_assert_eq(stat(in("c.key"), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);

    X509 *certificate = load(in("c.pem"));
    uint8_t hash[STORE_HASH_BYTES];
    cr_assert(certificate_hash(certificate, hash));
    cr_assert_eq(memcmp(hash, made.hash, sizeof hash), 0);
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    cr_assert_eq(sk_GENERAL_NAME_num(names), 1);
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, 0);
    cr_assert_eq(name->type, GEN_URI);
    cr_assert(auth_uri_read((const char *)ASN1_STRING_get0_data(name->d.ia5), &uri));
    cr_assert_str_eq(uri.name, "lab");
    cr_assert_str_eq(uri.credential, made.id);
    cr_assert_not(uri.admin);
    GENERAL_NAMES_free(names);
    X509_free(certificate);

    FILE *key = fopen(in("c.key"), "re");
    EVP_PKEY *read = PEM_read_PrivateKey(key, NULL, NULL, NULL);
    cr_assert_not_null(read);
    EVP_PKEY_free(read);
    fclose(key);
}

Test(ca, a_servers_certificate_has_its_names)
{
    static const char *const names[] = {"gpu1.example.org", "*.lab.org", "10.0.0.5", "2001:db8::5"};
    struct auth_cert_request request = {
        .scope = STORE_OF_SERVER, .name = "", .names = names, .name_count = 4, .ttl_s = DAY};
    struct store_credential made;
    make_ca();
    issue(&request, "s.pem", "s.key", &made);
    cr_assert_eq(made.scope, STORE_OF_SERVER);
    cr_assert_str_eq(made.name, "gpu1.example.org");
    cr_assert_not(is_valid(in("ca/ca.pem"), in("s.pem"), X509_PURPOSE_SSL_CLIENT, NOW, NULL));
    static const char *const good[] = {"gpu1.example.org", "a.lab.org", "10.0.0.5", "2001:db8::5"};
    static const char *const bad[] = {"gpu2.example.org", "10.0.0.6", "2001:db8::6"};
    for (unsigned i = 0; i < 4; i++) {
        cr_assert(is_valid(in("ca/ca.pem"), in("s.pem"), X509_PURPOSE_SSL_SERVER, NOW, good[i]),
                  "%s", good[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_not(is_valid(in("ca/ca.pem"), in("s.pem"), X509_PURPOSE_SSL_SERVER, NOW, bad[i]),
                      "%s", bad[i]);
    }
}

Test(ca, administrators)
{
    struct auth_cert_request request = {.scope = STORE_OF_ADMIN, .name = "root", .ttl_s = DAY};
    struct store_credential made;
    struct auth *auth;
    struct auth_grant grant;
    struct auth_refusal refusal;
    char uri[AUTH_URI_BYTES];
    make_ca();
    issue(&request, "a.pem", "a.key", &made);
    cr_assert_eq(made.scope, STORE_OF_ADMIN);
    cr_assert_eq(auth_open(store, &auth), GA_OK);
    struct auth_uri named = {.admin = true, .name = "root"};
    memcpy(named.credential, made.id, sizeof made.id);
    auth_uri_write(&named, uri);
    struct auth_claim claim = {
        .proof = AUTH_PROVES_KEY, .uri = uri, .certificate = made.hash, .admin = true};
    cr_assert_eq(auth_admit(auth, &claim, NOW, 1, &grant, &refusal), GA_OK, "%s", refusal.detail);
    cr_assert_str_eq(grant.user, "root");
    auth_close(auth);
    request.name = "ro/ot";
    refused(&request, GA_INVALID, "not a name of an administrator");
}

Test(ca, wrong_requests_are_refused)
{
    static const char *const wrong[] = {
        "",  "a..b", "*.org", "-a",  "a-",  "a b",  ".a",   "a,DNS:b", "1.2.3",     "a_b",
        "*", "*.",   "a.*.b", "::g", "a\n", "a-.b", "\xc3", "gpu1:99", "10.0.0.5/8"};
    struct auth_cert_request request = {.scope = STORE_OF_SERVER, .name = "", .ttl_s = DAY};
    struct auth_cert_request client = of_lab;
    refused(&client, GA_NOT_FOUND, "gpuaasctl ca init");
    make_ca();
    refused(&request, GA_INVALID, "1 to 32 names");
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        request.names = &wrong[i];
        request.name_count = 1;
        if (strcmp(wrong[i], "1.2.3") == 0) {
            cr_assert(certificate_name_is_valid(wrong[i]), "DNS allows it");
            continue;
        }
        refused(&request, GA_INVALID, "neither a DNS name nor an address");
    }
    client.names = wrong;
    client.name_count = 1;
    refused(&client, GA_INVALID, "others have none");
    client = of_lab;
    client.tenant = "nobody";
    refused(&client, GA_NOT_FOUND, "no tenant 'nobody'");
    client = of_lab;
    client.ttl_s = 59;
    refused(&client, GA_INVALID, "between a minute");
    client.ttl_s = 3650 * DAY + 1;
    refused(&client, GA_INVALID, "ca rotate");
}

static void count_valid(void *user, const struct store_credential *credential)
{
    *(unsigned *)user += credential->revoked == 0;
}

Test(ca, what_cannot_be_written_is_not_valid)
{
    struct store_credential made;
    unsigned valid = 0;
    make_ca();
    cr_assert_eq(auth_cert_issue(in("ca"), store, &of_lab, NOW, in("nowhere/c.pem"), in("c.key"),
                                 &made, why, sizeof why),
                 GA_DENIED);
    cr_assert_not_null(strstr(why, "make its folder first"), "%s", why);
    cr_assert_neq(access(in("c.key"), F_OK), 0);
    cr_assert_eq(store_credential_each(store, "lab", count_valid, &valid), GA_OK);
    cr_assert_eq(valid, 0);
    issue(&of_lab, "c.pem", "c.key", &made);
    cr_assert_eq(auth_cert_issue(in("ca"), store, &of_lab, NOW, in("d.pem"), in("c.key"), &made,
                                 why, sizeof why),
                 GA_CONFLICT, "nobody's key is overwritten");
    cr_assert_eq(store_credential_each(store, "lab", count_valid, &valid), GA_OK);
    cr_assert_eq(valid, 1);
}

Test(ca, after_a_new_key_the_old_ones_are_valid_until_they_end)
{
    struct store_credential made;
    struct auth_ca_facts before, after;
    make_ca();
    issue(&of_lab, "old.pem", "old.key", &made);
    cr_assert_eq(auth_ca_show(in("ca"), &before, why, sizeof why), GA_OK);
    cr_assert_eq(link(in("ca/ca.pem"), in("old-ca.pem")), 0);
    cr_assert_eq(auth_ca_rotate(in("ca"), NOW + DAY, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(auth_ca_show(in("ca"), &after, why, sizeof why), GA_OK, "%s", why);
    cr_assert_neq(memcmp(before.hash, after.hash, sizeof after.hash), 0);
    cr_assert_str_eq(after.name, before.name);
    cr_assert_eq(after.earlier, 1);
    issue(&of_lab, "new.pem", "new.key", &made);
    int64_t later = NOW + 2 * DAY;
    cr_assert(is_valid(in("ca/ca.pem"), in("old.pem"), X509_PURPOSE_SSL_CLIENT, later, NULL));
    cr_assert(is_valid(in("ca/ca.pem"), in("new.pem"), X509_PURPOSE_SSL_CLIENT, later, NULL));
    cr_assert(is_valid(in("old-ca.pem"), in("old.pem"), X509_PURPOSE_SSL_CLIENT, later, NULL));
    cr_assert_not(is_valid(in("old-ca.pem"), in("new.pem"), X509_PURPOSE_SSL_CLIENT, later, NULL));
    /* One that has ended itself leaves the bundle with the next rotation. */
    cr_assert_eq(auth_ca_rotate(in("ca"), before.ends + 1, why, sizeof why), GA_OK);
    cr_assert_eq(auth_ca_show(in("ca"), &after, why, sizeof why), GA_OK);
    cr_assert_eq(after.earlier, 1);
    cr_assert_eq(auth_ca_rotate(in("nowhere"), NOW, why, sizeof why), GA_NOT_FOUND);
}

Test(ca, of_another_authority_nothing_is_valid)
{
    struct store_credential made;
    make_ca();
    issue(&of_lab, "c.pem", "c.key", &made);
    cr_assert_eq(auth_ca_init(in("other"), "test of \xc3\xa4", NOW, why, sizeof why), GA_OK);
    cr_assert_not(is_valid(in("other/ca.pem"), in("c.pem"), X509_PURPOSE_SSL_CLIENT, NOW, NULL));
}

Test(ca, damaged_files_are_refused_in_words)
{
    struct auth_ca_facts facts;
    make_ca();
    cr_assert_eq(truncate(in("ca/ca.key"), 100), 0);
    cr_assert_eq(auth_ca_show(in("ca"), &facts, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "is damaged"), "%s", why);
    cr_assert_eq(auth_ca_rotate(in("ca"), NOW, why, sizeof why), GA_INVALID);
}
