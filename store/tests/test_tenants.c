/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants, users, trust groups, local users: what is written is read again, and two administrators
 * at once are told of each other. */
#include <stdio.h>
#include <string.h>

#include "store/sql.h"
#include "store/tests/scratch.h"

static unsigned seen;
static char names[512];

static void see_tenant(void *user, const struct store_tenant *tenant)
{
    struct store_tenant again;
    cr_assert_eq(store_tenant_get(user, tenant->name, &again), GA_OK);
    cr_assert(scratch_same(&again, tenant, sizeof again), "%s", tenant->name);
    seen++;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", tenant->name);
}

static void see_user(void *user, const struct store_user *found)
{
    (void)user;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s/%s ", found->tenant,
             found->name);
}

static void see_local(void *user, const struct store_local *local)
{
    (void)user;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%u=%s/%s ",
             local->kind == STORE_UID ? "u" : "g", local->number, local->tenant, local->user);
}

static void see_member(void *user, const char *tenant)
{
    (void)user;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", tenant);
}

Test(tenants, a_new_store_has_the_default_tenant)
{
    struct store *store = scratch_open(":memory:");
    struct store_tenant tenant;
    cr_assert_eq(store_tenant_get(store, STORE_DEFAULT_TENANT, &tenant), GA_OK);
    cr_assert_eq(tenant.generation, 1);
    cr_assert_eq(tenant.limits.of[LIMIT_GPU_MEM], LIMIT_NONE);
    scratch_refused(store_tenant_remove(store, STORE_DEFAULT_TENANT, STORE_ANY_GENERATION),
                    GA_INVALID, store, "cannot be removed");
    scratch_refused(store_tenant_rename(store, STORE_DEFAULT_TENANT, "x", STORE_ANY_GENERATION),
                    GA_INVALID, store, "cannot be renamed");
    store_close(store);
}

Test(tenants, all_members_are_kept)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path);
    struct store_tenant tenant, again;
    char why[600] = "";
    store_tenant_init(&tenant, "ml-lab");
    strcpy(tenant.description, "machine learning; 'quotes' and \xc3\xa4");
    for (int i = 0; i < LIMIT_COUNT; i++) {
        uint64_t value = 1000000u + (unsigned)i;
        tenant.limits.of[i] = value <= limits_table[i].most ? value : limits_table[i].most - 1;
    }
    tenant.limits.of[LIMIT_GPUS] = 0;
    tenant.limits.of[LIMIT_GPU_MEM] = LIMITS_VALUE_MAX;
    tenant.limits.of[LIMIT_OBJECTS] = LIMIT_NONE;
    cr_assert_eq(store_tenant_set(&tenant, "gpu-types=H200, A30", why, sizeof why), GA_OK);
    cr_assert_eq(store_tenant_set(&tenant, "isolation=exclusive", why, sizeof why), GA_OK);
    cr_assert_eq(store_tenant_set(&tenant, "on-exhausted=suspend", why, sizeof why), GA_OK);
    tenant.suspended = true;
    strcpy(tenant.reason, "unpaid");
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK, "%s", store_why(store));
    cr_assert_eq(tenant.generation, 1);
    cr_assert_gt(tenant.created, 1700000000);
    store_close(store);

    store = scratch_open(path);
    cr_assert_eq(store_tenant_get(store, "ml-lab", &again), GA_OK);
    cr_assert(scratch_same(&tenant, &again, sizeof again));
    cr_assert_eq(store_tenant_get_number(store, tenant.number, &again), GA_OK);
    cr_assert(scratch_same(&tenant, &again, sizeof again));
    cr_assert_str_eq(again.gpu_types, "H200,A30");
    cr_assert_eq(again.limits.of[LIMIT_GPUS], 0, "0 is not the same as no limit");
    tenant.limits.of[LIMIT_GPUS] = LIMIT_NONE;
    cr_assert_eq(store_tenant_put(store, &tenant, 1), GA_OK);
    cr_assert_eq(store_tenant_get(store, "ml-lab", &again), GA_OK);
    cr_assert_eq(again.limits.of[LIMIT_GPUS], LIMIT_NONE);
    store_close(store);
}

