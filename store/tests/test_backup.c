/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, backups and restoring: what is wrong is found, and nothing unsound takes the place of
 * anything. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sql.h"
#include "store/tests/scratch.h"

static char findings[2000];

static void collect(void *user, const char *text)
{
    (void)user;
    snprintf(findings + strlen(findings), sizeof findings - strlen(findings), "%s\n", text);
}

static void check(const char *path, unsigned wanted, const char *part)
{
    unsigned count = 99;
    char why[600] = "";
    findings[0] = 0;
    cr_assert_eq(store_check_file(path, collect, NULL, &count, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(count, wanted, "%s", findings);
    cr_assert_not_null(strstr(findings, part), "%s", findings);
}

static struct store *make(const char *path)
{
    struct store *store = scratch_open(path);
    struct store_usage rows[40] = {0};
    struct store_user user = {.tenant = "lab", .name = "ana"};
    struct store_credential token = {
        .id = "t1", .tenant = "lab", .user = "ana", .created = 1, .expires = 9};
    struct store_local local = {.kind = STORE_UID, .number = 1000, .tenant = "lab", .user = "ana"};
    scratch_tenant(store, "lab", "gpus=2");
    limits_clear(&user.limits);
    cr_assert_eq(store_user_put(store, &user, STORE_NEW), GA_OK);
    cr_assert_eq(store_credential_put(store, &token), GA_OK, "%s", store_why(store));
    cr_assert_eq(store_local_put(store, &local), GA_OK, "%s", store_why(store));
    for (int i = 0; i < 40; i++) {
        strcpy(rows[i].tenant, "lab");
        strcpy(rows[i].node, "n1");
        snprintf(rows[i].session, sizeof rows[i].session, "s%d", i / 2);
        snprintf(rows[i].gpu, sizeof rows[i].gpu, "g%d", i % 2);
        rows[i].more = i % 2 == 1; /* the session counts at its first GPU */
        rows[i].last = i * 40000;
        rows[i].figures.gpu_ns = (uint64_t)i;
        rows[i].figures.h2d_ns = (uint64_t)i * 3;
        rows[i].figures.memory_peak = (uint64_t)i * (uint64_t)i;
    }
    cr_assert_eq(store_usage_write(store, rows, 40), GA_OK, "%s", store_why(store));
    return store;
}

Test(check, a_sound_one_has_no_findings)
{
    const char *path = scratch_path("db");
    unsigned count = 99;
    struct store *store = make(path);
    cr_assert_eq(store_check(store, collect, NULL, &count), GA_OK);
    cr_assert_eq(count, 0, "%s", findings);
    check(path, 0, "");
    store_close(store);
    check(path, 0, "");
    char why[600];
    cr_assert_eq(store_check_file(scratch_path("nothing"), collect, NULL, &count, why, sizeof why),
                 GA_NOT_FOUND);
}

Test(check, each_fault_is_named)
{
    static const char *const faults[][2] = {
        {"UPDATE usage_day SET gpu_ns = gpu_ns + 1 WHERE gpu = 'g1' AND day = 0",
         "sums by day are wrong for tenant, user, node, GPU: lab, , n1, g1"},
        {"UPDATE usage SET memory_peak = 1e4 WHERE session = 's3' AND gpu = 'g0'",
         "sums by day are wrong"},
        {"UPDATE usage_day SET h2d_ns = h2d_ns + 1 WHERE gpu = 'g1' AND day = 0",
         "sums by day are wrong"},
        {"DELETE FROM usage_day WHERE gpu = 'g0'", "sums by day are wrong"},
        {"DELETE FROM usage WHERE gpu = 'g0'", "there are sums without usage"},
        {"UPDATE usage_day SET sessions = sessions + 1 WHERE day = 0 AND gpu = 'g0'",
         "sums by day are wrong"},
        {"UPDATE tenant SET removed = 5 WHERE name = 'lab'", "its tenant was removed"},
        {"DELETE FROM user", "its user was removed"},
        {"DELETE FROM tenant WHERE name = 'lab'", "refers to one that is not there"},
        {"DELETE FROM tenant WHERE number = 1", "there is no tenant default"},
        {"DELETE FROM counter", "no counter of changes"},
        {"UPDATE tenant_limit SET key = 'colour'", "no limit 'colour'"},
        {"DROP TABLE local_user", "no such table"},
        {"PRAGMA user_version = 0", "no version"},
    };
    const char *path = scratch_path("db"), *copy = scratch_path("copy");
    char why[600] = "";
    store_close(make(path));
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        unsigned count = 0;
        cr_assert_eq(store_restore(copy, path, why, sizeof why), GA_OK, "%s", why);
        scratch_sql(copy, faults[i][0]);
        findings[0] = 0;
        cr_assert_eq(store_check_file(copy, collect, NULL, &count, why, sizeof why), GA_OK, "%s",
                     why);
        cr_assert_geq(count, 1, "%s", faults[i][0]);
        cr_assert_not_null(strstr(findings, faults[i][1]), "%s: %s", faults[i][0], findings);
    }
}

Test(backup, is_whole_while_others_write)
{
    const char *path = scratch_path("db"), *to = scratch_path("copy");
    struct store *store = make(path), *other = scratch_open(path);
    struct store_tenant tenant;
    struct stat file;
    umask(0);
    scratch_tenant(other, "in-the-journal", NULL);
    cr_assert_eq(sql_begin(other), GA_OK);
    cr_assert_eq(sql_run(other, NULL, "UPDATE tenant SET description = 'half'", ""), GA_OK);
    cr_assert_eq(store_backup(store, to), GA_OK, "%s", store_why(store));
    cr_assert_eq(sql_end(other, GA_OK), GA_OK);
    cr_assert_eq(stat(to, &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    cr_assert_neq(access(scratch_path("copy-wal"), F_OK), 0, "it is one file");
    check(to, 0, "");
    struct store *copy = scratch_open(to);
    cr_assert_eq(store_tenant_get(copy, "in-the-journal", &tenant), GA_OK);
    cr_assert_str_eq(tenant.description, "");
    store_close(copy);
    cr_assert_eq(store_backup(store, to), GA_OK, "a newer one takes its place: %s",
                 store_why(store));
    scratch_refused(store_backup(store, path), GA_INVALID, store, "the database itself");
    scratch_refused(store_backup(store, scratch_path("nowhere/db")), GA_DENIED, store,
                    "make its folder");
    store_close(store);
    store_close(other);
}

Test(backup, of_what_is_not_sound_is_not_made)
{
    const char *path = scratch_path("db"), *to = scratch_path("copy");
    struct store *store = make(path);
    cr_assert_eq(store_backup(store, to), GA_OK);
    scratch_sql(path, "UPDATE usage_day SET gpu_ns = gpu_ns + 1 WHERE day = 0");
    scratch_refused(store_backup(store, to), GA_LOST, store, "sums by day are wrong");
    check(to, 0, "");
    store_close(store);
}

Test(restore, puts_the_backup_in_place)
{
    const char *path = scratch_path("db"), *backup = scratch_path("copy");
    struct store *store = make(path);
    struct store_tenant tenant;
    char why[600] = "";
    cr_assert_eq(store_backup(store, backup), GA_OK);
    scratch_tenant(store, "later", NULL);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_AGAIN, "it is in use: %s", why);
    cr_assert_not_null(strstr(why, "stop gpuaasd first"), "%s", why);
    cr_assert_eq(store_tenant_get(store, "later", &tenant), GA_OK);
    store_close(store);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_OK, "%s", why);
    store = scratch_open(path);
    cr_assert_eq(store_tenant_get(store, "lab", &tenant), GA_OK);
    cr_assert_eq(store_tenant_get(store, "later", &tenant), GA_NOT_FOUND);
    store_close(store);
    store = scratch_open(scratch_path("db.replaced"));
    cr_assert_eq(store_tenant_get(store, "later", &tenant), GA_OK, "what was there is kept");
    store_close(store);
    cr_assert_eq(store_restore(scratch_path("new"), backup, why, sizeof why), GA_OK, "%s", why);
    check(scratch_path("new"), 0, "");
}

/* Another process has the database open. */
Test(restore, sees_users_in_other_processes)
{
    const char *path = scratch_path("db"), *backup = scratch_path("copy");
    struct store *store = make(path);
    char why[600] = "", byte;
    int ready[2], go[2];
    cr_assert_eq(store_backup(store, backup), GA_OK);
    store_close(store);
    cr_assert_eq(pipe(ready), 0);
    cr_assert_eq(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *his = NULL;
        bool opened = store_open(path, &his, why, sizeof why) == GA_OK;
        close(go[1]);
        byte = opened ? 'y' : 'n';
        _exit(write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) >= 0 ? 0 : 1);
    }
    close(go[0]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_assert_eq(byte, 'y');
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_AGAIN, "%s", why);
    /* The second process sees a database that was damaged in between; that does not make it
     * free. */
    int file = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_eq(pwrite(file, "damaged", 7, 0), 7);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_AGAIN, "%s", why);
    close(go[1]);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_OK, "%s", why);
    close(file);
    check(path, 0, "");
}

