/* SPDX-License-Identifier: Apache-2.0 */
/* The length of a union of intervals of time: what lies in several of them counts once. Intervals
 * may come in any order, and again.
 *
 * Note: it remembers a fixed number of gaps. When there are more, the oldest gap and all before it
 * are forgotten: an interval that comes so late counts from there on. */
#ifndef BASE_INTERVAL_UNION_H
#define BASE_INTERVAL_UNION_H

#include <stdint.h>

#define GA_INTERVAL_SPANS 64u

struct ga_interval {
    uint64_t from, to; /* [from, to) */
};

/* All zeros is the empty union. */
struct ga_interval_union {
    uint64_t length; /* of the union of all that has been added */
    uint64_t floor;  /* nothing before it counts any more */
    uint32_t count;
    struct ga_interval spans[GA_INTERVAL_SPANS]; /* disjoint, ascending */
};

/* Is told each piece of time that is new in the union, in ascending order. */
typedef void ga_interval_news(void *user, uint64_t from, uint64_t to);

/* Adds [from, to); one that does not end after it begins adds nothing. `news` may be NULL. */
void ga_interval_union_add(struct ga_interval_union *all, uint64_t from, uint64_t to,
                           ga_interval_news *news, void *user);

#endif
