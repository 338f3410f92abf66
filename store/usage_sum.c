/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of usage. They are made of usage_day alone, whose rows are as many as there are tenants,
 * users and GPUs in a day, however many sessions there were. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/list.h"
#include "store/name.h"

#define SUM_DAY_S                    86400
#define SUM_FIGURE(column, how, ...) ", coalesce(" #how "(" #column "), 0) AS " #column
#define SUM_FIGURES                  STORE_FIGURES(SUM_FIGURE)

static void figures_read(sqlite3_stmt *row, int column, struct store_figures *out)
{
    uint64_t figures[sizeof *out / sizeof(uint64_t)];
    for (int i = 0; i < (int)(sizeof figures / sizeof *figures); i++) {
        figures[i] = (uint64_t)sqlite3_column_int64(row, column + i);
    }
    memcpy(out, figures, sizeof *out);
}

/* The text of the query: the inner one sums, the outer one gives names to the few rows that are
 * left. To be freed with sqlite3_free; NULL: no memory.
 * Note: grouping by a constant costs half as much as the sums, so nothing is grouped by what was
 * not asked for. The index on days is for a part of them: of all, it costs more than it saves. */
static char *query_text(const struct store_usage_query *query)
{
    static const struct {
        unsigned by;
        const char *column, *without;
    } columns[] = {{STORE_BY_TENANT, "tenant", "0"},
                   {STORE_BY_USER, "user", "''"},
                   {STORE_BY_NODE, "node", "''"},
                   {STORE_BY_GPU, "gpu", "''"},
                   {STORE_BY_DAY, "day", "0"}};
    const char *picked[5];
    char group[64] = "";
    for (unsigned i = 0; i < 5; i++) {
        bool by = (query->by & columns[i].by) != 0;
        picked[i] = by ? columns[i].column : columns[i].without;
        if (by) {
            strcat(group, *group == 0 ? " GROUP BY " : ", ");
            strcat(group, columns[i].column);
        }
    }
    return sqlite3_mprintf(
        "SELECT coalesce(t.name, ''), coalesce(t.removed, 0), s.* FROM ("
        "SELECT %s AS tenant, %s AS user, %s AS node, %s AS gpu, %s AS day, "
        "sum(sessions) AS sessions" SUM_FIGURES " FROM usage_day WHERE "
        "%sday >= ?1 AND %sday < ?2 AND %s AND %s AND %s AND %s%s) s "
        "LEFT JOIN tenant t ON t.number = s.tenant WHERE sessions IS NOT NULL "
        "ORDER BY %s1, s.tenant, s.user, s.node, s.gpu, s.day LIMIT ?7",
        picked[0], picked[1], picked[2], picked[3], picked[4], query->from > 0 ? "" : "+",
        query->from > 0 ? "" : "+", query->tenant != NULL ? "tenant = ?3" : "?3 = -1",
        query->user != NULL ? "user = ?4" : "?4 = ''",
        query->node != NULL ? "node = ?5" : "?5 = ''", query->gpu != NULL ? "gpu = ?6" : "?6 = ''",
        group, query->top != 0 ? "s.gpu_ns DESC, " : "");
}

static void sum_read(sqlite3_stmt *row, unsigned by, struct store_usage_sum *out)
{
    memset(out, 0, sizeof *out);
    sql_text(row, 0, out->tenant, sizeof out->tenant);
    out->removed = sqlite3_column_int64(row, 1) != 0;
    sql_text(row, 3, out->user, sizeof out->user);
    sql_text(row, 4, out->node, sizeof out->node);
    sql_text(row, 5, out->gpu, sizeof out->gpu);
    out->day = (by & STORE_BY_DAY) != 0 ? sqlite3_column_int64(row, 6) * SUM_DAY_S : 0;
    out->sessions = (uint64_t)sqlite3_column_int64(row, 7);
    figures_read(row, 8, &out->figures);
}