Test(restore, of_what_is_damaged)
{
    const char *path = scratch_path("db"), *backup = scratch_path("copy");
    struct store *store = make(path);
    char why[600] = "";
    cr_assert_eq(store_backup(store, backup), GA_OK);
    store_close(store);
    cr_assert_eq(truncate(path, 3000), 0);
    scratch_closed(path, GA_LOST, "gpuaasctl db restore FILE");
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_OK, "%s", why);
    check(path, 0, "");
    /* A journal without its database, as after a wrong removal. */
    store = scratch_open(path);
    scratch_tenant(store, "x", NULL);
    cr_assert_eq(unlink(path), 0);
    store_close(store);
    FILE *file = fopen(scratch_path("db-wal"), "we");
    fputs("something", file);
    fclose(file);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_OK, "%s", why);
    check(path, 0, "");
}

Test(restore, unsound_backups_change_nothing)
{
    const char *path = scratch_path("db"), *backup = scratch_path("copy");
    struct store *store = make(path);
    char why[600] = "";
    cr_assert_eq(store_backup(store, backup), GA_OK);
    store_close(store);
    cr_assert_eq(store_restore(path, path, why, sizeof why), GA_INVALID);
    cr_assert_eq(store_restore(path, scratch_path("nothing"), why, sizeof why), GA_NOT_FOUND);
    scratch_sql(backup, "DELETE FROM usage_day WHERE day = 0");
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "it is damaged: sums by day are wrong"), "%s", why);
    scratch_sql(backup, "PRAGMA user_version = 99");
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_UNSUPPORTED);
    cr_assert_not_null(strstr(why, "newer gpuaas"), "%s", why);
    cr_assert_eq(truncate(backup, 5000), 0);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_INVALID, "%s", why);
    cr_assert_eq(truncate(backup, 0), 0);
    cr_assert_eq(store_restore(path, backup, why, sizeof why), GA_INVALID, "%s", why);
    check(path, 0, "");
    cr_assert_neq(access(scratch_path("db.replaced"), F_OK), 0);
}
