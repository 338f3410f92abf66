/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: the decision between a client's greeting and the welcome. */
#ifndef SERVER_CLIENTS_ADMISSION_H
#define SERVER_CLIENTS_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

struct control_client;
struct handshake_hello;

/* Enters the client's application among those of gpuaasd, as one of its tenant. False: it has been
 * refused. */
bool admission_ask(struct control_client *client, const struct handshake_hello *hello,
                   uint64_t sequence);

#endif
