/* SPDX-License-Identifier: Apache-2.0 */
/* Local users: the map from users and groups of this machine to tenants. */
#include <string.h>

#include "store/name.h"

#define LOCAL_COLUMNS "l.kind, l.number, t.name, l.tenant, l.user"
#define LOCAL_TABLES  "local_user l JOIN tenant t ON t.number = l.tenant"

static const char *const local_kinds[] = {
    [STORE_UID] = "uid",
    [STORE_GID] = "gid",
};

static void local_read(sqlite3_stmt *row, struct store_local *out)
{
    char kind[8];
    memset(out, 0, sizeof *out);
    sql_text(row, 0, kind, sizeof kind);
    out->kind = strcmp(kind, local_kinds[STORE_GID]) == 0 ? STORE_GID : STORE_UID;
    out->number = (uint32_t)sqlite3_column_int64(row, 1);
    sql_text(row, 2, out->tenant, sizeof out->tenant);
    out->tenant_number = (uint64_t)sqlite3_column_int64(row, 3);
    sql_text(row, 4, out->user, sizeof out->user);
}

static enum ga_status local_missing(struct store *store, enum store_local_kind kind,
                                    uint32_t number)
{
    return sql_refuse(store, GA_NOT_FOUND, "%s %u belongs to no tenant", local_kinds[kind], number);
}

enum ga_status store_local_get(struct store *store, enum store_local_kind kind, uint32_t number,
                               struct store_local *out)
{
    sqlite3_stmt *statement;
    bool has;
    GA_TRY(sql_query(store, &statement,
                     "SELECT " LOCAL_COLUMNS " FROM " LOCAL_TABLES
                     " WHERE l.kind = ?1 AND l.number = ?2",
                     "ti", local_kinds[kind], (int64_t)number));
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return local_missing(store, kind, number);
    }
    local_read(statement, out);
    sqlite3_reset(statement);
    return GA_OK;
}

enum ga_status store_local_each(struct store *store,
                                void (*each)(void *user, const struct store_local *local),
                                void *user)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query_own(
        store, &statement,
        "SELECT " LOCAL_COLUMNS " FROM " LOCAL_TABLES " ORDER BY l.kind DESC, l.number", ""));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            struct store_local local;
            local_read(statement, &local);
            each(user, &local);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

static enum ga_status local_write(struct store *store, const struct store_local *local)
{
    int64_t number = 0;
    int changed;
    GA_TRY(name_tenant(store, local->tenant, &number));
    GA_TRY(name_user(store, number, local->tenant, local->user));
    GA_TRY(sql_run(store, &changed,
                   "INSERT INTO local_user VALUES (?1, ?2, ?3, ?4) ON CONFLICT (kind, number) "
                   "DO UPDATE SET tenant = ?3, user = ?4",
                   "tiit", local_kinds[local->kind], (int64_t)local->number, number, local->user));
    return changed == 1
               ? GA_OK
               : sql_refuse(store, GA_LOST, "%s: a local user was not written", store->path);
}

enum ga_status store_local_put(struct store *store, const struct store_local *local)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, local_write(store, local));
}

static enum ga_status local_remove(struct store *store, enum store_local_kind kind, uint32_t number)
{
    int changed;
    GA_TRY(sql_run(store, &changed, "DELETE FROM local_user WHERE kind = ?1 AND number = ?2", "ti",
                   local_kinds[kind], (int64_t)number));
    return changed == 1 ? GA_OK : local_missing(store, kind, number);
}

enum ga_status store_local_remove(struct store *store, enum store_local_kind kind, uint32_t number)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, local_remove(store, kind, number));
}
