/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and transactions of SQLite. */
#include "store/sql.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

/* Bytes of the key of a limit, known or not. */
#define SQL_LIMIT_KEY 40u

enum ga_status sql_refuse(struct store *store, enum ga_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(store->why, sizeof store->why, format, args);
    va_end(args);
    return status;
}

/* Whether the statement waits for parameters that are of these types. */
static int parameters_bind(sqlite3_stmt *statement, const char *types,
                           sqlite3_destructor_type texts, va_list args)
{
    int result = SQLITE_OK;
    for (int i = 1; types[i - 1] != 0 && result == SQLITE_OK; i++) {
        int64_t number;
        switch (types[i - 1]) {
        case 't':
            result = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1, texts);
            break;
        case 'h':
            result = sqlite3_bind_blob(statement, i, va_arg(args, const uint8_t *),
                                       (int)STORE_HASH_BYTES, SQLITE_STATIC);
            break;
        case 'i':
            result = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
            break;
        default:
            assert(types[i - 1] == 'n');
            number = va_arg(args, int64_t);
            result = number < 0 ? sqlite3_bind_null(statement, i)
                                : sqlite3_bind_int64(statement, i, number);
        }
    }
    return result;
}

/* Finds the statement among those that are prepared, or prepares it. */
static enum ga_status statement_get(struct store *store, sqlite3_stmt **out, const char *text)
{
    for (unsigned i = 0; i < store->cached; i++) {
        if (store->cache[i].text == text) {
            *out = store->cache[i].statement;
            sqlite3_reset(*out); /* what it returns is an old failure, which has been told */
            return GA_OK;
        }
    }
    assert(store->cached < SQL_CACHED_MAX);
    sqlite3_stmt *made;
    if (sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL) !=
        SQLITE_OK) {
        return sql_failure(store);
    }
    store->cache[store->cached].text = text;
    store->cache[store->cached++].statement = made;
    *out = made;
    return GA_OK;
}

static enum ga_status query(struct store *store, sqlite3_stmt **out, const char *text,
                            const char *types, va_list args)
{
    if (store->failed) {
        return GA_LOST; /* why is still there */
    }
    sqlite3_stmt *statement = NULL;
    GA_TRY(statement_get(store, &statement, text));
    assert(sqlite3_bind_parameter_count(statement) == (int)strlen(types));
    if (parameters_bind(statement, types, SQLITE_STATIC, args) != SQLITE_OK) {
        return sql_failure(store);
    }
    *out = statement;
    return GA_OK;
}

enum ga_status sql_query(struct store *store, sqlite3_stmt **out, const char *text,
                         const char *types, ...)
{
    va_list args;
    va_start(args, types);
    enum ga_status status = query(store, out, text, types, args);
    va_end(args);
    return status;
}

static enum ga_status query_own(struct store *store, sqlite3_stmt **out, const char *text,
                                const char *types, sqlite3_destructor_type texts, va_list args)
{
    if (store->failed) {
        return GA_LOST;
    }
    sqlite3_stmt *made;
    if (sqlite3_prepare_v2(store->db, text, -1, &made, NULL) != SQLITE_OK) {
        return sql_failure(store);
    }
    if (parameters_bind(made, types, texts, args) != SQLITE_OK) {
        enum ga_status status = sql_failure(store);
        sqlite3_finalize(made);
        return status;
    }
    *out = made;
    return GA_OK;
}

enum ga_status sql_query_own(struct store *store, sqlite3_stmt **out, const char *text,
                             const char *types, ...)
{
    va_list args;
    va_start(args, types);
    enum ga_status status = query_own(store, out, text, types, SQLITE_STATIC, args);
    va_end(args);
    return status;
}

enum ga_status sql_query_kept(struct store *store, sqlite3_stmt **out, const char *text,
                              const char *types, va_list args)
{
    return query_own(store, out, text, types, SQLITE_TRANSIENT, args);
}
enum ga_status sql_row(struct store *store, sqlite3_stmt *statement, bool *has)
{
    int result = sqlite3_step(statement);
    *has = result == SQLITE_ROW;
    if (result == SQLITE_ROW) {
        return GA_OK;
    }
    enum ga_status status = result == SQLITE_DONE ? GA_OK : sql_failure(store);
    sqlite3_reset(statement);
    return status;
}

