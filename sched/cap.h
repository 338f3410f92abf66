/* SPDX-License-Identifier: Apache-2.0 */
/* Caps and throttles of tenants: a token bucket (Turner, 1986) of GPU time. It fills at its
 * percentage of the time and holds what comes in within one window; use of the GPU takes from it,
 * if need be below zero, since an operation that runs is not stopped. A bucket that has run dry is
 * closed until a quarter of it is full, so that its tenant works in pieces and not in crumbs.
 *
 * Bound: over any time T a tenant uses at most percent * (T + window) and one operation. */
#ifndef SCHED_CAP_H
#define SCHED_CAP_H

#include <stdbool.h>
#include <stdint.h>

struct sched_bucket {
    uint32_t percent; /* 0: no bound */
    bool closed;
    uint64_t filled_at;
    double tokens; /* ns of GPU time */
};

/* Sets its bound; 0 and 100: none. A bucket whose bound is new is full, and one whose bound has
 * changed has no more than fits. */
void sched_bucket_set(struct sched_bucket *bucket, uint32_t percent, uint64_t window_ns,
                      uint64_t now);
void sched_bucket_take(struct sched_bucket *bucket, double used_ns, uint64_t window_ns,
                       uint64_t now);
/* How much it lacks until it is full. */
double sched_bucket_lacks(const struct sched_bucket *bucket, uint64_t window_ns, uint64_t now);
/* Until when its owner may work if it works all the time; SCHED_NEVER: there is no bound. Not after
 * `now`: it may not work, and *again is when it may. */
uint64_t sched_bucket_open_until(struct sched_bucket *bucket, uint64_t window_ns, uint64_t now,
                                 uint64_t *again);

#endif
