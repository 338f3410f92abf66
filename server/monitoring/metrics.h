/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for monitoring: Prometheus' text format 0.0.4, and whether gpuaasd is ready.
 *
 * Note: counters begin with gpuaasd; what was used before is in the store (gpuaasctl usage). */
#ifndef SERVER_MONITORING_METRICS_H
#define SERVER_MONITORING_METRICS_H

#include <stdbool.h>
#include <stdio.h>

struct monitoring;

void metrics_write(struct monitoring *monitoring, FILE *out);
/* Writes a line for each condition: "ok NAME" or "not NAME: why". False: one does not hold. */
bool metrics_ready(const struct monitoring *monitoring, FILE *out);

#endif
