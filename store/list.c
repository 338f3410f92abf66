/* SPDX-License-Identifier: Apache-2.0 */
#include "store/list.h"

#include <stdarg.h>
#include <stdlib.h>

enum ga_status list_begin(struct store *store, struct store_list **out, const char *text,
                          const char *types, ...)
{
    struct store_list *list = calloc(1, sizeof *list);
    if (list == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    va_list args;
    va_start(args, types);
    enum ga_status status = sql_query_kept(store, &list->row, text, types, args);
    va_end(args);
    if (status != GA_OK) {
        free(list);
        return status;
    }
    list->store = store;
    *out = list;
    return GA_OK;
}

enum ga_status list_row(struct store_list *list, bool *has)
{
    *has = false;
    if (!list->ended) {
        GA_TRY(sql_row(list->store, list->row, has));
        list->ended = !*has;
    }
    return GA_OK;
}

void store_list_end(struct store_list *list)
{
    if (list != NULL) {
        sqlite3_finalize(list->row);
        free(list);
    }
}
