/* SPDX-License-Identifier: Apache-2.0 */
/* The text of tokens and of the names in certificates. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "auth/auth.h"
#include "auth/token.h"

static struct store *open_memory(void)
{
    struct store *store = NULL;
    char why[300] = "";
    cr_assert_eq(store_open(":memory:", &store, why, sizeof why), GA_OK, "%s", why);
    return store;
}

Test(token, is_read_as_it_was_made)
{
    struct store *store = open_memory();
    struct store_credential made;
    char text[2][AUTH_TOKEN_BYTES], why[300] = "", id[STORE_ID_MAX + 1];
    uint8_t hash[AUTH_HASH_BYTES];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(auth_token_issue(store, "default", "", "laptop", 3600, 1000, text[i], &made,
                                      why, sizeof why),
                     GA_OK, "%s", why);
        cr_assert_eq(strlen(text[i]), 63);
        cr_assert(auth_token_read(text[i], id, hash));
        cr_assert_str_eq(id, made.id);
        cr_assert_eq(memcmp(hash, made.hash, sizeof hash), 0);
        cr_assert_eq(made.created, 1000);
        cr_assert_eq(made.expires, 4600);
        cr_assert_str_eq(made.tenant, "default");
        cr_assert_str_eq(made.name, "laptop");
    }
    cr_assert_str_neq(text[0], text[1]);
    cr_assert_eq(
        auth_token_issue(store, "default", "", "", 3600, 1000, text[0], &made, why, sizeof why),
        GA_CONFLICT);
    cr_assert_not_null(strstr(why, "2 valid tokens"));
    cr_assert_eq(
        auth_token_issue(store, "nobody", "", "", 3600, 1000, text[0], &made, why, sizeof why),
        GA_NOT_FOUND);
    cr_assert_eq(
        auth_token_issue(store, "default", "", "", 59, 9000, text[0], &made, why, sizeof why),
        GA_INVALID);
    store_close(store);
}

Test(token, may_be_issued_if_it_would_be)
{
    struct store *store = open_memory();
    struct store_credential made;
    char text[AUTH_TOKEN_BYTES], why[300] = "", longer[300];
    const struct {
        const char *tenant, *user, *name;
        int64_t ttl_s;
        enum ga_status status;
    } wanted[] = {{"default", "", "", AUTH_TTL_MIN_S, GA_OK},
                  {"default", "", "", AUTH_TTL_MAX_S, GA_OK},
                  {"default", "", "", AUTH_TTL_MIN_S - 1, GA_INVALID},
                  {"default", "", "", AUTH_TTL_MAX_S + 1, GA_INVALID},
                  {"default", "ana", "", 3600, GA_NOT_FOUND},
                  {"nobody", "", "", 3600, GA_NOT_FOUND},
                  {"default", "", longer, 3600, GA_INVALID},
                  {longer, "", "", 3600, GA_NOT_FOUND},
                  {"default", longer, "", 3600, GA_NOT_FOUND}};
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            enum ga_status due =
                turn == 2 && wanted[i].status == GA_OK ? GA_CONFLICT : wanted[i].status;
            cr_expect_eq(auth_token_may_issue(store, wanted[i].tenant, wanted[i].user,
                                              wanted[i].name, wanted[i].ttl_s, 1000, why,
                                              sizeof why),
                         due, "%zu: %s", i, why);
            if (due != GA_OK) { /* nor is it */
                cr_expect_eq(auth_token_issue(store, wanted[i].tenant, wanted[i].user,
                                              wanted[i].name, wanted[i].ttl_s, 1000, text, &made,
                                              why, sizeof why),
                             due, "%zu: %s", i, why);
            }
        }
        if (turn < 2) {
            cr_assert_eq(auth_token_issue(store, "default", "", "", 3600, 1000, text, &made, why,
                                          sizeof why),
                         GA_OK, "%s", why);
        }
    }
    store_close(store);
}

