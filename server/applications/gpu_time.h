/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU time of a tenant in this day and this month (UTC), against its limits: the time in the
 * store, and the time that is not written yet (accounting.h). */
#ifndef SERVER_APPLICATIONS_GPU_TIME_H
#define SERVER_APPLICATIONS_GPU_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct member;
struct refusal;
struct tenant;

/* Whether a program of the tenant may begin, of this user (NULL: none is known): some is left, or
 * its programs go on with a throttle. False, with `refusal`, which names the limit. */
bool gpu_time_admits(const struct tenant *tenant, const struct member *member,
                     struct refusal *refusal);
/* The tenant comes: if its time is used up, it is throttled from the start. */
void gpu_time_begin(struct tenant *tenant);
/* Looks once a second. Where none is left, programs that have a ticket and have opened no device
 * lose it; all programs of the tenant are throttled or ended, and those of a user ended, if the
 * terms say so. Whether it must look again. */
bool gpu_time_turn(struct tenant *tenant, uint64_t now);

#endif
