/* SPDX-License-Identifier: Apache-2.0 */
/* A query that is read row by row, by a caller that does other things in between. */
#ifndef STORE_LIST_H
#define STORE_LIST_H

#include "store/sql.h"

struct store_list {
    struct store *store;
    sqlite3_stmt *row;
    bool ended;  /* its rows have been read: SQLite would begin anew */
    unsigned by; /* of usage: struct store_usage_query */
};

/* The next row in list->row, until there is none. */
GA_CHECKED enum ga_status list_row(struct store_list *list, bool *has);
/* As sql_query_own. Texts of parameters are copied. */
GA_CHECKED enum ga_status list_begin(struct store *store, struct store_list **out, const char *text,
                                     const char *types, ...);

#endif
