/* SPDX-License-Identifier: Apache-2.0 */
/* Trust groups. */
#include <string.h>

#include "store/name.h"

#define GROUP_COLUMNS                                                                              \
    "name, description, generation, "                                                              \
    "(SELECT count(*) FROM trust_member m WHERE m.trust_group = g.name)"

static void group_read(sqlite3_stmt *row, struct store_group *out)
{
    memset(out, 0, sizeof *out);
    sql_text(row, 0, out->name, sizeof out->name);
    sql_text(row, 1, out->description, sizeof out->description);
    out->generation = (uint64_t)sqlite3_column_int64(row, 2);
    out->members = (unsigned)sqlite3_column_int64(row, 3);
}

static enum ga_status group_missing(struct store *store, const char *name)
{
    return sql_refuse(store, GA_NOT_FOUND, "there is no group '%.70s'", name);
}

enum ga_status store_group_get(struct store *store, const char *name, struct store_group *out)
{
    sqlite3_stmt *statement;
    bool has;
    GA_TRY(sql_query(store, &statement,
                     "SELECT " GROUP_COLUMNS " FROM trust_group g WHERE name = ?1", "t", name));
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return group_missing(store, name);
    }
    group_read(statement, out);
    sqlite3_reset(statement);
    return GA_OK;
}

enum ga_status store_group_each(struct store *store,
                                void (*each)(void *user, const struct store_group *group),
                                void *user)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query_own(store, &statement,
                         "SELECT " GROUP_COLUMNS " FROM trust_group g ORDER BY name", ""));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            struct store_group group;
            group_read(statement, &group);
            each(user, &group);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* The group's generation; 0: there is none. */
static enum ga_status group_generation(struct store *store, const char *name, uint64_t *generation)
{
    int64_t found = 0;
    enum ga_status status =
        sql_number(store, &found, "SELECT generation FROM trust_group WHERE name = ?1", "t", name);
    *generation = (uint64_t)found;
    return status == GA_NOT_FOUND ? GA_OK : status;
}

static enum ga_status group_write(struct store *store, struct store_group *group,
                                  uint64_t if_generation)
{
    uint64_t generation = 0;
    GA_TRY(group_generation(store, group->name, &generation));
    GA_TRY(name_generation(store, "group", group->name, if_generation, generation));
    int changed;
    GA_TRY(sql_run(store, &changed,
                   "INSERT INTO trust_group VALUES (?1, ?2, 1) ON CONFLICT (name) DO UPDATE "
                   "SET description = ?2, generation = generation + 1",
                   "tt", group->name, group->description));
    if (changed != 1) {
        return sql_refuse(store, GA_LOST, "%s: a group was not written", store->path);
    }
    char name[sizeof group->name];
    memcpy(name, group->name, sizeof name);
    return store_group_get(store, name, group);
}

enum ga_status store_group_put(struct store *store, struct store_group *group,
                               uint64_t if_generation)
{
    struct store_group written = *group;
    GA_TRY(name_check(store, "group", group->name));
    GA_TRY(name_check_text(store, "description", group->description));
    GA_TRY(sql_begin(store));
    GA_TRY(sql_end_counted(store, group_write(store, &written, if_generation)));
    *group = written;
    return GA_OK;
}

static enum ga_status group_remove(struct store *store, const char *name, uint64_t if_generation)
{
    uint64_t generation = 0;
    int changed;
    GA_TRY(group_generation(store, name, &generation));
    if (generation == 0) {
        return group_missing(store, name);
    }
    GA_TRY(name_generation(store, "group", name, if_generation, generation));
    GA_TRY(sql_run(store, NULL, "DELETE FROM trust_member WHERE trust_group = ?1", "t", name));
    GA_TRY(sql_run(store, &changed, "DELETE FROM trust_group WHERE name = ?1", "t", name));
    return changed == 1 ? GA_OK
                        : sql_refuse(store, GA_LOST, "%s: a group was not removed", store->path);
}

enum ga_status store_group_remove(struct store *store, const char *name, uint64_t if_generation)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, group_remove(store, name, if_generation));
}

static enum ga_status group_change(struct store *store, const char *group, const char *tenant,
                                   bool join)
{
    int64_t number = 0;
    uint64_t generation = 0;
    int changed;
    GA_TRY(group_generation(store, group, &generation));
    if (generation == 0) {
        return group_missing(store, group);
    }
    GA_TRY(name_tenant(store, tenant, &number));
    if (join) {
        GA_TRY(sql_run(store, &changed,
                       "INSERT INTO trust_member VALUES (?1, ?2) ON CONFLICT DO NOTHING", "ti",
                       group, number));
    } else {
        GA_TRY(sql_run(store, &changed,
                       "DELETE FROM trust_member WHERE trust_group = ?1 AND tenant = ?2", "ti",
                       group, number));
    }
    if (changed == 0) {
        return GA_OK;
    }
    return sql_run(store, NULL,
                   "UPDATE trust_group SET generation = generation + 1 WHERE name = ?1", "t",
                   group);
}

enum ga_status store_group_join(struct store *store, const char *group, const char *tenant)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, group_change(store, group, tenant, true));
}

enum ga_status store_group_leave(struct store *store, const char *group, const char *tenant)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, group_change(store, group, tenant, false));
}

enum ga_status store_group_members(struct store *store, const char *group,
                                   void (*each)(void *user, const char *tenant), void *user)
{
    sqlite3_stmt *statement;
    uint64_t generation = 0;
    GA_TRY(group_generation(store, group, &generation));
    if (generation == 0) {
        return group_missing(store, group);
    }
    GA_TRY(sql_query_own(store, &statement,
                         "SELECT t.name FROM trust_member m JOIN tenant t ON t.number = m.tenant "
                         "WHERE m.trust_group = ?1 ORDER BY t.name",
                         "t", group));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            char name[STORE_NAME_MAX + 1];
            sql_text(statement, 0, name, sizeof name);
            each(user, name);
        }
    }
    sqlite3_finalize(statement);
    return status;
}
