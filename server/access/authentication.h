/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication: the proofs of a connection, or its token, against the store. Each answer is
 * counted and written to the audit log. */
#ifndef SERVER_ACCESS_AUTHENTICATION_H
#define SERVER_ACCESS_AUTHENTICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/status.h"
#include "transport/transport.h"

struct access;

/* Asks whether the client that has greeted by this connection, with this token (NULL: none), may
 * come in. With auth = off nobody is asked: not to be called then. GA_DENIED and others with
 * `refusal`. */
GA_CHECKED enum ga_status authentication_ask(struct access *access,
                                             const struct transport_conn *conn, const char *address,
                                             const char *token, struct auth_grant *grant,
                                             struct auth_refusal *refusal);
/* As authentication_ask, for an administrator, whose certificate is looked at before a token. */
GA_CHECKED enum ga_status authentication_ask_admin(struct access *access,
                                                   const struct transport_conn *conn,
                                                   const char *address, const char *token,
                                                   struct auth_grant *grant,
                                                   struct auth_refusal *refusal);
/* Whether what an administrator was granted holds: it has neither ended nor been revoked. */
bool authentication_holds(struct access *access, struct auth_grant *grant);
/* Whether the TLS handshake of a connection from this source has to wait for its turn among those
 * that are slow: the source has failed shortly before. */
bool authentication_is_slow(const struct access *access, const struct transport_conn *conn);
/* 0: one of them may go on now. Otherwise how long it is until one may. */
uint64_t authentication_slow_wait_ns(struct access *access);

#endif
