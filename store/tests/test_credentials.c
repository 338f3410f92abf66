/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials: whose they are, how many are valid at a time, and when they end. */
#include <stdio.h>
#include <string.h>

#include "store/tests/scratch.h"

static char ids[2048];

static void see(void *user, const struct store_credential *credential)
{
    (void)user;
    snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s ", credential->id);
}

static struct store_credential token(const char *id, const char *tenant, int64_t created)
{
    struct store_credential made = {.kind = STORE_TOKEN,
                                    .scope = STORE_OF_TENANT,
                                    .created = created,
                                    .expires = created + 100};
    snprintf(made.id, sizeof made.id, "%s", id);
    snprintf(made.tenant, sizeof made.tenant, "%s", tenant);
    memset(made.hash, id[0], sizeof made.hash);
    return made;
}

Test(credentials, are_kept)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path);
    struct store_credential made = token("t1", "lab", 1000), again;
    scratch_refused(store_credential_put(store, &made), GA_NOT_FOUND, store, "no tenant 'lab'");
    scratch_tenant(store, "lab", NULL);
    strcpy(made.name, "for the cluster");
    cr_assert_eq(store_credential_put(store, &made), GA_OK, "%s", store_why(store));
    scratch_refused(store_credential_put(store, &made), GA_CONFLICT, store, "'t1' already");
    store_close(store);
    store = scratch_open(path);
    cr_assert_eq(store_credential_get(store, "t1", &again), GA_OK);
    cr_assert_gt(again.tenant_number, 1);
    made.tenant_number = again.tenant_number;
    cr_assert(scratch_same(&made, &again, sizeof again));
    scratch_refused(store_credential_get(store, "t2", &again), GA_NOT_FOUND, store, "'t2'");
    store_close(store);
}

Test(credentials, two_tokens_are_valid_at_a_time)
{
    struct store *store = scratch_open(":memory:");
    struct store_user user = {.tenant = "lab", .name = "ana"};
    scratch_tenant(store, "lab", NULL);
    scratch_tenant(store, "other", NULL);
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    struct store_credential one = token("a", "lab", 1000), two = token("b", "lab", 1050),
                            three = token("c", "lab", 1099), his = token("d", "lab", 1000),
                            others = token("e", "other", 1000), late = token("f", "lab", 1100);
    strcpy(his.user, "ana");
    cr_assert_eq(store_credential_put(store, &one), GA_OK);
    cr_assert_eq(store_credential_put(store, &two), GA_OK);
    scratch_refused(store_credential_put(store, &three), GA_CONFLICT, store,
                    "lab has 2 valid tokens already");
    cr_assert_eq(store_credential_put(store, &his), GA_OK, "a user has his own");
    cr_assert_eq(store_credential_put(store, &others), GA_OK);
    three.kind = STORE_CERTIFICATE;
    cr_assert_eq(store_credential_put(store, &three), GA_OK, "certificates are not counted");
    cr_assert_eq(store_credential_put(store, &late), GA_OK, "the first one has ended");
    cr_assert_eq(store_credential_revoke(store, "b", 1101), GA_OK);
    cr_assert_eq(store_credential_each(store, "lab", see, NULL), GA_OK);
    cr_assert_str_eq(ids, "a d b c f ");
    struct store_credential next = token("g", "lab", 1102);
    cr_assert_eq(store_credential_put(store, &next), GA_OK, "the second one is revoked");
    store_close(store);
}

#define MOMENTS 5

struct valid_sum {
    int64_t now;
    uint64_t count;
};

static void valid_add(void *user, const struct store_credential *credential)
{
    struct valid_sum *sum = user;
    sum->count += credential->revoked == 0 && credential->expires > sum->now;
}

static uint64_t valid_of(struct store *store, uint64_t number, int64_t now)
{
    uint64_t count = 77;
    cr_assert_eq(store_credential_valid(store, number, now, &count), GA_OK, "%s", store_why(store));
    return count;
}

Test(credentials, that_are_valid_are_counted_as_reading_them_all_does)
{
    static const char *const names[] = {"lab", "other", "empty"};
    static const int64_t moments[MOMENTS] = {1000, 1099, 1100, 1149, 1150};
    static const uint64_t counts[][MOMENTS] = {{3, 3, 1, 1, 0}, {1, 1, 0, 0, 0}, {0}};
    struct store *store = scratch_open(":memory:");
    struct store_user user = {.tenant = "lab", .name = "ana"};
    struct store_credential made[] = {token("a", "lab", 1000), token("b", "lab", 1050),
                                      token("c", "lab", 1000), token("d", "lab", 1050),
                                      token("e", "other", 1000)};
    for (unsigned i = 0; i < 3; i++) {
        scratch_tenant(store, names[i], NULL);
    }
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    made[2].kind = STORE_CERTIFICATE;
    strcpy(made[2].user, "ana");
    made[3].kind = STORE_CERTIFICATE;
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) {
        cr_assert_eq(store_credential_put(store, &made[i]), GA_OK, "%s", store_why(store));
    }
    cr_assert_eq(store_credential_revoke(store, "d", 1060), GA_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct store_tenant tenant;
        cr_assert_eq(store_tenant_get(store, names[i], &tenant), GA_OK);
        for (unsigned k = 0; k < MOMENTS; k++) {
            struct valid_sum sum = {.now = moments[k]};
            cr_assert_eq(store_credential_each(store, names[i], valid_add, &sum), GA_OK);
            cr_assert_eq(sum.count, counts[i][k], "%s: moment %u", names[i], k);
            cr_assert_eq(valid_of(store, tenant.number, moments[k]), counts[i][k], "%s: moment %u",
                         names[i], k);
        }
    }
    cr_assert_eq(valid_of(store, 4711, 1000), 0, "a number that nobody has");
    store_close(store);
}

