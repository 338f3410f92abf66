/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for a second are divided among the seats that use them: each seat that has moved bytes or
 * messages lately, or waits for such a limit, gets an equal part of the tenant's, and of its
 * user's. */
#ifndef SERVER_TENANTS_LENDER_RATES_H
#define SERVER_TENANTS_LENDER_RATES_H

#include <stdbool.h>

#include "api/limits.h"

struct lender_seat;
struct tenant;

/* The limits that the seat's process shall keep: of what is for a second, its part. */
struct limits lender_rates_limits(const struct lender_seat *seat);
/* Whether the tenant, or any user of it, has a limit for a second. */
bool lender_rates_any(const struct tenant *tenant);
/* Counts the seats that have moved anything, or waited until they may, since it was called last.
 * Whether any number of them is another one than before. */
bool lender_rates_count(struct tenant *tenant);

#endif
