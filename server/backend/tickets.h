/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: the right to connect to this process. gpuaasd gives them out; each names a device and is
 * good for a few seconds, once for the data and once for the side connection. For bulk connections
 * this process gives tickets out itself, to the client that it serves already. */
#ifndef SERVER_BACKEND_TICKETS_H
#define SERVER_BACKEND_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/handshake.h"
#include "server/channel.h"

#define TICKETS_MAX 256u

struct ticket {
    uint8_t id[16], key[32];
    uint32_t device;
    uint32_t gpu; /* that serves the device; UINT32_MAX: it is for a bulk connection */
    uint64_t expires_ns;
    bool voided;                /* before it was used */
    bool used[HANDSHAKE_KINDS]; /* by enum handshake_kind */
};

struct ticket_table {
    uint8_t application[16];
    struct ticket tickets[TICKETS_MAX];
    uint32_t count;
    uint32_t arrived; /* count of all that have arrived */
};

/* Adds a ticket of gpuaasd. `now_ns` is ga_clock_ns()'s time. False: too many are still good. */
bool tickets_add(struct ticket_table *table, const struct channel_ticket *ticket,
                 uint64_t expires_ns, uint64_t now_ns);
/* Makes a ticket for the bulk connection with this number. False: too many are still good, or there
 * is no random number. */
bool tickets_make(struct ticket_table *table, uint32_t connection, struct channel_ticket *made,
                  uint64_t expires_ns, uint64_t now_ns);
/* Uses up a ticket for the connection that `hello` asks for. GA_DENIED with `why`. */
GA_CHECKED enum ga_status tickets_use(struct ticket_table *table,
                                      const struct handshake_data_hello *hello, uint64_t now_ns,
                                      const char **why);
/* The key of a ticket that may still be used for some connection (TLS needs it before the hello).
 * NULL with `why`. */
const uint8_t *tickets_key(const struct ticket_table *table, const uint8_t *id, uint64_t now_ns,
                           const char **why);
/* Whether it is one of these, good or not. */
bool tickets_has(const struct ticket_table *table, const uint8_t *id);
/* Which GPU serves the device that it is for. False: it is none of these. */
bool tickets_gpu(const struct ticket_table *table, const uint8_t *id, uint32_t *gpu);
/* Makes those for this GPU that have not been used for a data connection worth nothing. Whether any
 * has been used. */
bool tickets_void(struct ticket_table *table, uint32_t gpu);
/* As tickets_void, for all of them. */
void tickets_void_all(struct ticket_table *table);
/* Whether any ticket may still be used for a data connection. */
bool tickets_any(const struct ticket_table *table, uint64_t now_ns);

#endif