/* A name that is cut would be another tenant's. */
Test(token, is_for_nobody_whose_name_only_begins_like_his)
{
    struct store *store = open_memory();
    struct store_tenant tenant;
    struct store_credential made;
    char text[AUTH_TOKEN_BYTES], why[300] = "", name[STORE_NAME_MAX + 2] = "";
    memset(name, 'a', STORE_NAME_MAX);
    store_tenant_init(&tenant, name);
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK);
    name[STORE_NAME_MAX] = 'b';
    cr_expect_eq(auth_token_issue(store, name, "", "", 3600, 1000, text, &made, why, sizeof why),
                 GA_NOT_FOUND);
    store_close(store);
}

Test(token, has_one_text)
{
    static const char good[] = "gpuaas_abcdefghij09_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    char id[STORE_ID_MAX + 1], text[200];
    uint8_t hash[AUTH_HASH_BYTES];
    static const uint8_t zeros[32];
    uint8_t expected[AUTH_HASH_BYTES];
    cr_assert_eq(sizeof good - 1, 63);
    cr_assert(auth_token_read(good, id, hash));
    cr_assert(token_hash(zeros, sizeof zeros, expected));
    cr_assert_eq(memcmp(hash, expected, sizeof hash), 0);
    for (size_t i = 0; i < sizeof good - 1; i++) {
        strcpy(text, good);
        text[i] = '+';
        cr_assert_not(auth_token_read(text, id, hash), "%s", text);
        text[i] = 0;
        cr_assert_not(auth_token_read(text, id, hash), "%s", text);
    }
    strcpy(text, good);
    text[62] = 'B'; /* its last bits are not used; only one text may mean these bytes */
    cr_assert_not(auth_token_read(text, id, hash));
    text[62] = 'E';
    cr_assert(auth_token_read(text, id, hash));
    snprintf(text, sizeof text, "%s ", good);
    cr_assert_not(auth_token_read(text, id, hash));
    snprintf(text, sizeof text, " %s", good);
    cr_assert_not(auth_token_read(text, id, hash));
    cr_assert_not(auth_token_read("", id, hash));
}

Test(token, ids_use_all_letters)
{
    char id[STORE_ID_MAX + 1];
    unsigned seen[128] = {0};
    for (int i = 0; i < 3000; i++) {
        cr_assert(token_id_make(id));
        cr_assert_eq(strlen(id), TOKEN_ID_CHARS);
        for (unsigned k = 0; k < TOKEN_ID_CHARS; k++) {
            seen[(unsigned char)id[k]]++;
        }
    }
    for (const char *at = "abcdefghijklmnopqrstuvwxyz0123456789"; *at != 0; at++) {
        cr_assert(seen[(unsigned char)*at] > 700 && seen[(unsigned char)*at] < 1300, "%c: %u", *at,
                  seen[(unsigned char)*at]); /* 1000 of each */
    }
}

Test(uri, is_read_as_it_was_written)
{
    struct auth_uri uri = {.name = "ml-lab", .credential = "abc123"}, again;
    char text[AUTH_URI_BYTES];
    auth_uri_write(&uri, text);
    cr_assert_str_eq(text, "gpuaas://tenant/ml-lab/abc123");
    cr_assert(auth_uri_read(text, &again));
    cr_assert_eq(memcmp(&uri, &again, sizeof uri), 0);
    uri.admin = true;
    auth_uri_write(&uri, text);
    cr_assert_str_eq(text, "gpuaas://admin/ml-lab/abc123");
    cr_assert(auth_uri_read(text, &again));
    cr_assert(again.admin);
}

Test(uri, others_are_refused)
{
    static const char *const wrong[] = {
        "",
        "gpuaas://",
        "gpuaas://tenant/",
        "gpuaas://tenant/a",
        "gpuaas://tenant/a/",
        "gpuaas://tenant//b",
        "gpuaas://tenant/a/b/c",
        "gpuaas://tenant/a/B",
        "gpuaas://tenant/a/b?",
        "gpuaas://tenant/a b/c",
        "gpuaas://tenant/../c",
        "gpuaas://tenant/%61/c",
        "gpuaas://server/a/b",
        "GPUAAS://tenant/a/b",
        "https://tenant/a/b",
        "gpuaas://tenant/a/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "gpuaas://tenant/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b",
    };
    struct auth_uri uri;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_not(auth_uri_read(wrong[i], &uri), "%s", wrong[i]);
    }
}