Test(tenants, two_administrators_at_once)
{
    const char *path = scratch_path("db");
    struct store *one = scratch_open(path), *other = scratch_open(path);
    struct store_tenant mine, his;
    uint64_t before, after;
    scratch_tenant(one, "a", "gpus=1");
    cr_assert_eq(store_tenant_get(one, "a", &mine), GA_OK);
    cr_assert_eq(store_tenant_get(other, "a", &his), GA_OK);
    mine.limits.of[LIMIT_GPUS] = 2;
    his.limits.of[LIMIT_GPUS] = 3;
    cr_assert_eq(store_changes(other, &before), GA_OK);
    cr_assert_eq(store_tenant_put(one, &mine, mine.generation), GA_OK);
    cr_assert_eq(mine.generation, 2);
    cr_assert_eq(store_changes(other, &after), GA_OK);
    cr_assert_eq(after, before + 1);
    scratch_refused(store_tenant_put(other, &his, his.generation), GA_CONFLICT, other,
                    "its generation is 2, not 1");
    cr_assert_eq(store_changes(other, &after), GA_OK);
    cr_assert_eq(after, before + 1);
    scratch_refused(store_tenant_put(other, &his, STORE_NEW), GA_CONFLICT, other, "already");
    cr_assert_eq(store_tenant_get(other, "a", &his), GA_OK);
    cr_assert_eq(his.limits.of[LIMIT_GPUS], 2);
    cr_assert_eq(store_tenant_put(other, &his, STORE_ANY_GENERATION), GA_OK);
    store_tenant_init(&his, "b");
    scratch_refused(store_tenant_put(other, &his, 1), GA_NOT_FOUND, other, "no tenant 'b'");
    store_close(one);
    store_close(other);
}

Test(tenants, wrong_ones_are_refused)
{
    struct store *store = scratch_open(":memory:");
    static const char *const wrong[] = {"", "-a", ".a", "a b", "a/b", "\xc3\xa4", "a\n", "a'"};
    struct store_tenant tenant;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        store_tenant_init(&tenant, wrong[i]);
        scratch_refused(store_tenant_put(store, &tenant, STORE_NEW), GA_INVALID, store,
                        "not a name of a tenant");
    }
    char name[STORE_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    name[STORE_NAME_MAX + 1] = 0;
    cr_assert_not(store_name_is_valid(name));
    name[STORE_NAME_MAX] = 0;
    cr_assert(store_name_is_valid(name));
    scratch_tenant(store, name, NULL);
    store_tenant_init(&tenant, "x");
    strcpy(tenant.description, "two\nlines");
    scratch_refused(store_tenant_put(store, &tenant, STORE_NEW), GA_INVALID, store, "one line");
    store_tenant_init(&tenant, "x");
    tenant.limits.of[LIMIT_GPU_MEM] = UINT64_MAX - 1;
    scratch_refused(store_tenant_put(store, &tenant, STORE_NEW), GA_INVALID, store,
                    "gpu-mem: must be between");
    scratch_refused(store_tenant_get(store, "x", &tenant), GA_NOT_FOUND, store, "no tenant 'x'");
    char why[600] = "";
    cr_assert_eq(store_tenant_set(&tenant, "colour=red", why, sizeof why), GA_NOT_FOUND);
    cr_assert_not_null(strstr(why, "gpu-types"));
    cr_assert_eq(store_tenant_set(&tenant, "isolation=shared", why, sizeof why), GA_UNSUPPORTED);
    store_close(store);
}

Test(tenants, each_in_order_and_the_store_can_be_used_meanwhile)
{
    struct store *store = scratch_open(":memory:");
    scratch_tenant(store, "b", "gpus=2");
    scratch_tenant(store, "a", "gpus=1");
    scratch_tenant(store, "e", NULL);
    cr_assert_eq(store_tenant_each(store, see_tenant, store), GA_OK);
    cr_assert_str_eq(names, "a b default e ");
    store_close(store);
}

static int statement_counted(unsigned kind, void *count, void *statement, void *text)
{
    (void)kind;
    (void)statement;
    (void)text;
    ++*(unsigned *)count;
    return 0;
}

