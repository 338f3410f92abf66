/* SPDX-License-Identifier: Apache-2.0 */
/* The store, as verbs use it: statuses become codes of replies, records become JSON. */
#ifndef SERVER_ADMIN_ADMIN_STORE_H
#define SERVER_ADMIN_ADMIN_STORE_H

#include "server/admin/admin_verb.h"
#include "server/storage/storage.h"

/* The store; the error has been told. */
enum admin_code admin_store_get(struct admin_call *call, struct store **store);
/* One to read from, with a connection of its own, to be closed. Any thread. */
enum admin_code admin_store_open(struct admin_call *call, struct store **store);
/* A connection as that of admin_store_open, closed when the verb has been answered. */
enum admin_code admin_store_read(struct admin_call *call, struct store **store);
/* The code for what a function of the store has returned, with its reason. */
enum admin_code admin_store_code(struct admin_call *call, struct store *store,
                                 enum ga_status status);
/* As admin_store_code, for a function that has written `why` itself. */
enum admin_code admin_status_code(struct admin_call *call, enum ga_status status, const char *why);

/* Whether it is a name that a tenant, a user or a group may have; the error has been told. */
enum admin_code admin_name_check(struct admin_call *call, const char *name);
/* The argument `reason`; the error has been told. */
enum admin_code admin_reason_read(struct admin_call *call, char reason[STORE_TEXT_MAX + 1]);

/* A page of a list by the number of its rows: the argument `after` is how many to leave out. Rows
 * are written down one by one, as many as a reply may have: a tree of 10,000 objects takes longer
 * to make and to free. */
struct admin_rows {
    char *text; /* of the page's rows, with commas; NULL: there is none so far */
    size_t bytes, room;
    uint64_t left_out, seen, taken;
    bool full;   /* the next page begins with the row that has no room */
    bool failed; /* a row is too long, or there was no memory */
};
enum admin_code admin_rows_begin(struct admin_call *call, struct admin_rows *rows);
/* Whether the next row is of this page, as far as is known: it may be full already. */
bool admin_rows_take(struct admin_rows *rows);
/* Adds a row, which is taken. */
void admin_rows_add(struct admin_rows *rows, json_t *row);
/* If the code is OK: sets items and next in the result. Returns the code, or that of what has gone
 * wrong with the rows. */
enum admin_code admin_rows_end(struct admin_call *call, struct admin_rows *rows,
                               enum admin_code code);

/* Members. A time of 0 is null. */
void admin_set_time(json_t *object, const char *name, int64_t seconds);
void admin_set_limits(json_t *object, const struct limits *limits);
/* Sets before and after, which are taken; NULL: null. */
void admin_set_change(struct admin_call *call, json_t *before, json_t *after);
void admin_warn(struct admin_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
