/* SPDX-License-Identifier: Apache-2.0 */
/* A limit in a second. Pure: the caller says how many there have been, and what time it is.
 *
 * Where there is a limit, that costs a look at the counts, and at the clock once in as many as may
 * come in a twentieth of a second. */
#ifndef SERVER_CHARGE_RATE_H
#define SERVER_CHARGE_RATE_H

#include <stdint.h>

struct rate {
    uint64_t per_second; /* UINT64_MAX: no limit */
    uint64_t counted;    /* so many are in `due_ns` */
    uint64_t free;       /* so many more need no look at the clock */
    uint64_t due_ns;     /* when they all would have been at this rate */
};

/* The time at which `now_count` are allowed, when it is `now`; a tenth of a second's worth may come
 * at once, and half of that may come uncounted (`free`), which delays nobody who is below the rate.
 */
uint64_t rate_count(struct rate *rate, uint64_t now_count, uint64_t now);

/* From now on it is another limit. Those that came too early under the one before stay counted;
 * where there was none, nothing that was before counts. */
void rate_change(struct rate *rate, uint64_t per_second, uint64_t now_count, uint64_t now);

#endif