/* Each tenant with its limits and what it uses, however many there are. */
Test(tenants, a_list_is_one_statement)
{
    struct store *store = scratch_open(":memory:");
    struct store_list *list;
    struct store_tenant_use found;
    struct store_tenant tenant;
    unsigned statements = 0, count = 0;
    bool has = true;
    const int64_t now = INT64_C(1764028800); /* 2025-11-25 */
    for (unsigned i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%02u", i);
        scratch_tenant(store, name, i % 2 == 0 ? "gpus=2" : "sessions=3");
    }
    cr_assert_eq(store_tenant_get(store, "t07", &tenant), GA_OK);
    for (unsigned i = 0; i < 3; i++) { /* today, yesterday, last month */
        const int64_t ago[] = {0, 86400, 30 * 86400};
        struct store_usage row = {.tenant_number = tenant.number,
                                  .node = "n",
                                  .gpu = "g",
                                  .epoch = 1,
                                  .last = now - ago[i],
                                  .figures.gpu_ns = UINT64_C(1) << i};
        snprintf(row.session, sizeof row.session, "s%u", i);
        cr_assert_eq(store_usage_write(store, &row, 1), GA_OK, "%s", store_why(store));
    }
    struct store_credential credential = {
        .id = "c", .tenant = "t07", .created = now - 10, .expires = now + 10};
    cr_assert_eq(store_credential_put(store, &credential), GA_OK, "%s", store_why(store));
    sqlite3_trace_v2(store->db, SQLITE_TRACE_STMT, statement_counted, &statements);
    cr_assert_eq(store_tenant_list(store, "t04", now, &list), GA_OK, "%s", store_why(store));
    for (;;) {
        cr_assert_eq(store_tenant_next(list, &found, &has), GA_OK, "%s", store_why(store));
        if (!has) {
            break;
        }
        bool seven = strcmp(found.tenant.name, "t07") == 0;
        cr_assert_eq(found.gpu_ns_day, seven ? 1 : 0, "%s", found.tenant.name);
        cr_assert_eq(found.gpu_ns_month, seven ? 3 : 0, "%s", found.tenant.name);
        cr_assert_eq(found.credentials, seven ? 1 : 0, "%s", found.tenant.name);
        bool even = found.tenant.name[2] % 2 == 0;
        cr_assert_eq(found.tenant.limits.of[LIMIT_GPUS], even ? 2 : LIMIT_NONE);
        cr_assert_eq(found.tenant.limits.of[LIMIT_SESSIONS], even ? LIMIT_NONE : 3);
        count++;
    }
    cr_assert_eq(store_tenant_next(list, &found, &has), GA_OK);
    cr_assert_not(has, "an end stays one");
    store_list_end(list);
    cr_assert_eq(count, 45);
    cr_assert_eq(statements, 1);
    store_close(store);
}

/* Changes by others are not in it. */
Test(tenants, a_list_is_of_one_moment)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path), *reader;
    struct store_list *list;
    struct store_tenant_use found;
    bool has = true;
    char why[600] = "";
    scratch_tenant(store, "a", NULL);
    cr_assert_eq(store_open_to_read(path, &reader, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(store_tenant_list(reader, "", 0, &list), GA_OK, "%s", store_why(reader));
    cr_assert_eq(store_tenant_next(list, &found, &has), GA_OK);
    cr_assert_str_eq(found.tenant.name, "a");
    scratch_tenant(store, "b", NULL);
    cr_assert_eq(store_tenant_next(list, &found, &has), GA_OK);
    cr_assert_str_eq(found.tenant.name, STORE_DEFAULT_TENANT);
    cr_assert_eq(store_tenant_next(list, &found, &has), GA_OK);
    cr_assert_not(has);
    store_list_end(list);
    store_close(reader);
    store_close(store);
}

Test(tenants, renamed_and_removed)
{
    struct store *store = scratch_open(":memory:");
    struct store_tenant tenant, again;
    struct store_local local = {.kind = STORE_UID, .number = 1000, .tenant = "old", .user = "ana"};
    struct store_user user = {.tenant = "old", .name = "ana"};
    scratch_tenant(store, "old", "gpus=2");
    scratch_tenant(store, "taken", NULL);
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_local_put(store, &local), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_tenant_get(store, "old", &tenant), GA_OK);
    scratch_refused(store_tenant_rename(store, "old", "taken", 1), GA_CONFLICT, store, "already");
    scratch_refused(store_tenant_rename(store, "old", "n e w", 1), GA_INVALID, store, "not a name");
    scratch_refused(store_tenant_rename(store, "old", "new", 7), GA_CONFLICT, store, "not 7");
    cr_assert_eq(store_tenant_rename(store, "old", "new", 1), GA_OK);
    cr_assert_eq(store_tenant_get(store, "new", &again), GA_OK);
    cr_assert_eq(again.number, tenant.number);
    cr_assert_eq(again.generation, 2);
    cr_assert_eq(again.limits.of[LIMIT_GPUS], 2);
    cr_assert_eq(store_local_get(store, STORE_UID, 1000, &local), GA_OK);
    cr_assert_str_eq(local.tenant, "new");
    cr_assert_str_eq(local.user, "ana");
    scratch_refused(store_tenant_get(store, "old", &again), GA_NOT_FOUND, store, "'old'");

    scratch_refused(store_tenant_remove(store, "new", 1), GA_CONFLICT, store, "generation is 2");
    cr_assert_eq(store_tenant_remove(store, "new", 2), GA_OK, "%s", store_why(store));
    scratch_refused(store_local_get(store, STORE_UID, 1000, &local), GA_NOT_FOUND, store, "1000");
    scratch_refused(store_tenant_remove(store, "new", 2), GA_NOT_FOUND, store, "'new'");
    scratch_refused(store_tenant_get_number(store, tenant.number, &again), GA_NOT_FOUND, store,
                    "any more");
    scratch_tenant(store, "new", NULL); /* the name is free, the number is not */
    cr_assert_eq(store_tenant_get(store, "new", &again), GA_OK);
    cr_assert_gt(again.number, tenant.number);
    cr_assert_eq(again.limits.of[LIMIT_GPUS], LIMIT_NONE);
    scratch_refused(store_user_get(store, "new", "ana", &user), GA_NOT_FOUND, store, "no user");
    store_close(store);
}

