/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: rights of the files, other versions, and databases that cannot be used, each with what
 * to do about it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/check.h"
#include "store/schema.h"
#include "store/tests/scratch.h"

static void make_one(const char *path)
{
    struct store *store = scratch_open(path);
    scratch_tenant(store, "a", "gpus=1");
    store_close(store);
}

/* Overwrites bytes of a file. */
static void damage(const char *path, off_t at, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_geq(file, 0);
    cr_assert_eq(pwrite(file, bytes, size, at), (ssize_t)size);
    close(file);
}

Test(open, files_are_their_owners)
{
    const char *path = scratch_path("db"), *journal = scratch_path("db-wal");
    struct stat file;
    umask(0);
    struct store *store = scratch_open(path);
    scratch_tenant(store, "a", NULL);
    cr_assert_eq(stat(path, &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    cr_assert_eq(stat(journal, &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    store_close(store);
    cr_assert_eq(chmod(path, 0640), 0);
    scratch_closed(path, GA_DENIED, "the mode 0600");
    cr_assert_eq(chmod(path, 0600), 0);
    store_close(scratch_open(path));
}

Test(open, memory_is_shared_by_name)
{
    struct store *one = scratch_open(":memory:x"), *other = scratch_open(":memory:x"),
                 *third = scratch_open(":memory:y"), *alone = scratch_open(":memory:");
    struct store_tenant tenant;
    scratch_tenant(one, "a", "gpus=1");
    cr_assert_eq(store_tenant_get(other, "a", &tenant), GA_OK, "%s", store_why(other));
    cr_assert_eq(store_tenant_get(third, "a", &tenant), GA_NOT_FOUND);
    cr_assert_eq(store_tenant_get(alone, "a", &tenant), GA_NOT_FOUND);
    store_close(one);
    cr_assert_eq(store_tenant_get(other, "a", &tenant), GA_OK);
    store_close(other);
    one = scratch_open(":memory:x");
    cr_assert_eq(store_tenant_get(one, "a", &tenant), GA_NOT_FOUND, "the last one was closed");
    store_close(one);
    store_close(third);
    store_close(alone);
}

Test(open, to_read)
{
    const char *path = scratch_path("db");
    struct store *one = scratch_open(path), *other = scratch_open(":memory:r"), *reader;
    struct store_tenant tenant;
    char why[600];
    scratch_tenant(one, "a", NULL);
    scratch_tenant(other, "b", NULL);
    cr_assert_eq(store_open_to_read(path, &reader, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(store_tenant_get(reader, "a", &tenant), GA_OK);
    store_tenant_init(&tenant, "c");
    cr_assert_neq(store_tenant_put(reader, &tenant, STORE_NEW), GA_OK, "it only reads");
    store_close(reader);
    cr_assert_eq(store_open_to_read(":memory:r", &reader, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(store_tenant_get(reader, "b", &tenant), GA_OK);
    store_close(reader);
    cr_assert_eq(store_open_to_read(scratch_path("none"), &reader, why, sizeof why), GA_NOT_FOUND);
    store_close(one);
    store_close(other);
}

Test(open, to_copy)
{
    const char *path = scratch_path("db"), *none = scratch_path("none");
    struct store *one, *copied;
    struct store_tenant tenant;
    char why[600];
    cr_assert_eq(store_open_to_copy(none, &copied, why, sizeof why), GA_NOT_FOUND);
    cr_assert_neq(access(none, F_OK), 0, "none is made");
    one = scratch_open(path);
    scratch_tenant(one, "a", NULL);
    cr_assert_eq(store_open_to_copy(path, &copied, why, sizeof why), GA_OK, "%s", why);
    store_tenant_init(&tenant, "c");
    cr_assert_neq(store_tenant_put(copied, &tenant, STORE_NEW), GA_OK, "it only reads");
    cr_assert_eq(store_backup(copied, scratch_path("copy")), GA_OK, "%s", store_why(copied));
    store_close(copied);
    store_close(one);
    one = scratch_open(scratch_path("copy"));
    cr_assert_eq(store_tenant_get(one, "a", &tenant), GA_OK);
    store_close(one);
}

Test(open, places_that_do_not_do)
{
    scratch_closed("/nowhere/at/all/db", GA_DENIED, "make its folder first");
    scratch_closed("/tmp", GA_INVALID, "not a file");
    scratch_closed("/dev/full", GA_INVALID, "not a file");
    char path[5000];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = 0;
    scratch_closed(path, GA_INVALID, "too long");
}

Test(open, damaged_ones_are_never_taken_for_empty)
{
    const char *path = scratch_path("db");
    make_one(path);
    cr_assert_eq(truncate(path, 0), 0);
    scratch_closed(path, GA_LOST, "it is empty");
    cr_assert_eq(unlink(path), 0);
    make_one(path);
    cr_assert_eq(truncate(path, 5000), 0);
    scratch_closed(path, GA_LOST, "db restore FILE");
    cr_assert_eq(unlink(path), 0);
    make_one(path);
    damage(path, 0, "not a database", 14);
    scratch_closed(path, GA_LOST, "is damaged");
    cr_assert_eq(unlink(path), 0);
    make_one(path);
    uint8_t noise[2048];
    memset(noise, 0xa5, sizeof noise);
    damage(path, 4096 * 3, noise, sizeof noise);
    scratch_closed(path, GA_LOST, "is damaged");
    cr_assert_eq(unlink(path), 0);
    make_one(path);
    scratch_sql(path, "PRAGMA user_version = 0");
    scratch_closed(path, GA_LOST, "no version");
}

Test(open, a_journal_alone_is_not_a_new_database)
{
    const char *path = scratch_path("db"), *journal = scratch_path("db-wal");
    struct store *store = scratch_open(path);
    scratch_tenant(store, "a", NULL);
    cr_assert_eq(unlink(path), 0);
    scratch_closed(path, GA_LOST, "put the database back");
    cr_assert_eq(access(journal, F_OK), 0);
    store_close(store);
}

/* A backup that somebody has put there by hand, while the database was in use: what had been
 * changed since is in the journal, which is not the backup's. */
Test(open, the_journal_of_another_database_is_not_read)
{
    const char *path = scratch_path("db"), *backup = scratch_path("copy"),
               *journal = scratch_path("db-wal");
    struct store *store = scratch_open(path);
    struct store_tenant tenant;
    unsigned findings;
    scratch_tenant(store, "a", NULL);
    cr_assert_eq(store_backup(store, backup), GA_OK, "%s", store_why(store));
    scratch_tenant(store, "late", NULL);
    cr_assert_eq(access(journal, F_OK), 0);
    cr_assert_eq(rename(backup, path), 0);
    struct store *one = scratch_open(path), *other = scratch_open(path);
    cr_assert_eq(store_tenant_get(one, "a", &tenant), GA_OK, "%s", store_why(one));
    cr_assert_eq(store_tenant_get(one, "late", &tenant), GA_NOT_FOUND);
    scratch_tenant(one, "b", NULL);
    cr_assert_eq(store_tenant_get(other, "b", &tenant), GA_OK, "%s", store_why(other));
    store_tenant_init(&tenant, "lost");
    scratch_refused(store_tenant_put(store, &tenant, STORE_ANY_GENERATION), GA_LOST, store,
                    "has been moved, removed or replaced");
    store_close(store); /* and it takes nothing of the new one with it */
    cr_assert_eq(access(journal, F_OK), 0);
    store_close(other);
    cr_assert_eq(store_check(one, NULL, NULL, &findings), GA_OK, "%s", store_why(one));
    cr_assert_eq(findings, 0);
    store_close(one);
}

Test(open, what_has_been_there_is_not_made_again)
{
    const char *path = scratch_path("db");
    struct store *store = NULL;
    char why[600] = "";
    make_one(path);
    cr_assert_eq(store_open_again(path, &store, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(unlink(path), 0);
    struct store_tenant tenant;
    store_tenant_init(&tenant, "lost");
    scratch_refused(store_tenant_put(store, &tenant, STORE_ANY_GENERATION), GA_LOST, store,
                    "has been moved, removed or replaced");
    store_close(store);
    cr_assert_eq(store_open_again(path, &store, why, sizeof why), GA_LOST);
    cr_assert_not_null(strstr(why, "is missing: put the database back"), "%s", why);
    cr_assert_neq(access(path, F_OK), 0, "no empty one has taken its place");
}

Test(open, those_of_others_are_left_alone)
{
    const char *path = scratch_path("db");
    scratch_sql(path, "CREATE TABLE recipes (name TEXT)");
    cr_assert_eq(chmod(path, 0600), 0);
    scratch_closed(path, GA_LOST, "of another program");
    cr_assert_neq(access(scratch_path("db-wal"), F_OK), 0);
}

Test(open, newer_versions_are_refused)
{
    const char *path = scratch_path("db");
    make_one(path);
    scratch_sql(path, "PRAGMA user_version = 99");
    scratch_closed(path, GA_UNSUPPORTED, "newer gpuaas (version 99");
}

/* Rows of an older version stay, and figures that it did not have are 0. */
Test(open, older_versions_are_updated)
{
    const char *path = scratch_path("db");
    scratch_sql(path, schema_steps[0]);
    scratch_sql(path, "PRAGMA user_version = 1; PRAGMA application_id = 1196447041;"
                      "INSERT INTO usage_day VALUES (1, 3, '', 'n', 'g', 1, 7, 1, 1, 1, 1, 1, 1)");
    cr_assert_eq(chmod(path, 0600), 0);
    store_close(scratch_open(path));
    cr_assert_eq(scratch_number(path, "PRAGMA user_version"), schema_version);
    cr_assert_eq(scratch_number(path, "SELECT gpu_ns FROM usage_day"), 7);
    cr_assert_eq(scratch_number(path, "SELECT compute_ns FROM usage_day"), 0);
}

Test(open, a_version_is_a_transaction)
{
    const char *path = scratch_path("db");
    make_one(path);
    struct store *store = scratch_open(path);
    const char *steps[16];
    char there[16], version[64];
    int64_t count;
    cr_assert_lt(schema_version, 14);
    memcpy(steps, schema_steps, schema_version * sizeof *steps);
    steps[schema_version] = "ALTER TABLE tenant ADD COLUMN colour TEXT";
    steps[schema_version + 1] =
        "CREATE TABLE extra (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1)";
    cr_assert_eq(schema_update(store, steps, schema_version + 2), GA_LOST);
    store_close(store);
    snprintf(there, sizeof there, "version %u", schema_version + 1);
    snprintf(version, sizeof version, "PRAGMA user_version = %u", schema_version);
    scratch_closed(path, GA_UNSUPPORTED, there);
    /* The second step is there, nothing is there of the third one. */
    scratch_sql(path, version);
    store = scratch_open(path);
    cr_assert_eq(sql_number(store, &count, "SELECT count(colour) FROM tenant", ""), GA_OK);
    cr_assert_eq(
        sql_number(store, &count, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'", ""),
        GA_OK);
    cr_assert_eq(count, 0);
    struct store_tenant tenant;
    cr_assert_eq(store_tenant_get(store, "a", &tenant), GA_OK);
    cr_assert_eq(tenant.limits.of[LIMIT_GPUS], 1);
    store_close(store);
}

Test(open, a_lock_of_another_program_ends_in_words)
{
    const char *path = scratch_path("db");
    struct store *one = scratch_open(path), *other = scratch_open(path);
    struct store_tenant tenant, found;
    store_tenant_init(&tenant, "b");
    scratch_tenant(one, "a", NULL);
    cr_assert_eq(sql_begin(one), GA_OK);
    store_set_patience(other, 50);
    scratch_refused(store_tenant_put(other, &tenant, STORE_NEW), GA_AGAIN, other, "locked for 50");
    cr_assert_eq(store_tenant_get(other, "a", &found), GA_OK, "reading goes on");
    cr_assert_eq(sql_end(one, GA_OK), GA_OK);
    cr_assert_eq(store_tenant_put(other, &tenant, STORE_NEW), GA_OK, "%s", store_why(other));
    store_close(one);
    store_close(other);
}

Test(open, whether_a_change_could_begin)
{
    const char *path = scratch_path("db");
    struct store *one = scratch_open(path), *other = scratch_open(path);
    struct store_tenant tenant;
    store_tenant_init(&tenant, "b");
    cr_assert_eq(store_may_write(one), GA_OK);
    cr_assert_eq(sql_begin(other), GA_OK);
    cr_assert_eq(store_may_write(one), GA_AGAIN);
    cr_assert_eq(sql_end(other, GA_OK), GA_OK);
    cr_assert_eq(store_may_write(one), GA_OK);
    cr_assert_eq(store_tenant_put(other, &tenant, STORE_NEW), GA_OK, "it keeps no lock");
    cr_assert_eq(store_tenant_put(one, &tenant, STORE_ANY_GENERATION), GA_OK);
    store_close(one);
    store_close(other);
}

static void *make_many(void *user)
{
    struct store *store = scratch_open(user);
    char name[32];
    store_set_patience(store, 600000); /* the lock is given to anybody, and disks are slow */
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "t%d-%lx", i, (unsigned long)pthread_self());
        scratch_tenant(store, name, "gpus=1");
    }
    store_close(store);
    return NULL;
}

static void count_tenant(void *user, const struct store_tenant *tenant)
{
    (void)tenant;
    ++*(unsigned *)user;
}

Test(open, threads_have_their_own)
{
    static char path[128];
    pthread_t threads[4];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s", scratch_path("db"));
    store_close(scratch_open(path));
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, make_many, path), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    struct store *store = scratch_open(path);
    cr_assert_eq(store_tenant_each(store, count_tenant, &count), GA_OK);
    cr_assert_eq(count, 81);
    store_close(store);
}
