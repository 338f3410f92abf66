/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/list.h"
#include "store/name.h"

#define SECONDS_OF_DAY 86400

#define TENANT_COLUMNS                                                                             \
    "number, name, description, generation, suspended, reason, gpu_types, isolation, exhausted, "  \
    "created, changed, "                                                                           \
    "(SELECT " SQL_LIMITS " FROM tenant_limit l WHERE l.tenant = t.number)"
#define TENANT_AFTER 12 /* the first column behind them */

void store_tenant_init(struct store_tenant *tenant, const char *name)
{
    memset(tenant, 0, sizeof *tenant);
    snprintf(tenant->name, sizeof tenant->name, "%s", name);
    limits_clear(&tenant->limits);
}

/* The value behind "KEY=", or NULL. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    return strncmp(text, key, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

enum ga_status store_tenant_set(struct store_tenant *tenant, const char *text, char *why,
                                size_t why_size)
{
    const char *value = value_of(text, "gpu-types");
    if (value != NULL) {
        return limits_types_read(value, tenant->gpu_types, why, why_size);
    }
    if ((value = value_of(text, "isolation")) != NULL) {
        return limits_isolation_read(value, &tenant->isolation, why, why_size);
    }
    if ((value = value_of(text, "on-exhausted")) != NULL) {
        return limits_exhausted_read(value, &tenant->exhausted, why, why_size);
    }
    enum ga_status status = limits_read(text, &tenant->limits, why, why_size);
    if (status == GA_NOT_FOUND && strlen(why) + 1 < why_size) {
        snprintf(why + strlen(why), why_size - strlen(why), ", gpu-types, isolation, on-exhausted");
    }
    return status;
}

/* The columns of TENANT_COLUMNS. */
static enum ga_status tenant_read(struct store *store, sqlite3_stmt *row, struct store_tenant *out)
{
    store_tenant_init(out, "");
    out->number = (uint64_t)sqlite3_column_int64(row, 0);
    sql_text(row, 1, out->name, sizeof out->name);
    sql_text(row, 2, out->description, sizeof out->description);
    out->generation = (uint64_t)sqlite3_column_int64(row, 3);
    out->suspended = sqlite3_column_int(row, 4) != 0;
    sql_text(row, 5, out->reason, sizeof out->reason);
    sql_text(row, 6, out->gpu_types, sizeof out->gpu_types);
    char word[16];
    sql_text(row, 7, word, sizeof word);
    GA_TRY(limits_isolation_read(word, &out->isolation, store->why, sizeof store->why));
    sql_text(row, 8, word, sizeof word);
    GA_TRY(limits_exhausted_read(word, &out->exhausted, store->why, sizeof store->why));
    out->created = sqlite3_column_int64(row, 9);
    out->changed = sqlite3_column_int64(row, 10);
    return sql_limits_get(store, &out->limits, row, 11);
}

/* The only row of a query. GA_NOT_FOUND without why. */
static enum ga_status tenant_one(struct store *store, sqlite3_stmt *statement,
                                 struct store_tenant *out)
{
    bool has;
    struct store_tenant found;
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return GA_NOT_FOUND;
    }
    enum ga_status status = tenant_read(store, statement, &found);
    sqlite3_reset(statement);
    if (status == GA_OK) {
        *out = found;
    }
    return status;
}

enum ga_status store_tenant_get(struct store *store, const char *name, struct store_tenant *out)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query(store, &statement,
                     "SELECT " TENANT_COLUMNS " FROM tenant t WHERE name = ?1 AND removed = 0", "t",
                     name));
    enum ga_status status = tenant_one(store, statement, out);
    if (status == GA_NOT_FOUND) {
        sql_refuse(store, status, "there is no tenant '%.70s'; `gpuaasctl tenant list` shows them",
                   name);
    }
    return status;
}

enum ga_status store_tenant_get_number(struct store *store, uint64_t number,
                                       struct store_tenant *out)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query(store, &statement,
                     "SELECT " TENANT_COLUMNS " FROM tenant t WHERE number = ?1 AND removed = 0",
                     "i", (int64_t)number));
    enum ga_status status = tenant_one(store, statement, out);
    if (status == GA_NOT_FOUND) {
        sql_refuse(store, status, "there is no tenant of number %" PRIu64 " (any more)", number);
    }
    return status;
}

/* ---- lists */

