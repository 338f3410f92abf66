/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU time of a tenant in this day and this month (UTC), against his limits: what the store
 * has, and what is not written yet (accounting.h). */
#ifndef SERVER_CONTROL_GPU_TIME_H
#define SERVER_CONTROL_GPU_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct control;
struct tenant;
struct tenant_terms;

/* Whether a program may begin: some is left, or his programs go on with a throttle. False: `why`
 * names the limit, in one sentence. */
bool gpu_time_admits(struct control *control, const struct tenant_terms *terms, char *why,
                     size_t why_size);
/* Looks once a second. Where none is left, his programs are throttled or ended, if the terms say
 * so. Whether it must look again. */
bool gpu_time_turn(struct tenant *tenant, uint64_t now);

#endif
