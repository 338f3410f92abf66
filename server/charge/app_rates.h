/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of an application in a second, on calls and bytes in, as far as the submit thread looks at
 * them with each frame; server/conn/rate_wait.h waits. Submit thread only.
 *
 * Where there is no limit, that costs one look at a number for each frame; where there is one, two
 * subtractions, and the rest once in as many calls, or bytes, as need no look at the clock. */
#ifndef SERVER_CHARGE_APP_RATES_H
#define SERVER_CHARGE_APP_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/charge/quota.h"
#include "server/charge/rate.h"

enum rate_kind { RATE_CALLS, RATE_IN, RATE_KINDS };

struct app_rates {
    uint32_t seen; /* turn of the quota's limits that these are of */
    bool any;      /* of them is limited */
    struct rate of[RATE_KINDS];
    uint64_t left[RATE_KINDS]; /* so many more need no look, if they come by frames */
};

/* Whether there is anything to look at. `quota` may be NULL: there are no limits. */
static inline bool rate_is_due(const struct app_rates *rates, const struct quota *quota)
{
    return rates->any || (quota != NULL && quota_turn(quota) != rates->seen);
}

/* As rate_is_due, behind a frame of a call, of so many bytes, which counts thereby if it has
 * not. */
static inline bool rate_frame_is_due(struct app_rates *rates, const struct quota *quota,
                                     uint64_t bytes)
{
    if (quota == NULL || (quota_turn(quota) == rates->seen && !rates->any)) {
        return false;
    }
    if (quota_turn(quota) != rates->seen || rates->left[RATE_CALLS] == 0 ||
        rates->left[RATE_IN] < bytes) {
        return true;
    }
    rates->left[RATE_CALLS]--;
    rates->left[RATE_IN] -= bytes;
    return false;
}

/* Bytes have come by another way than frames. */
static inline void rate_look_soon(struct app_rates *rates)
{
    rates->left[RATE_IN] = 0;
}

#endif
