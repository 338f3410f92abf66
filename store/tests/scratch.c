/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tests/scratch.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void folder_remove(void)
{
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    if (folder[0] == 0) {
        strcpy(folder, "/tmp/gpuaas_store.XXXXXX");
        cr_assert_not_null(mkdtemp(folder));
        atexit(folder_remove);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

struct store *scratch_open(const char *path)
{
    struct store *store = NULL;
    char why[600] = "";
    cr_assert_eq(store_open(path, &store, why, sizeof why), GA_OK, "%s", why);
    return store;
}

void scratch_refused(enum ga_status status, enum ga_status wanted, const struct store *store,
                     const char *part)
{
    cr_assert_eq(status, wanted, "%d, not %d: %s", (int)status, (int)wanted, store_why(store));
    cr_assert_not_null(strstr(store_why(store), part), "%s", store_why(store));
}

void scratch_closed(const char *path, enum ga_status wanted, const char *part)
{
    struct store *store = NULL;
    char why[600] = "";
    enum ga_status status = store_open(path, &store, why, sizeof why);
    cr_assert_eq(status, wanted, "%d, not %d: %s", (int)status, (int)wanted, why);
    cr_assert_null(store);
    cr_assert_not_null(strstr(why, part), "%s", why);
}

void scratch_sql(const char *path, const char *text)
{
    sqlite3 *db;
    char *error = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, &error), SQLITE_OK, "%s", error);
    sqlite3_close(db);
}

bool scratch_same(const void *one, const void *other, size_t size)
{
    return memcmp(one, other, size) == 0;
}

long long scratch_number(const char *path, const char *text)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK, "%s",
                 sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(statement), SQLITE_ROW, "%s", sqlite3_errmsg(db));
    long long number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

void scratch_tenant(struct store *store, const char *name, const char *setting)
{
    struct store_tenant tenant;
    char why[600] = "";
    store_tenant_init(&tenant, name);
    if (setting != NULL) {
        cr_assert_eq(store_tenant_set(&tenant, setting, why, sizeof why), GA_OK, "%s", why);
    }
    cr_assert_eq(store_tenant_put(store, &tenant, STORE_NEW), GA_OK, "%s", store_why(store));
}
