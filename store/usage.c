/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of usage, and the sums by day that grow with them. */
#include "store/usage.h"

#include <stdio.h>
#include <string.h>

#include "store/name.h"

#define USAGE_DAY_S 86400
#define USAGE_LOST  "gpuaasd ended"

/* The figures as an array. */
enum usage_figure {
#define USAGE_INDEX(column, ...) USAGE_##column,
    STORE_FIGURES(USAGE_INDEX) USAGE_COUNT
};

_Static_assert(sizeof(struct store_figures) == USAGE_COUNT * sizeof(uint64_t), "nothing else");

enum usage_sum { USAGE_sum, USAGE_max };

static const enum usage_sum sums[USAGE_COUNT] = {
#define USAGE_HOW(column, how, ...) USAGE_##how,
    STORE_FIGURES(USAGE_HOW)};

/* Parts of statements that have every figure, each with a comma in front: its column, a parameter
 * and its type, and what a row that is there becomes. */
#define USAGE_COLUMN(column, ...)    ", " #column
#define USAGE_PARAMETER(column, ...) ", ?"
#define USAGE_TYPE(column, ...)      "i"
#define USAGE_SET(column, ...)       ", " #column " = excluded." #column
#define USAGE_ADD(column, how, ...)  ", " #column " = " USAGE_ADD_##how(#column)
/* A sum that would overflow is a REAL, and greater. */
#define USAGE_ADD_sum(column) "min(" column " + excluded." column ", 9223372036854775807)"
#define USAGE_ADD_max(column) "max(" column ", excluded." column ")"
#define USAGE_COLUMNS         STORE_FIGURES(USAGE_COLUMN)
#define USAGE_PARAMETERS      STORE_FIGURES(USAGE_PARAMETER)
#define USAGE_TYPES           STORE_FIGURES(USAGE_TYPE)
#define USAGE_SETS            STORE_FIGURES(USAGE_SET)
#define USAGE_ADDS            STORE_FIGURES(USAGE_ADD)
/* The arguments, likewise. */
#define USAGE_NOW(column, ...)  , grown.now[USAGE_##column]
#define USAGE_MORE(column, ...) , grown.more[USAGE_##column]

struct usage_grown {
    int64_t now[USAGE_COUNT], more[USAGE_COUNT]; /* of a maximum, `more` is all of it */
    bool first, any;
    char user[STORE_NAME_MAX + 1];
};

static enum ga_status row_check(struct store *store, const struct store_usage *row)
{
    uint64_t figures[USAGE_COUNT];
    memcpy(figures, &row->figures, sizeof figures);
    for (unsigned i = 0; i < USAGE_COUNT; i++) {
        if (figures[i] > INT64_MAX) {
            return sql_refuse(store, GA_INVALID, "usage of session %s: a figure is too large",
                              row->session);
        }
    }
    if (row->epoch > INT64_MAX || row->last < 0) {
        return sql_refuse(store, GA_INVALID, "usage of session %s: its epoch or time is wrong",
                          row->session);
    }
    return name_check_text(store, "reason", row->reason);
}

/* The tenant's number, which may be that of a removed one. */
static enum ga_status row_tenant(struct store *store, const struct store_usage *row,
                                 int64_t *number)
{
    if (row->tenant_number == 0) {
        return name_tenant(store, row->tenant, number);
    }
    enum ga_status status = sql_number(store, number, "SELECT number FROM tenant WHERE number = ?1",
                                       "i", (int64_t)row->tenant_number);
    if (status == GA_NOT_FOUND) {
        return sql_refuse(store, GA_NOT_FOUND, "usage of session %s: there is no tenant %llu",
                          row->session, (unsigned long long)row->tenant_number);
    }
    return status;
}

/* Compares with the row that is there. */
static enum ga_status row_compare(struct store *store, const struct store_usage *row,
                                  int64_t tenant, struct usage_grown *grown)
{
    sqlite3_stmt *statement;
    bool has;
    memset(grown, 0, sizeof *grown);
    memcpy(grown->now, &row->figures, sizeof grown->now);
    memcpy(grown->more, &row->figures, sizeof grown->more);
    memcpy(grown->user, row->user, sizeof grown->user);
    GA_TRY(sql_query(store, &statement,
                     "SELECT user" USAGE_COLUMNS " FROM usage WHERE tenant = ?1 AND node = ?2 "
                     "AND epoch = ?3 AND session = ?4 AND gpu = ?5",
                     "ititt", tenant, row->node, (int64_t)row->epoch, row->session, row->gpu));
    GA_TRY(sql_row(store, statement, &has));
    grown->first = !has;
    grown->any = !has;
    for (int i = 0; has && i < (int)USAGE_COUNT; i++) {
        int64_t old = sqlite3_column_int64(statement, i + 1);
        grown->any |= grown->now[i] > old;
        if (grown->now[i] < old) {
            grown->now[i] = old;
        }
        grown->more[i] = sums[i] == USAGE_max ? grown->now[i] : grown->now[i] - old;
    }
    if (has) {
        sql_text(statement, 0, grown->user, sizeof grown->user);
        sqlite3_reset(statement);
    }
    return GA_OK;
}