/* A removed tenant is found by its name, too, if nobody has it now. */
static enum ga_status tenant_number(struct store *store, const char *tenant, int64_t *number)
{
    enum ga_status status = sql_number(store, number,
                                       "SELECT number FROM tenant WHERE name = ?1 "
                                       "ORDER BY removed = 0 DESC, removed DESC LIMIT 1",
                                       "t", tenant);
    return status == GA_NOT_FOUND ? name_tenant(store, tenant, number) : status;
}

enum ga_status store_usage_list(struct store *store, const struct store_usage_query *query,
                                struct store_list **out)
{
    int64_t number = -1, from = query->from / SUM_DAY_S, to = INT64_MAX;
    if (query->to > 0) {
        to = (query->to - 1) / SUM_DAY_S + 1;
    }
    if (query->tenant != NULL) {
        GA_TRY(tenant_number(store, query->tenant, &number));
    }
    char *text = query_text(query);
    if (text == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    bool few = query->top != 0 && query->top < INT64_MAX;
    enum ga_status status =
        list_begin(store, out, text, "iiittti", from, to, number,
                   query->user != NULL ? query->user : "", query->node != NULL ? query->node : "",
                   query->gpu != NULL ? query->gpu : "", few ? (int64_t)query->top : INT64_C(-1));
    sqlite3_free(text);
    if (status == GA_OK) {
        (*out)->by = query->by;
    }
    return status;
}

enum ga_status store_usage_next(struct store_list *list, struct store_usage_sum *out, bool *has)
{
    GA_TRY(list_row(list, has));
    if (*has) {
        sum_read(list->row, list->by, out);
    }
    return GA_OK;
}

enum ga_status store_usage_each(struct store *store, const struct store_usage_query *query,
                                void (*each)(void *user, const struct store_usage_sum *sum),
                                void *user)
{
    struct store_list *list;
    struct store_usage_sum sum;
    bool has = true;
    GA_TRY(store_usage_list(store, query, &list));
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = store_usage_next(list, &sum, &has);
        if (status == GA_OK && has) {
            each(user, &sum);
        }
    }
    store_list_end(list);
    return status;
}

void store_period_bounds(enum store_period period, int64_t now, int64_t *from, int64_t *to)
{
    time_t seconds = (time_t)now;
    struct tm day;
    gmtime_r(&seconds, &day);
    day.tm_sec = 0;
    day.tm_min = 0;
    day.tm_hour = 0;
    day.tm_mday = period == STORE_MONTH ? 1 : day.tm_mday;
    struct tm next = day;
    next.tm_mday += period == STORE_DAY;
    next.tm_mon += period == STORE_MONTH;
    *from = timegm(&day);
    *to = timegm(&next);
}

enum ga_status store_usage_period(struct store *store, uint64_t number, const char *user,
                                  enum store_period period, int64_t now, struct store_figures *out)
{
    int64_t from, to;
    sqlite3_stmt *statement;
    bool has;
    store_period_bounds(period, now, &from, &to);
    if (user == NULL) {
        GA_TRY(sql_query(store, &statement,
                         "SELECT 0" SUM_FIGURES
                         " FROM usage_day WHERE tenant = ?1 AND day >= ?2 AND day < ?3",
                         "iii", (int64_t)number, from / SUM_DAY_S, to / SUM_DAY_S));
    } else {
        GA_TRY(sql_query(store, &statement,
                         "SELECT 0" SUM_FIGURES " FROM usage_day WHERE tenant = ?1 AND day >= ?2 "
                         "AND day < ?3 AND user = ?4",
                         "iiit", (int64_t)number, from / SUM_DAY_S, to / SUM_DAY_S, user));
    }
    GA_TRY(sql_row(store, statement, &has));
    if (!has) { /* a sum has a row, of nothing too */
        return sql_refuse(store, GA_LOST, "%s: no sum", store->path);
    }
    figures_read(statement, 1, out);
    sqlite3_reset(statement);
    return GA_OK;
}
