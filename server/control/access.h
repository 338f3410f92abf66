/* SPDX-License-Identifier: Apache-2.0 */
/* The store of tenants and credentials as gpuaasd uses it: admission, and whether admitted programs
 * may still run.
 *
 * Note: changes are found in the store itself, whoever has made them: an admin over the socket, or
 * another program. Within ACCESS_TURN_MS programs whose right has ended are ended, too. */
#ifndef SERVER_CONTROL_ACCESS_H
#define SERVER_CONTROL_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/status.h"
#include "server/tenants/tenant.h"
#include "transport/transport.h"

#define ACCESS_TURN_MS 1000

struct control;
struct control_application;

/* Begins to use the store, which is open. An error has been logged. */
GA_CHECKED enum ga_status access_open(struct control *control);
void access_close(struct control *control);

/* The terms of a tenant of the store. */
struct tenant_terms access_terms(const struct store_tenant *tenant);
/* The terms of the tenant "default", whose everybody is with auth = off. */
struct tenant_terms access_everybody(struct control *control);

/* Asks whether the client that has greeted by this connection, with this token (NULL: none), may
 * come in. With auth = off nobody is asked: not to be called then. GA_DENIED and others with
 * `refusal`. */
GA_CHECKED enum ga_status access_ask(struct control *control, const struct transport_conn *conn,
                                     const char *address, const char *token,
                                     struct auth_grant *grant, struct auth_refusal *refusal);
/* As access_ask, for an administrator, whose certificate is looked at before a token. */
GA_CHECKED enum ga_status access_ask_admin(struct control *control,
                                           const struct transport_conn *conn, const char *address,
                                           const char *token, struct auth_grant *grant,
                                           struct auth_refusal *refusal);
/* Whether what an administrator was granted holds: it has neither ended nor been revoked. */
bool access_admin_still(struct control *control, struct auth_grant *grant);
/* Whether the TLS handshake of a connection from this source has to wait for its turn among those
 * that are slow: the source has failed shortly before. */
bool access_is_slow(const struct control *control, const struct transport_conn *conn);
/* 0: one of them may go on now. Otherwise how long it is until one may. */
uint64_t access_slow_wait_ns(struct control *control);
/* Looks at once whether the store has changed: to be called after a change. */
void access_look(struct control *control);

#endif