Test(credentials, are_revoked_once_and_with_their_owner)
{
    struct store *store = scratch_open(":memory:");
    struct store_user user = {.tenant = "lab", .name = "ana"};
    struct store_credential his = token("a", "lab", 1000), theirs = token("b", "lab", 1000), found;
    uint64_t before, after;
    scratch_tenant(store, "lab", NULL);
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    strcpy(his.user, "ana");
    cr_assert_eq(store_credential_put(store, &his), GA_OK);
    cr_assert_eq(store_credential_put(store, &theirs), GA_OK);
    strcpy(his.user, "bob");
    strcpy(his.id, "c");
    scratch_refused(store_credential_put(store, &his), GA_NOT_FOUND, store, "no user 'bob'");

    cr_assert_eq(store_changes(store, &before), GA_OK);
    cr_assert_eq(store_credential_revoke(store, "b", 1500), GA_OK);
    cr_assert_eq(store_changes(store, &after), GA_OK);
    cr_assert_gt(after, before);
    cr_assert_eq(store_credential_revoke(store, "b", 1600), GA_OK);
    cr_assert_eq(store_credential_get(store, "b", &found), GA_OK);
    cr_assert_eq(found.revoked, 1500);
    scratch_refused(store_credential_revoke(store, "z", 1500), GA_NOT_FOUND, store, "'z'");
    cr_assert_eq(store_user_remove(store, "lab", "ana", STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(store_credential_get(store, "a", &found), GA_OK);
    cr_assert_gt(found.revoked, 0);
    theirs = token("d", "lab", 2000);
    cr_assert_eq(store_credential_put(store, &theirs), GA_OK);
    cr_assert_eq(store_tenant_remove(store, "lab", STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(store_credential_get(store, "d", &found), GA_OK);
    cr_assert_gt(found.revoked, 0);
    cr_assert_eq(store_credential_get(store, "b", &found), GA_OK);
    cr_assert_eq(found.revoked, 1500);
    store_close(store);
}

Test(credentials, of_administrators_have_no_tenant)
{
    struct store *store = scratch_open(":memory:");
    struct store_credential admin = token("a", "", 1000), found;
    admin.scope = STORE_OF_ADMIN;
    strcpy(admin.name, "root");
    cr_assert_eq(store_credential_put(store, &admin), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_credential_get(store, "a", &found), GA_OK);
    cr_assert_eq(found.scope, STORE_OF_ADMIN);
    cr_assert_eq(found.tenant_number, 0);
    cr_assert_str_eq(found.tenant, "");
    strcpy(admin.id, "b");
    strcpy(admin.tenant, "default");
    scratch_refused(store_credential_put(store, &admin), GA_INVALID, store, "has no tenant");
    strcpy(admin.id, "b c");
    scratch_refused(store_credential_put(store, &admin), GA_INVALID, store, "not the id");
    store_close(store);
}

Test(credentials, their_use_is_noted_once_an_hour_and_without_waiting)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path), *other = scratch_open(path);
    struct store_credential made = token("a", "default", 1000), found;
    cr_assert_eq(store_credential_put(store, &made), GA_OK);
    cr_assert_eq(store_credential_used(store, "a", 100000), GA_OK);
    cr_assert_eq(store_credential_used(store, "a", 103599), GA_OK);
    cr_assert_eq(store_credential_get(other, "a", &found), GA_OK);
    cr_assert_eq(found.used, 100000);
    cr_assert_eq(store_credential_used(store, "a", 103600), GA_OK);
    cr_assert_eq(store_credential_get(other, "a", &found), GA_OK);
    cr_assert_eq(found.used, 103600);
    scratch_refused(store_credential_used(store, "z", 103600), GA_NOT_FOUND, store, "'z'");
    store_close(store);
    store_close(other);
}

Test(credentials, may_be_refused_before_they_are_made)
{
    struct store *store = scratch_open(":memory:");
    struct store_user user = {.tenant = "default", .name = "ana"};
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    struct store_credential asked = token("", "default", 1000), made = token("a", "default", 1000);
    cr_assert_eq(store_credential_may_put(store, &asked), GA_OK, "it has no id yet");
    strcpy(asked.user, "ana");
    cr_assert_eq(store_credential_may_put(store, &asked), GA_OK);
    strcpy(asked.user, "bob");
    scratch_refused(store_credential_may_put(store, &asked), GA_NOT_FOUND, store, "'bob'");
    asked.user[0] = 0;
    cr_assert_eq(store_credential_put(store, &made), GA_OK);
    cr_assert_eq(store_credential_may_put(store, &asked), GA_OK);
    strcpy(made.id, "b");
    cr_assert_eq(store_credential_put(store, &made), GA_OK);
    scratch_refused(store_credential_may_put(store, &asked), GA_CONFLICT, store,
                    "has 2 valid tokens already");
    asked.kind = STORE_CERTIFICATE;
    cr_assert_eq(store_credential_may_put(store, &asked), GA_OK);
    asked.scope = STORE_OF_ADMIN;
    scratch_refused(store_credential_may_put(store, &asked), GA_INVALID, store, "has no tenant");
    asked.tenant[0] = 0;
    cr_assert_eq(store_credential_may_put(store, &asked), GA_OK);
    strcpy(asked.user, "ana");
    scratch_refused(store_credential_may_put(store, &asked), GA_INVALID, store, "has no tenant");
    store_close(store);
}

Test(credentials, end_earlier_but_never_later)
{
    struct store *store = scratch_open(":memory:");
    struct store_credential made = token("a", "default", 1000), found;
    cr_assert_eq(store_credential_put(store, &made), GA_OK);
    cr_assert_eq(store_credential_shorten(store, "a", 1050), GA_OK);
    cr_assert_eq(store_credential_get(store, "a", &found), GA_OK);
    cr_assert_eq(found.expires, 1050);
    cr_assert_eq(store_credential_shorten(store, "a", 1051), GA_OK);
    cr_assert_eq(store_credential_get(store, "a", &found), GA_OK);
    cr_assert_eq(found.expires, 1050);
    scratch_refused(store_credential_shorten(store, "z", 1051), GA_NOT_FOUND, store, "'z'");
    store_close(store);
}

static void see_end(void *user, const struct store_credential_end *end)
{
    static const char *const scopes[] = {"of", "admin", "server"};
    (void)user;
    snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s %s %s/%s %s %lld-%lld\n",
             end->kind == STORE_TOKEN ? "token" : "certificate", scopes[end->scope], end->tenant,
             end->user, end->name, (long long)end->created, (long long)end->expires);
}

/* The youngest credential of each holder and the last end, until a week after that. */
Test(credentials, ends)
{
    const int64_t week = 7 * 86400;
    struct store *store = scratch_open(":memory:");
    struct store_credential boss = token("b1", "", 1000), first = token("t1", "default", 1000),
                            second = token("t2", "default", 1050), other = token("o1", "lab", 900);
    scratch_tenant(store, "lab", NULL);
    boss.scope = STORE_OF_ADMIN;
    boss.kind = STORE_CERTIFICATE;
    boss.expires = 5000;
    strcpy(boss.name, "root");
    second.expires = 1060; /* the younger one ends first */
    strcpy(second.name, "another name");
    cr_assert_eq(store_credential_put(store, &boss), GA_OK);
    cr_assert_eq(store_credential_put(store, &first), GA_OK);
    cr_assert_eq(store_credential_put(store, &second), GA_OK);
    cr_assert_eq(store_credential_put(store, &other), GA_OK);
    cr_assert_eq(store_credential_ends(store, 1000, 10, see_end, NULL), GA_OK);
    cr_assert_str_eq(ids, "token of lab/  900-1000\n"
                          "token of default/  1050-1100\n"
                          "certificate admin / root 1000-5000\n");
    ids[0] = 0;
    cr_assert_eq(store_credential_ends(store, 1000, 2, see_end, NULL), GA_OK);
    cr_assert_str_eq(ids, "token of lab/  900-1000\ntoken of default/  1050-1100\n");
    ids[0] = 0;
    cr_assert_eq(store_credential_ends(store, 1000 + week - 1, 1, see_end, NULL), GA_OK);
    cr_assert_str_eq(ids, "token of lab/  900-1000\n");
    ids[0] = 0;
    cr_assert_eq(store_credential_ends(store, 1000 + week, 1, see_end, NULL), GA_OK);
    cr_assert_str_eq(ids, "token of default/  1050-1100\n");
    ids[0] = 0;
    cr_assert_eq(store_credential_revoke(store, "t1", 1010), GA_OK);
    cr_assert_eq(store_credential_ends(store, 1010 + week, 10, see_end, NULL), GA_OK);
    cr_assert_str_eq(ids, "token of default/  1050-1060\n"
                          "certificate admin / root 1000-5000\n");
    store_close(store);
}