Test(users, are_below_their_tenant)
{
    struct store *store = scratch_open(":memory:");
    struct store_user user = {.tenant = "lab", .name = "ana"}, again;
    limits_clear(&user.limits);
    scratch_refused(store_user_put(store, &user, STORE_NEW), GA_NOT_FOUND, store, "no tenant");
    scratch_tenant(store, "lab", "gpu-mem=40GiB");
    user.limits.of[LIMIT_GPU_MEM] = (UINT64_C(40) << 30) + 1;
    scratch_refused(store_user_put(store, &user, STORE_NEW), GA_INVALID, store,
                    "42949672961 of user ana is above 40GiB of tenant lab");
    user.limits.of[LIMIT_GPU_MEM]--;
    user.limits.of[LIMIT_GPUS] = 1;
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_user_get(store, "lab", "ana", &again), GA_OK);
    cr_assert(scratch_same(&user, &again, sizeof user));
    scratch_refused(store_user_put(store, &user, STORE_NEW), GA_CONFLICT, store, "already");
    user.suspended = true;
    cr_assert_eq(store_user_put(store, &user, 1), GA_OK);
    scratch_refused(store_user_put(store, &user, 1), GA_CONFLICT, store, "generation is 2");
    scratch_tenant(store, "b", NULL);
    strcpy(again.tenant, "b");
    cr_assert_eq(store_user_put(store, &again, STORE_NEW), GA_OK);
    cr_assert_eq(store_user_each(store, NULL, see_user, NULL), GA_OK);
    cr_assert_str_eq(names, "b/ana lab/ana ");
    names[0] = 0;
    cr_assert_eq(store_user_each(store, "lab", see_user, NULL), GA_OK);
    cr_assert_str_eq(names, "lab/ana ");
    cr_assert_eq(store_user_remove(store, "lab", "ana", 2), GA_OK, "%s", store_why(store));
    scratch_refused(store_user_remove(store, "lab", "ana", 2), GA_NOT_FOUND, store, "no user");
    cr_assert_eq(store_user_get(store, "b", "ana", &again), GA_OK);
    store_close(store);
}