enum ga_status store_tenant_list(struct store *store, const char *after, int64_t now,
                                 struct store_list **out)
{
    int64_t month, month_end, day, day_end;
    store_period_bounds(STORE_MONTH, now, &month, &month_end);
    store_period_bounds(STORE_DAY, now, &day, &day_end);
    return list_begin(
        store, out,
        "SELECT " TENANT_COLUMNS ", "
        "(SELECT sum(gpu_ns) FROM usage_day u WHERE u.tenant = t.number AND day = ?2), "
        "(SELECT sum(gpu_ns) FROM usage_day u WHERE u.tenant = t.number AND day BETWEEN ?3 AND "
        "?4), "
        "(SELECT count(*) FROM credential c WHERE c.tenant = t.number AND revoked = 0 "
        "AND expires > ?5) "
        "FROM tenant t WHERE removed = 0 AND name > ?1 ORDER BY name",
        "tiiii", after, day / SECONDS_OF_DAY, month / SECONDS_OF_DAY,
        month_end / SECONDS_OF_DAY - 1, now);
}

enum ga_status store_tenant_next(struct store_list *list, struct store_tenant_use *out, bool *has)
{
    struct store_tenant_use found;
    GA_TRY(list_row(list, has));
    if (*has) {
        GA_TRY(tenant_read(list->store, list->row, &found.tenant));
        found.gpu_ns_day = (uint64_t)sqlite3_column_int64(list->row, TENANT_AFTER);
        found.gpu_ns_month = (uint64_t)sqlite3_column_int64(list->row, TENANT_AFTER + 1);
        found.credentials = (uint64_t)sqlite3_column_int64(list->row, TENANT_AFTER + 2);
        *out = found;
    }
    return GA_OK;
}

enum ga_status store_tenant_each(struct store *store,
                                 void (*each)(void *user, const struct store_tenant *tenant),
                                 void *user)
{
    struct store_list *list;
    struct store_tenant_use found;
    bool has = true;
    GA_TRY(store_tenant_list(store, "", time(NULL), &list));
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = store_tenant_next(list, &found, &has);
        if (status == GA_OK && has) {
            each(user, &found.tenant);
        }
    }
    store_list_end(list);
    return status;
}

static enum ga_status tenant_check(struct store *store, const struct store_tenant *tenant)
{
    char types[LIMITS_TYPES_MAX];
    GA_TRY(name_check(store, "tenant", tenant->name));
    GA_TRY(name_check_text(store, "description", tenant->description));
    GA_TRY(name_check_text(store, "reason", tenant->reason));
    return limits_types_read(tenant->gpu_types, types, store->why, sizeof store->why);
}

/* Number and generation of the tenant; 0, 0: there is none. */
static enum ga_status tenant_find(struct store *store, const char *name, int64_t *number,
                                  uint64_t *generation)
{
    sqlite3_stmt *statement;
    bool has;
    *number = 0;
    *generation = 0;
    GA_TRY(sql_query(store, &statement,
                     "SELECT number, generation FROM tenant WHERE name = ?1 AND removed = 0", "t",
                     name));
    GA_TRY(sql_row(store, statement, &has));
    if (has) {
        *number = sqlite3_column_int64(statement, 0);
        *generation = (uint64_t)sqlite3_column_int64(statement, 1);
        sqlite3_reset(statement);
    }
    return GA_OK;
}

static enum ga_status tenant_write(struct store *store, struct store_tenant *tenant,
                                   uint64_t if_generation)
{
    int64_t number = 0, now = time(NULL);
    uint64_t generation = 0;
    int changed;
    GA_TRY(tenant_find(store, tenant->name, &number, &generation));
    GA_TRY(name_generation(store, "tenant", tenant->name, if_generation, generation));
    const char *isolation = limits_isolation_name(tenant->isolation);
    const char *exhausted = limits_exhausted_name(tenant->exhausted);
    if (generation == 0) {
        GA_TRY(sql_run(store, &changed,
                       "INSERT INTO tenant (name, description, generation, suspended, reason, "
                       "gpu_types, isolation, exhausted, created, changed, removed) "
                       "VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?8, 0)",
                       "ttitttti", tenant->name, tenant->description, (int64_t)tenant->suspended,
                       tenant->reason, tenant->gpu_types, isolation, exhausted, now));
        number = sqlite3_last_insert_rowid(store->db);
    } else {
        GA_TRY(sql_run(store, &changed,
                       "UPDATE tenant SET description = ?2, generation = generation + 1, "
                       "suspended = ?3, reason = ?4, gpu_types = ?5, isolation = ?6, "
                       "exhausted = ?7, changed = ?8 WHERE number = ?1",
                       "ititttti", number, tenant->description, (int64_t)tenant->suspended,
                       tenant->reason, tenant->gpu_types, isolation, exhausted, now));
    }
    if (changed != 1) {
        return sql_refuse(store, GA_LOST, "%s: a tenant was not written", store->path);
    }
    GA_TRY(name_limits_put(store, number, NULL, &tenant->limits));
    return store_tenant_get_number(store, (uint64_t)number, tenant);
}

