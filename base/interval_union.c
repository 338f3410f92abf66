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

void ga_interval_union_add(struct ga_interval_union *all, uint64_t from, uint64_t to)
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
