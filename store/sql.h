/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to the database: statements, transactions, and the words for failures.
 *
 * Parameters follow the text of a statement as `types` says: t a text, i an int64_t, n an int64_t
 * that is NULL if it is negative, h a hash of STORE_HASH_BYTES. They are borrowed until the
 * statement is used again. Texts of statements are literals: a prepared statement is found by
 * their addresses. */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>
#include <stdarg.h>

#include "store/store.h"

#define SQL_CACHED_MAX 96

struct store {
    sqlite3 *db;
    char path[4096];
    char why[600];
    bool failed; /* the disk has: see GA_LOST in store.h */
    unsigned patience_ms;
    unsigned cached;
    struct {
        const char *text;
        sqlite3_stmt *statement;
    } cache[SQL_CACHED_MAX];
};

/* Sets why; returns `status`. */
enum ga_status sql_refuse(struct store *store, enum ga_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The status and the words for what SQLite has just refused. */
enum ga_status sql_failure(struct store *store);

/* A statement with its parameters, to be stepped with sql_row; owned by the store, valid until the
 * same text is asked for again. */
GA_CHECKED enum ga_status sql_query(struct store *store, sqlite3_stmt **out, const char *text,
                                    const char *types, ...);
/* One of its own, to be ended with sqlite3_finalize, for a caller that calls foreign functions
 * between its rows. */
GA_CHECKED enum ga_status sql_query_own(struct store *store, sqlite3_stmt **out, const char *text,
                                        const char *types, ...);
/* As sql_query_own, with copies of the parameters' texts, for a statement that outlives them. */
GA_CHECKED enum ga_status sql_query_kept(struct store *store, sqlite3_stmt **out, const char *text,
                                         const char *types, va_list args);
/* *has: there is a row. If there is none, or on failure, the statement has been reset. */
GA_CHECKED enum ga_status sql_row(struct store *store, sqlite3_stmt *statement, bool *has);
/* Carries out a statement without rows. `changed` NULL: how many rows have changed is not of
 * interest. */
GA_CHECKED enum ga_status sql_run(struct store *store, int *changed, const char *text,
                                  const char *types, ...);
/* The only column of the only row; GA_NOT_FOUND (without why): there is no row, or it is NULL. */
GA_CHECKED enum ga_status sql_number(struct store *store, int64_t *out, const char *text,
                                     const char *types, ...);
/* Statements without parameters and rows, not prepared in advance. */
GA_CHECKED enum ga_status sql_script(struct store *store, const char *text);

/* A transaction that may write. */
GA_CHECKED enum ga_status sql_begin(struct store *store);
/* Commits if `status` is GA_OK; otherwise nothing has happened, and it is returned. */
GA_CHECKED enum ga_status sql_end(struct store *store, enum ga_status status);
/* Likewise, but if all is well one that changes what store_changes counts. */
GA_CHECKED enum ga_status sql_end_counted(struct store *store, enum ga_status status);

/* A column as a text that ends within `size`; SQLite checks its length when it is written. */
void sql_text(sqlite3_stmt *statement, int column, char *to, size_t size);

/* Rows of tenant_limit and user_limit as one column: "gpus=2,sessions=4". */
#define SQL_LIMITS "group_concat(key || '=' || value)"
GA_CHECKED enum ga_status sql_limits_get(struct store *store, struct limits *limits,
                                         sqlite3_stmt *row, int column);

#endif
