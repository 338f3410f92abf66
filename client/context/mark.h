/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence points, called marks: connection index << 56 | sequence of a call. */
#ifndef CLIENT_CONTEXT_MARK_H
#define CLIENT_CONTEXT_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct client_conn;

#define CLIENT_MARK_SEQUENCE ((UINT64_C(1) << 56) - 1)

uint64_t client_mark_of(const struct client_conn *conn, uint64_t sequence);
/* The mark of everything that the connection has sent up to now. */
uint64_t client_mark_now(const struct client_conn *conn);
/* Whether what is done up to `mark` includes `wanted`: both are of one connection. */
bool client_mark_reaches(uint64_t mark, uint64_t wanted);

#endif
