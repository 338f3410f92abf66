/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/cap.h"

#include <math.h>

#include "sched/sched.h"

static double bucket_room(const struct sched_bucket *bucket, uint64_t window_ns)
{
    return (double)window_ns * bucket->percent / 100;
}

static void bucket_fill(struct sched_bucket *bucket, uint64_t window_ns, uint64_t now)
{
    double room = bucket_room(bucket, window_ns);
    bucket->tokens += (double)(now - bucket->filled_at) * bucket->percent / 100;
    bucket->tokens = bucket->tokens > room ? room : bucket->tokens;
    bucket->filled_at = now;
}

void sched_bucket_set(struct sched_bucket *bucket, uint32_t percent, uint64_t window_ns,
                      uint64_t now)
{
    percent = percent >= 100 ? 0 : percent;
    if (percent == bucket->percent) {
        return;
    }
    bool was_bound = bucket->percent != 0;
    if (was_bound) {
        bucket_fill(bucket, window_ns, now);
    }
    bucket->percent = percent;
    bucket->filled_at = now;
    double room = bucket_room(bucket, window_ns);
    bucket->tokens = was_bound && bucket->tokens < room ? bucket->tokens : room;
    bucket->closed = bucket->closed && percent != 0;
}

void sched_bucket_take(struct sched_bucket *bucket, double used_ns, uint64_t window_ns,
                       uint64_t now)
{
    if (bucket->percent != 0) {
        bucket_fill(bucket, window_ns, now);
        bucket->tokens -= used_ns;
    }
}

double sched_bucket_lacks(const struct sched_bucket *bucket, uint64_t window_ns, uint64_t now)
{
    struct sched_bucket then = *bucket;
    if (then.percent == 0) {
        return 0;
    }
    bucket_fill(&then, window_ns, now);
    return bucket_room(&then, window_ns) - then.tokens;
}

uint64_t sched_bucket_open_until(struct sched_bucket *bucket, uint64_t window_ns, uint64_t now,
                                 uint64_t *again)
{
    if (bucket->percent == 0) {
        return SCHED_NEVER;
    }
    bucket_fill(bucket, window_ns, now);
    double opens_at = bucket_room(bucket, window_ns) / 4;
    if (bucket->tokens < 1) {
        bucket->closed = true;
    }
    /* A nanosecond of tolerance: what is waited for is rounded to nanoseconds. */
    if (bucket->closed && bucket->tokens < opens_at - 1) {
        *again = now + (uint64_t)ceil((opens_at - bucket->tokens) * 100 / bucket->percent);
        return now;
    }
    bucket->closed = false;
    return now + (uint64_t)ceil(bucket->tokens * 100 / (100 - bucket->percent));
}