enum ga_status sql_run(struct store *store, int *changed, const char *text, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    bool has;
    va_list args;
    va_start(args, types);
    enum ga_status status = query(store, &statement, text, types, args);
    va_end(args);
    GA_TRY(status);
    GA_TRY(sql_row(store, statement, &has));
    assert(!has);
    if (changed != NULL) {
        *changed = sqlite3_changes(store->db);
    }
    return GA_OK;
}

enum ga_status sql_number(struct store *store, int64_t *out, const char *text, const char *types,
                          ...)
{
    sqlite3_stmt *statement = NULL;
    bool has;
    va_list args;
    va_start(args, types);
    enum ga_status status = query(store, &statement, text, types, args);
    va_end(args);
    GA_TRY(status);
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return GA_NOT_FOUND;
    }
    bool null = sqlite3_column_type(statement, 0) == SQLITE_NULL;
    if (!null) {
        *out = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return null ? GA_NOT_FOUND : GA_OK;
}

enum ga_status sql_script(struct store *store, const char *text)
{
    if (store->failed) {
        return GA_LOST;
    }
    return sqlite3_exec(store->db, text, NULL, NULL, NULL) == SQLITE_OK ? GA_OK
                                                                        : sql_failure(store);
}

/* SQLite itself looks only without WAL: what is written to a file that has no name is lost. */
static enum ga_status sql_find_moved(struct store *store)
{
    int moved = 0;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved == 0) {
        return GA_OK;
    }
    store->failed = true;
    return sql_refuse(store, GA_LOST,
                      "%s has been moved, removed or replaced: put the database back, or stop "
                      "gpuaasd and restore a backup: gpuaasctl db restore FILE",
                      store->path);
}

enum ga_status sql_begin(struct store *store)
{
    GA_TRY(sql_find_moved(store));
    return sql_run(store, NULL, "BEGIN IMMEDIATE", "");
}

enum ga_status sql_end(struct store *store, enum ga_status status)
{
    if (status == GA_OK) {
        status = sql_run(store, NULL, "COMMIT", "");
    }
    /* SQLite has rolled back by itself after some failures. */
    if (status != GA_OK && sqlite3_get_autocommit(store->db) == 0 &&
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK) {
        store->failed = true; /* a transaction that stays open would take what comes later */
        return GA_LOST;
    }
    return status;
}

enum ga_status sql_end_counted(struct store *store, enum ga_status status)
{
    if (status == GA_OK) {
        int changed;
        status = sql_run(store, &changed,
                         "UPDATE counter SET value = value + 1 WHERE name = 'changes'", "");
        if (status == GA_OK && changed != 1) {
            status = sql_refuse(store, GA_LOST,
                                "%s is damaged: it has no counter of changes. Restore a backup: "
                                "gpuaasctl db restore FILE",
                                store->path);
        }
    }
    return sql_end(store, status);
}

void sql_text(sqlite3_stmt *statement, int column, char *to, size_t size)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    size_t length = text != NULL ? strnlen((const char *)text, size - 1) : 0;
    memcpy(to, text != NULL ? (const char *)text : "", length);
    to[length] = 0;
}

/* One of sql_limits_get, which ends at *at; *at is behind it then. */
static bool limit_read(const char **at, struct limits *limits, char key[SQL_LIMIT_KEY])
{
    size_t length = strcspn(*at, "=");
    const char *end;
    uint64_t value;
    snprintf(key, SQL_LIMIT_KEY, "%.*s", (int)length, *at);
    enum limit limit = limits_find(key);
    if ((*at)[length] != '=' || limit == LIMIT_COUNT ||
        !ga_digits_read(*at + length + 1, &end, &value)) {
        return false;
    }
    limits->of[limit] = value;
    *at = end + (*end == ',');
    return true;
}

enum ga_status sql_limits_get(struct store *store, struct limits *limits, sqlite3_stmt *row,
                              int column)
{
    const char *at = (const char *)sqlite3_column_text(row, column);
    char key[SQL_LIMIT_KEY];
    limits_clear(limits);
    while (at != NULL && *at != 0) {
        if (!limit_read(&at, limits, key)) {
            return sql_refuse(store, GA_LOST,
                              "%s is damaged: it has the limit '%s', which there is not. "
                              "Restore a backup: gpuaasctl db restore FILE",
                              store->path, key);
        }
    }
    return GA_OK;
}
