/* SPDX-License-Identifier: Apache-2.0 */
#include "store/check.h"

#include <stdio.h>
#include <string.h>

#include "store/open.h"
#include "store/schema.h"

/* Sums by day are at least those of the rows of sessions that have begun on a day that is kept, and
 * at most those of all rows that are there; of old days both may have been forgotten. A session
 * counts where its first row is. */
#define CHECK_ROW(figure, of, ...)                                                                 \
    ", " #of "(" #figure ") AS " #figure "_most, " #of "(" #figure " * kept) AS " #figure "_least"
#define CHECK_DAY(figure, of, ...) ", " #of "(" #figure ") AS " #figure
#define CHECK_BOUNDS(figure, of, ...)                                                              \
    " OR coalesce(d." #figure ", 0) NOT BETWEEN r." #figure "_least AND r." #figure "_most"
#define CHECK_ROW_FIGURES STORE_FIGURES(CHECK_ROW)
#define CHECK_DAY_FIGURES STORE_FIGURES(CHECK_DAY)
#define CHECK_ALL_BOUNDS  STORE_FIGURES(CHECK_BOUNDS)
#define CHECK_ROWS                                                                                 \
    "(SELECT tenant, user, node, gpu, sum(more = 0) AS most, sum(kept AND more = 0) AS "           \
    "least" CHECK_ROW_FIGURES " FROM (SELECT *, began >= first AND last >= first AS kept FROM "    \
    "usage, (SELECT coalesce(max(value), 0) * 86400 AS first FROM counter WHERE "                  \
    "name = 'kept')) "                                                                             \
    "GROUP BY 1, 2, 3, 4) r "
#define CHECK_DAYS                                                                                 \
    "(SELECT tenant, user, node, gpu, sum(sessions) AS sessions" CHECK_DAY_FIGURES                 \
    " FROM usage_day GROUP BY 1, 2, 3, 4) d "

/* Each row of a query is a finding: its text, with the first column in the place of %s. */
static const struct {
    const char *query, *text;
} checks[] = {
    {"SELECT format('%s, %s, %s, %s', t.name, r.user, r.node, r.gpu) FROM " CHECK_ROWS
     "LEFT JOIN " CHECK_DAYS "USING (tenant, user, node, gpu) LEFT JOIN tenant t "
     "ON t.number = r.tenant WHERE coalesce(d.sessions, 0) NOT BETWEEN r.least AND "
     "r.most" CHECK_ALL_BOUNDS,
     "sums by day are wrong for tenant, user, node, GPU: %s"},
    {"SELECT format('%s, %s, %s, %s', t.name, s.user, s.node, s.gpu) FROM "
     "(SELECT tenant, user, node, gpu FROM usage_day EXCEPT "
     "SELECT tenant, user, node, gpu FROM usage) s "
     "LEFT JOIN tenant t ON t.number = s.tenant",
     "there are sums without usage for tenant, user, node, GPU: %s"},
    {"SELECT id FROM credential c JOIN tenant t ON t.number = c.tenant "
     "WHERE c.revoked = 0 AND t.removed <> 0",
     "credential %s is valid, but its tenant was removed"},
    {"SELECT id FROM credential c WHERE c.revoked = 0 AND c.user <> '' AND c.scope = 'tenant' "
     "AND NOT EXISTS (SELECT 1 FROM user u WHERE u.tenant = c.tenant AND u.name = c.user)",
     "credential %s is valid, but its user was removed"},
    {"SELECT format('%s %d', kind, number) FROM local_user l WHERE l.user <> '' "
     "AND NOT EXISTS (SELECT 1 FROM user u WHERE u.tenant = l.tenant AND u.name = l.user)",
     "%s belongs to a user who was removed"},
    {"SELECT format('%s %d', kind, l.number) FROM local_user l JOIN tenant t "
     "ON t.number = l.tenant WHERE t.removed <> 0",
     "%s belongs to a tenant that was removed"},
    {"SELECT 'default' WHERE NOT EXISTS "
     "(SELECT 1 FROM tenant WHERE number = 1 AND name = 'default' AND removed = 0)",
     "there is no tenant %s"},
    {"SELECT 'changes' WHERE NOT EXISTS (SELECT 1 FROM counter WHERE name = 'changes')",
     "there is no counter of %s"},
};

