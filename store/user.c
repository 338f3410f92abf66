/* SPDX-License-Identifier: Apache-2.0 */
/* Users of tenants. */
#include <string.h>
#include <time.h>

#include "store/name.h"

#define USER_COLUMNS                                                                               \
    "t.name, u.name, u.description, u.generation, u.suspended, u.reason, u.created, u.changed, "   \
    "(SELECT " SQL_LIMITS " FROM user_limit l WHERE l.tenant = u.tenant AND l.user = u.name)"
#define USER_TABLES "user u JOIN tenant t ON t.number = u.tenant"

static enum ga_status user_read(struct store *store, sqlite3_stmt *row, struct store_user *out)
{
    memset(out, 0, sizeof *out);
    sql_text(row, 0, out->tenant, sizeof out->tenant);
    sql_text(row, 1, out->name, sizeof out->name);
    sql_text(row, 2, out->description, sizeof out->description);
    out->generation = (uint64_t)sqlite3_column_int64(row, 3);
    out->suspended = sqlite3_column_int(row, 4) != 0;
    sql_text(row, 5, out->reason, sizeof out->reason);
    out->created = sqlite3_column_int64(row, 6);
    out->changed = sqlite3_column_int64(row, 7);
    return sql_limits_get(store, &out->limits, row, 8);
}

enum ga_status store_user_get(struct store *store, const char *tenant, const char *name,
                              struct store_user *out)
{
    sqlite3_stmt *statement;
    bool has;
    int64_t number = 0;
    struct store_user found;
    GA_TRY(name_tenant(store, tenant, &number));
    GA_TRY(sql_query(store, &statement,
                     "SELECT " USER_COLUMNS " FROM " USER_TABLES
                     " WHERE u.tenant = ?1 AND u.name = ?2",
                     "it", number, name));
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return sql_refuse(store, GA_NOT_FOUND,
                          "tenant %s has no user '%.70s'; `gpuaasctl user list` shows them", tenant,
                          name);
    }
    enum ga_status status = user_read(store, statement, &found);
    sqlite3_reset(statement);
    if (status == GA_OK) {
        *out = found;
    }
    return status;
}

enum ga_status store_user_each(struct store *store, const char *tenant,
                               void (*each)(void *user, const struct store_user *found), void *user)
{
    sqlite3_stmt *statement;
    int64_t number = -1;
    if (tenant != NULL) {
        GA_TRY(name_tenant(store, tenant, &number));
    }
    GA_TRY(sql_query_own(store, &statement,
                         "SELECT " USER_COLUMNS " FROM " USER_TABLES
                         " WHERE ?1 IS NULL OR u.tenant = ?1 ORDER BY t.name, u.name",
                         "n", number));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        struct store_user found;
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            status = user_read(store, statement, &found);
        }
        if (status == GA_OK && has) {
            each(user, &found);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* The user's generation; 0: there is none. */
static enum ga_status user_generation(struct store *store, int64_t number, const char *name,
                                      uint64_t *generation)
{
    int64_t found = 0;
    enum ga_status status =
        sql_number(store, &found, "SELECT generation FROM user WHERE tenant = ?1 AND name = ?2",
                   "it", number, name);
    *generation = (uint64_t)found;
    return status == GA_NOT_FOUND ? GA_OK : status;
}

static enum ga_status user_fits(struct store *store, const struct store_user *user)
{
    struct store_tenant tenant;
    enum limit which;
    GA_TRY(store_tenant_get(store, user->tenant, &tenant));
    if (limits_within(&user->limits, &tenant.limits, &which)) {
        return GA_OK;
    }
    char his[LIMITS_TEXT_MAX], whole[LIMITS_TEXT_MAX];
    limits_value_write(which, user->limits.of[which], his);
    limits_value_write(which, tenant.limits.of[which], whole);
    return sql_refuse(store, GA_INVALID, "%s: %s of user %s is above %s of tenant %s",
                      limits_table[which].key, his, user->name, whole, user->tenant);
}

static enum ga_status user_write(struct store *store, struct store_user *user,
                                 uint64_t if_generation)
{
    int64_t number = 0, now = time(NULL);
    uint64_t generation = 0;
    GA_TRY(name_tenant(store, user->tenant, &number));
    GA_TRY(user_generation(store, number, user->name, &generation));
    GA_TRY(name_generation(store, "user", user->name, if_generation, generation));
    GA_TRY(user_fits(store, user));
    int changed;
    if (generation == 0) {
        GA_TRY(sql_run(store, &changed, "INSERT INTO user VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?6)",
                       "ittiti", number, user->name, user->description, (int64_t)user->suspended,
                       user->reason, now));
    } else {
        GA_TRY(sql_run(store, &changed,
                       "UPDATE user SET description = ?3, generation = generation + 1, "
                       "suspended = ?4, reason = ?5, changed = ?6 WHERE tenant = ?1 AND name = ?2",
                       "ittiti", number, user->name, user->description, (int64_t)user->suspended,
                       user->reason, now));
    }
    if (changed != 1) {
        return sql_refuse(store, GA_LOST, "%s: a user was not written", store->path);
    }
    GA_TRY(name_limits_put(store, number, user->name, &user->limits));
    char tenant[sizeof user->tenant], name[sizeof user->name];
    memcpy(tenant, user->tenant, sizeof tenant);
    memcpy(name, user->name, sizeof name);
    return store_user_get(store, tenant, name, user);
}

enum ga_status store_user_put(struct store *store, struct store_user *user, uint64_t if_generation)
{
    struct store_user written = *user;
    GA_TRY(name_check(store, "user", user->name));
    GA_TRY(name_check_text(store, "description", user->description));
    GA_TRY(name_check_text(store, "reason", user->reason));
    GA_TRY(sql_begin(store));
    GA_TRY(sql_end_counted(store, user_write(store, &written, if_generation)));
    *user = written;
    return GA_OK;
}

static enum ga_status user_remove(struct store *store, const char *tenant, const char *name,
                                  uint64_t if_generation)
{
    int64_t number = 0;
    uint64_t generation = 0;
    int changed;
    GA_TRY(name_tenant(store, tenant, &number));
    GA_TRY(name_user(store, number, tenant, name));
    GA_TRY(user_generation(store, number, name, &generation));
    GA_TRY(name_generation(store, "user", name, if_generation, generation));
    GA_TRY(sql_run(store, NULL,
                   "UPDATE credential SET revoked = ?3 WHERE tenant = ?1 AND user = ?2 "
                   "AND revoked = 0",
                   "iti", number, name, (int64_t)time(NULL)));
    GA_TRY(sql_run(store, NULL, "DELETE FROM local_user WHERE tenant = ?1 AND user = ?2", "it",
                   number, name));
    GA_TRY(sql_run(store, NULL, "DELETE FROM user_limit WHERE tenant = ?1 AND user = ?2", "it",
                   number, name));
    GA_TRY(sql_run(store, &changed, "DELETE FROM user WHERE tenant = ?1 AND name = ?2", "it",
                   number, name));
    return changed == 1 ? GA_OK
                        : sql_refuse(store, GA_LOST, "%s: a user was not removed", store->path);
}

enum ga_status store_user_remove(struct store *store, const char *tenant, const char *name,
                                 uint64_t if_generation)
{
    GA_TRY(name_check(store, "user", name));
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, user_remove(store, tenant, name, if_generation));
}
