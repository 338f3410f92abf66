/* The rights to connect that gpuaasd has given out for this process: each names a device, is good
 * for a few seconds, once for the data and once for the side connection. And those that this
 * process gives out itself, to the client whom it serves already: for one bulk connection. */
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
    uint64_t expires_ns;
    bool used[HANDSHAKE_KINDS]; /* by enum handshake_kind */
};

struct ticket_table {
    uint8_t application[16];
    struct ticket tickets[TICKETS_MAX];
    uint32_t count;
    uint32_t arrived; /* ever */
};

/* `now_ns` is ga_clock_ns()'s time. False: too many are still good. */
bool tickets_add(struct ticket_table *table, const struct channel_ticket *ticket,
                 uint64_t expires_ns, uint64_t now_ns);
/* Makes one for the bulk connection of that number. False: too many are still good, or there is no
 * random number. */
bool tickets_make(struct ticket_table *table, uint32_t connection, struct channel_ticket *made,
                  uint64_t expires_ns, uint64_t now_ns);
/* Uses one for the connection that `hello` asks for. GA_DENIED with `why`. */
GA_CHECKED enum ga_status tickets_use(struct ticket_table *table,
                                      const struct handshake_data_hello *hello, uint64_t now_ns,
                                      const char **why);
/* The key of one that may still be used for some connection, before the connection says more. NULL
 * with `why`. */
const uint8_t *tickets_key(const struct ticket_table *table, const uint8_t *id, uint64_t now_ns,
                           const char **why);
/* Whether one may still be used for data. */
bool tickets_any(const struct ticket_table *table, uint64_t now_ns);

#endif
