/* SPDX-License-Identifier: Apache-2.0 */
#include "base/interval_union.h"

#include <string.h>

static void span_remove(struct ga_interval_union *all, uint32_t first, uint32_t count)
{
    memmove(&all->spans[first], &all->spans[first + count],
            (all->count - first - count) * sizeof *all->spans);
    all->count -= count;
}

static void span_insert(struct ga_interval_union *all, uint32_t at, uint64_t from, uint64_t to)
{
    memmove(&all->spans[at + 1], &all->spans[at], (all->count - at) * sizeof *all->spans);
    all->spans[at] = (struct ga_interval){from, to};
    all->count++;
}

/* The gaps of the spans [begin, end), which all touch [from, to). */
static void gaps_tell(const struct ga_interval_union *all, uint32_t begin, uint32_t end,
                      struct ga_interval added, ga_interval_news *news, void *user)
{
    uint64_t from = added.from;
    for (uint32_t i = begin; i < end; i++) {
        if (all->spans[i].from > from) {
            news(user, from, all->spans[i].from);
        }
        from = all->spans[i].to > from ? all->spans[i].to : from;
    }
    if (added.to > from) {
        news(user, from, added.to);
    }
}

void ga_interval_union_add(struct ga_interval_union *all, uint64_t from, uint64_t to,
                           ga_interval_news *news, void *user)
{
    from = from < all->floor ? all->floor : from;
    if (to <= from) {
        return;
    }
    uint32_t end = all->count; /* behind the last span that begins at `to` or before */
    while (end > 0 && all->spans[end - 1].from > to) {
        end--;
    }
    uint32_t begin = end; /* the first that touches it */
    uint64_t covered = 0;
    while (begin > 0 && all->spans[begin - 1].to >= from) {
        begin--;
        covered += all->spans[begin].to - all->spans[begin].from;
    }
    if (news != NULL) {
        gaps_tell(all, begin, end, (struct ga_interval){from, to}, news, user);
    }
    if (begin != end) {
        from = all->spans[begin].from < from ? all->spans[begin].from : from;
        to = all->spans[end - 1].to > to ? all->spans[end - 1].to : to;
        all->spans[begin] = (struct ga_interval){from, to};
        span_remove(all, begin + 1, end - begin - 1);
    } else if (all->count < GA_INTERVAL_SPANS) {
        span_insert(all, begin, from, to);
    } else if (begin == 0) {
        all->floor = to; /* it lies before the oldest gap */
    } else {
        all->floor = all->spans[0].to;
        span_remove(all, 0, 1);
        span_insert(all, begin - 1, from, to);
    }
    all->length += to - from - covered;
}