struct check {
    store_finding *found;
    void *user;
    unsigned findings;
};

static void check_report(struct check *check, const char *format, const char *what)
{
    char *text = sqlite3_mprintf(format, what);
    check->findings++;
    check->found(check->user, text != NULL ? text : format);
    sqlite3_free(text);
}

static enum ga_status rows_report(struct store *store, struct check *check, const char *query,
                                  const char *text)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query_own(store, &statement, query, ""));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            const char *first = (const char *)sqlite3_column_text(statement, 0);
            check_report(check, text, first != NULL ? first : "?");
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* SQLite's own check: one row, "ok", or the faults. */
static enum ga_status pages_check(struct store *store, struct check *check)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query_own(store, &statement, "PRAGMA integrity_check(20)", ""));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        const char *text =
            status == GA_OK && has ? (const char *)sqlite3_column_text(statement, 0) : "ok";
        if (text == NULL || strcmp(text, "ok") != 0) {
            check_report(check, "pages: %s", text != NULL ? text : "?");
        }
    }
    sqlite3_finalize(statement);
    return status;
}

static enum ga_status keys_check(struct store *store, struct check *check)
{
    sqlite3_stmt *statement;
    GA_TRY(sql_query_own(store, &statement,
                         "SELECT key FROM tenant_limit UNION SELECT key FROM user_limit", ""));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        status = sql_row(store, statement, &has);
        const char *key =
            status == GA_OK && has ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        if (key != NULL && limits_find(key) == LIMIT_COUNT) {
            check_report(check, "there is no limit '%s', but somebody has it", key);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

static enum ga_status check_all(struct store *store, struct check *check)
{
    GA_TRY(pages_check(store, check));
    if (check->findings != 0) {
        return GA_OK; /* what else is found would follow from that */
    }
    GA_TRY(rows_report(store, check, "SELECT \"table\" FROM pragma_foreign_key_check",
                       "a row of table %s refers to one that is not there"));
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        GA_TRY(rows_report(store, check, checks[i].query, checks[i].text));
    }
    return keys_check(store, check);
}

enum ga_status store_check(struct store *store, store_finding *found, void *user,
                           unsigned *findings)
{
    struct check check = {.found = found, .user = user};
    /* All queries see the same moment. */
    GA_TRY(sql_script(store, "BEGIN"));
    enum ga_status status = sql_end(store, check_all(store, &check));
    if (status == GA_LOST) {
        check_report(&check, "%s", store_why(store));
        status = GA_OK;
    }
    GA_TRY(status);
    *findings = check.findings;
    return GA_OK;
}

/* Opens the file as it is, whatever it is. */
static enum ga_status check_open(struct store *store)
{
    unsigned version;
    GA_TRY(open_look(store));
    GA_TRY(open_connect(store, SQLITE_OPEN_READWRITE));
    GA_TRY(schema_look(store, schema_version, &version));
    return version == 0 ? sql_refuse(store, GA_LOST, "%s has no tables", store->path) : GA_OK;
}

enum ga_status store_check_file(const char *path, store_finding *found, void *user,
                                unsigned *findings, char *why, size_t why_size)
{
    struct store *store = open_begin(path);
    if (store == NULL) {
        snprintf(why, why_size, "%s: there is no memory", path);
        return GA_NO_MEMORY;
    }
    unsigned number = 0;
    enum ga_status status = check_open(store);
    if (status == GA_OK) {
        status = store_check(store, found, user, &number);
    } else if (status == GA_LOST) {
        found(user, store_why(store));
        number = 1;
        status = GA_OK;
    }
    if (status == GA_OK) {
        *findings = number;
    } else {
        snprintf(why, why_size, "%s", store_why(store));
    }
    store_close(store);
    return status;
}