static enum ga_status row_write(struct store *store, const struct store_usage *row)
{
    struct usage_grown grown;
    int64_t tenant = 0;
    int changed;
    GA_TRY(row_check(store, row));
    GA_TRY(row_tenant(store, row, &tenant));
    GA_TRY(row_compare(store, row, tenant, &grown));
    GA_TRY(sql_run(store, &changed,
                   "INSERT INTO usage (tenant, node, epoch, session, gpu, user, isolation, began, "
                   "last, ended, reason, more" USAGE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                   "?7, ?8, ?9, ?10, ?11, ?12" USAGE_PARAMETERS ") "
                   "ON CONFLICT (tenant, node, epoch, session, gpu) DO UPDATE SET "
                   "last = max(last, ?9), reason = iif(ended = 0, ?11, reason), "
                   "ended = iif(ended = 0, ?10, ended)" USAGE_SETS,
                   "itittttiiiti" USAGE_TYPES, tenant, row->node, (int64_t)row->epoch, row->session,
                   row->gpu, grown.user, limits_isolation_name(row->isolation), row->began,
                   row->last, row->ended, row->reason,
                   (int64_t)row->more STORE_FIGURES(USAGE_NOW)));
    if (changed != 1) {
        return sql_refuse(store, GA_LOST, "%s: a row of usage was not written", store->path);
    }
    if (!grown.any) {
        return GA_OK;
    }
    GA_TRY(sql_run(store, &changed,
                   "INSERT INTO usage_day (tenant, day, user, node, gpu, sessions" USAGE_COLUMNS
                   ") VALUES (?1, ?2, ?3, ?4, ?5, ?6" USAGE_PARAMETERS ") "
                   "ON CONFLICT (tenant, day, user, node, gpu) DO UPDATE SET "
                   "sessions = sessions + ?6" USAGE_ADDS,
                   "iittti" USAGE_TYPES, tenant, row->last / USAGE_DAY_S, grown.user, row->node,
                   row->gpu, (int64_t)(grown.first && !row->more) STORE_FIGURES(USAGE_MORE)));
    return changed == 1
               ? GA_OK
               : sql_refuse(store, GA_LOST, "%s: a sum of usage was not written", store->path);
}

enum ga_status store_usage_write(struct store *store, const struct store_usage *rows, size_t count)
{
    enum ga_status status = GA_OK;
    GA_TRY(sql_begin(store));
    for (size_t i = 0; i < count && status == GA_OK; i++) {
        status = row_write(store, &rows[i]);
    }
    return sql_end(store, status);
}

enum ga_status store_usage_write_known(struct store *store, const struct store_usage *rows,
                                       size_t count, char *why, size_t why_size)
{
    enum ga_status status = store_usage_write(store, rows, count);
    why[0] = 0;
    if (status != GA_NOT_FOUND && status != GA_INVALID) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        status = store_usage_write(store, &rows[i], 1);
        if (status == GA_NOT_FOUND || status == GA_INVALID) {
            snprintf(why, why_size, "%s", store_why(store));
        } else if (status != GA_OK) {
            return status;
        }
    }
    return GA_OK;
}

static enum ga_status epoch_next(struct store *store, const char *node, uint64_t *epoch)
{
    int64_t found;
    GA_TRY(sql_run(store, NULL,
                   "INSERT INTO node VALUES (?1, 1) ON CONFLICT (name) DO UPDATE "
                   "SET epoch = epoch + 1",
                   "t", node));
    GA_TRY(sql_number(store, &found, "SELECT epoch FROM node WHERE name = ?1", "t", node));
    *epoch = (uint64_t)found;
    return sql_run(store, NULL,
                   "UPDATE usage SET ended = max(last, 1), reason = ?2 "
                   "WHERE node = ?1 AND ended = 0",
                   "tt", node, USAGE_LOST);
}

enum ga_status store_epoch_next(struct store *store, const char *node, uint64_t *epoch)
{
    uint64_t found = 0;
    GA_TRY(name_check(store, "node", node));
    GA_TRY(sql_begin(store));
    GA_TRY(sql_end(store, epoch_next(store, node, &found)));
    *epoch = found;
    return GA_OK;
}
