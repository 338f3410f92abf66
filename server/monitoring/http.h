/* SPDX-License-Identifier: Apache-2.0 */
/* /livez, /readyz and /metrics, for monitoring, at the address of the key `http`.
 *
 * Note: libmicrohttpd is opened only if the key is set. It brings ten more libraries, which each
 * backend process, being the same program, would load for nothing. It runs on the loop of gpuaasd:
 * an answer of /livez proves that the loop goes round. */
#ifndef SERVER_MONITORING_HTTP_H
#define SERVER_MONITORING_HTTP_H

#include "base/status.h"

struct monitoring;

#define HTTP_PORT        "9954" /* where none is given */
#define HTTP_CONNECTIONS 64u    /* more, and one of those that have most must go */

/* GA_INVALID, and others, with a log line. */
GA_CHECKED enum ga_status http_start(struct monitoring *monitoring);
void http_stop(void);

#endif
