/* SPDX-License-Identifier: Apache-2.0 */
/* wall-time and idle-timeout, held by gpuaasd as well. Backend processes hold them first, and tell
 * the program why (server/backend/application.c); one that hangs, or that a program has taken over,
 * does not. */
#ifndef SERVER_APPLICATIONS_TIME_LIMITS_H
#define SERVER_APPLICATIONS_TIME_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct tenant;

/* Ends programs of the tenant that have been over such a limit for some seconds. Whether any of
 * them has one. */
bool time_limits_turn(struct tenant *tenant, uint64_t now_ns);

#endif