enum ga_status store_tenant_put(struct store *store, struct store_tenant *tenant,
                                uint64_t if_generation)
{
    struct store_tenant written = *tenant;
    GA_TRY(tenant_check(store, tenant));
    GA_TRY(sql_begin(store));
    GA_TRY(sql_end_counted(store, tenant_write(store, &written, if_generation)));
    *tenant = written;
    return GA_OK;
}

/* Finds one that may be renamed or removed, in the generation that the caller knows. */
static enum ga_status tenant_take(struct store *store, const char *name, const char *verb,
                                  uint64_t if_generation, int64_t *number)
{
    uint64_t generation = 0;
    if (strcmp(name, STORE_DEFAULT_TENANT) == 0) {
        return sql_refuse(store, GA_INVALID,
                          "tenant '%s' cannot be %s: it is the one of applications that say "
                          "nothing of themselves; suspend it, if need be",
                          name, verb);
    }
    GA_TRY(name_tenant(store, name, number));
    GA_TRY(tenant_find(store, name, number, &generation));
    return name_generation(store, "tenant", name, if_generation, generation);
}

static enum ga_status tenant_remove(struct store *store, const char *name, uint64_t if_generation)
{
    int64_t number = 0, now = time(NULL);
    int changed;
    GA_TRY(tenant_take(store, name, "removed", if_generation, &number));
    GA_TRY(sql_run(store, NULL,
                   "UPDATE credential SET revoked = ?2 WHERE tenant = ?1 "
                   "AND revoked = 0",
                   "ii", number, now));
    GA_TRY(sql_run(store, NULL, "DELETE FROM local_user WHERE tenant = ?1", "i", number));
    GA_TRY(sql_run(store, NULL, "DELETE FROM trust_member WHERE tenant = ?1", "i", number));
    GA_TRY(sql_run(store, NULL, "DELETE FROM user_limit WHERE tenant = ?1", "i", number));
    GA_TRY(sql_run(store, NULL, "DELETE FROM user WHERE tenant = ?1", "i", number));
    GA_TRY(sql_run(store, NULL, "DELETE FROM tenant_limit WHERE tenant = ?1", "i", number));
    GA_TRY(sql_run(store, &changed,
                   "UPDATE tenant SET removed = ?2, generation = generation + 1 WHERE number = ?1",
                   "ii", number, now));
    return changed == 1 ? GA_OK
                        : sql_refuse(store, GA_LOST, "%s: a tenant was not removed", store->path);
}

enum ga_status store_tenant_remove(struct store *store, const char *name, uint64_t if_generation)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, tenant_remove(store, name, if_generation));
}

static enum ga_status tenant_rename(struct store *store, const char *name, const char *new_name,
                                    uint64_t if_generation)
{
    int64_t number = 0, other = 0;
    uint64_t generation = 0;
    int changed;
    GA_TRY(tenant_take(store, name, "renamed", if_generation, &number));
    GA_TRY(tenant_find(store, new_name, &other, &generation));
    GA_TRY(name_generation(store, "tenant", new_name, STORE_NEW, generation));
    GA_TRY(sql_run(store, &changed,
                   "UPDATE tenant SET name = ?2, generation = generation + 1, changed = ?3 "
                   "WHERE number = ?1",
                   "iti", number, new_name, (int64_t)time(NULL)));
    return changed == 1 ? GA_OK
                        : sql_refuse(store, GA_LOST, "%s: a tenant was not renamed", store->path);
}

enum ga_status store_tenant_rename(struct store *store, const char *name, const char *new_name,
                                   uint64_t if_generation)
{
    GA_TRY(name_check(store, "tenant", new_name));
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, tenant_rename(store, name, new_name, if_generation));
}