Test(users, local_ones)
{
    struct store *store = scratch_open(":memory:");
    struct store_local local = {.kind = STORE_UID, .number = UINT32_MAX, .tenant = "a"};
    scratch_refused(store_local_put(store, &local), GA_NOT_FOUND, store, "no tenant 'a'");
    scratch_tenant(store, "a", NULL);
    scratch_tenant(store, "b", NULL);
    cr_assert_eq(store_local_put(store, &local), GA_OK, "%s", store_why(store));
    strcpy(local.user, "nobody");
    scratch_refused(store_local_put(store, &local), GA_NOT_FOUND, store, "no user 'nobody'");
    local = (struct store_local){.kind = STORE_GID, .number = 0, .tenant = "a"};
    cr_assert_eq(store_local_put(store, &local), GA_OK);
    strcpy(local.tenant, "b");
    cr_assert_eq(store_local_put(store, &local), GA_OK, "a line is replaced");
    cr_assert_eq(store_local_each(store, see_local, NULL), GA_OK);
    cr_assert_str_eq(names, "u4294967295=a/ g0=b/ ");
    scratch_refused(store_local_get(store, STORE_UID, 0, &local), GA_NOT_FOUND, store,
                    "uid 0 belongs to no tenant");
    cr_assert_eq(store_local_remove(store, STORE_GID, 0), GA_OK);
    scratch_refused(store_local_remove(store, STORE_GID, 0), GA_NOT_FOUND, store, "gid 0");
    store_close(store);
}

static void see_group(void *user, const struct store_group *group)
{
    (void)user;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s (%s) %u %u;", group->name,
             group->description, (unsigned)group->generation, group->members);
}

Test(groups, each_in_order)
{
    struct store *store = scratch_open(":memory:");
    struct store_group one = {.name = "z", .description = "last"}, other = {.name = "y"};
    cr_assert_eq(store_group_put(store, &one, STORE_NEW), GA_OK);
    cr_assert_eq(store_group_put(store, &other, STORE_NEW), GA_OK);
    cr_assert_eq(store_group_join(store, "z", "default"), GA_OK);
    strcpy(other.description, "first");
    cr_assert_eq(store_group_put(store, &other, other.generation), GA_OK);
    cr_assert_eq(other.generation, 2);
    cr_assert_eq(store_group_each(store, see_group, NULL), GA_OK);
    cr_assert_str_eq(names, "y (first) 2 0;z (last) 2 1;");
    cr_assert_eq(store_group_leave(store, "y", "default"), GA_OK, "it is not there");
    cr_assert_eq(store_group_get(store, "y", &other), GA_OK);
    cr_assert_eq(other.generation, 2);
    scratch_refused(store_group_members(store, "x", see_member, NULL), GA_NOT_FOUND, store, "'x'");
    scratch_refused(store_group_leave(store, "x", "default"), GA_NOT_FOUND, store, "'x'");
    scratch_refused(store_group_remove(store, "x", 1), GA_NOT_FOUND, store, "'x'");
    store_close(store);
}

Test(groups, have_members)
{
    struct store *store = scratch_open(":memory:");
    struct store_group group = {.name = "friends", .description = "of a project"};
    scratch_tenant(store, "a", NULL);
    scratch_tenant(store, "b", NULL);
    scratch_refused(store_group_join(store, "friends", "a"), GA_NOT_FOUND, store, "no group");
    cr_assert_eq(store_group_put(store, &group, STORE_NEW), GA_OK, "%s", store_why(store));
    scratch_refused(store_group_put(store, &group, STORE_NEW), GA_CONFLICT, store, "already");
    scratch_refused(store_group_join(store, "friends", "c"), GA_NOT_FOUND, store, "no tenant 'c'");
    cr_assert_eq(store_group_join(store, "friends", "b"), GA_OK);
    cr_assert_eq(store_group_join(store, "friends", "a"), GA_OK);
    cr_assert_eq(store_group_join(store, "friends", "a"), GA_OK, "it is so already");
    cr_assert_eq(store_group_get(store, "friends", &group), GA_OK);
    cr_assert_eq(group.members, 2);
    cr_assert_eq(group.generation, 3);
    cr_assert_eq(store_group_members(store, "friends", see_member, NULL), GA_OK);
    cr_assert_str_eq(names, "a b ");
    cr_assert_eq(store_tenant_remove(store, "a", STORE_ANY_GENERATION), GA_OK);
    cr_assert_eq(store_group_leave(store, "friends", "b"), GA_OK);
    cr_assert_eq(store_group_get(store, "friends", &group), GA_OK);
    cr_assert_eq(group.members, 0);
    cr_assert_eq(store_group_join(store, "friends", "b"), GA_OK);
    scratch_refused(store_group_remove(store, "friends", 1), GA_CONFLICT, store, "not 1");
    cr_assert_eq(store_group_remove(store, "friends", STORE_ANY_GENERATION), GA_OK);
    scratch_refused(store_group_get(store, "friends", &group), GA_NOT_FOUND, store, "no group");
    store_close(store);
}
