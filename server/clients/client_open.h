/* SPDX-License-Identifier: Apache-2.0 */
/* The OPENs of a client: a ticket for each device that it wants to use. */
#ifndef SERVER_CLIENTS_CLIENT_OPEN_H
#define SERVER_CLIENTS_CLIENT_OPEN_H

#include "server/clients/client_state.h"

/* Takes an OPEN; false: it is malformed, or too many are pending. */
bool control_client_open(struct control_client *client, const struct wire_header *header,
                         struct ga_reader *reader);
/* Whether an OPEN of it waits for this seat of its application; for any, if that is NULL. */
bool control_client_waits(const struct control_client *client, const struct seat *seat);
/* Answers the opens that waited for this seat; `reason` NULL: it is ready. Flush next. */
void control_client_answer(struct control_client *client, struct seat *seat, int32_t result,
                           const char *reason);

#endif
