/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting old usage.
 *
 * Note: sums go before the rows that they are made of. Until both are gone store_check finds less
 * in the sums than in the rows, which is what it allows for days that are not kept. */
#include "store/name.h"

#define FORGET_DAY_S 86400
#define FORGET_ROWS  "2000" /* at once: others who write wait meanwhile */

static enum ga_status forget(struct store *store, int64_t day, int *changed)
{
    GA_TRY(sql_run(store, NULL, "UPDATE counter SET value = max(value, ?1) WHERE name = 'kept'",
                   "i", day));
    GA_TRY(sql_run(store, changed,
                   "DELETE FROM usage_day WHERE (tenant, day, user, node, gpu) IN (SELECT tenant, "
                   "day, user, node, gpu FROM usage_day WHERE day < ?1 LIMIT " FORGET_ROWS ")",
                   "i", day));
    if (*changed != 0) {
        return GA_OK;
    }
    return sql_run(store, changed,
                   "DELETE FROM usage WHERE (tenant, node, epoch, session, gpu) IN (SELECT tenant, "
                   "node, epoch, session, gpu FROM usage WHERE ended <> 0 AND last < ?1 "
                   "LIMIT " FORGET_ROWS ")",
                   "i", day * FORGET_DAY_S);
}

enum ga_status store_usage_forget(struct store *store, int64_t before, bool *more)
{
    int changed = 0;
    GA_TRY(sql_begin(store));
    GA_TRY(sql_end(store, forget(store, before / FORGET_DAY_S, &changed)));
    *more = changed != 0;
    return GA_OK;
}
