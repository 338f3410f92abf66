/* SPDX-License-Identifier: Apache-2.0 */
/* Admission to a backend process: the tickets, and the greeting of a pending connection. All of it
 * is the main thread's; only the tickets are also asked by the submit threads and by TLS. */
#ifndef SERVER_BACKEND_ADMISSION_H
#define SERVER_BACKEND_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/handshake.h"
#include "base/status.h"

struct application;
struct backend;
struct pending_conn;

void admission_init(struct backend *backend);
/* For transport_secret: gives the key of a ticket that may still be used; otherwise logs why not.
 */
bool admission_key(void *backend, const uint8_t *id, uint8_t *key);
/* Reads what gpuaasd has sent: tickets, answers. Any thread. */
void admission_read(struct backend *backend);
/* Uses a ticket of the application. GA_DENIED with `why`. Any thread. */
GA_CHECKED enum ga_status admission_ticket(struct application *application,
                                           const struct handshake_data_hello *hello,
                                           const char **why);
/* Hears what a pending connection has said; `received`: what receiving has answered. GA_AGAIN: it
 * has not said all. GA_OK: taken over. Everything else: to be closed; the log has the reason. */
GA_CHECKED enum ga_status admission_hear(struct backend *backend, struct pending_conn *pending,
                                         enum ga_status received);
/* Passes on that others lack memory. */
void admission_turn(struct backend *backend);

#endif
