/* SPDX-License-Identifier: Apache-2.0 */
/* The sharing registry: device memory (a descriptor of the driver) and events (a descriptor of the
 * driver, or its handle where it has none) that applications of this gpuaasd let each other use.
 * gpuaasd keeps it, because backend processes do not know each other.
 *
 * An entry may be opened with its key: 256 random bits that gpuaasd makes and tells only the owner;
 * the handles of clients are these keys. Clients get nothing of the driver, no address and no
 * number that could be guessed. Applications of other tenants may not open it, whoever has told
 * them the key: a descriptor of a driver may stand for more than the entry (a software GPU's is
 * that of all memory of its process).
 *
 * What a reader would get wrong: gpuaasd keeps no descriptor. That of an entry stays in the process
 * of its owner (server/backend/exports.h), and is fetched from there for each that opens it, so
 * applications that share much use up no descriptors but their own.
 *
 * An entry lives until its owner withdraws it, or ends in whatever way. */
#ifndef SERVER_SHARING_SHARING_REGISTRY_H
#define SERVER_SHARING_SHARING_REGISTRY_H

#include <stdint.h>

#include "base/list.h"
#include "server/channel.h"
#include "server/sharing/opened_memory.h"

struct sharing {
    struct ga_list entries; /* struct sharing_entry */
    struct ga_list fetches; /* struct sharing_fetch */
    uint32_t last_fetch;    /* its number */
};

/* The entries of one application, what it has opened, and the way to its process: `send` never
 * blocks, and the descriptor `fd` (-1: none) stays the caller's. */
struct sharing_share {
    struct ga_list entries;
    struct opener opener;
    uint32_t tenant; /* its number */
    uint32_t seat, count;
    enum ga_status (*send)(void *user, const struct channel_request *packet, int fd);
    void *user;
};

void sharing_init(struct sharing *sharing);
void sharing_share_init(struct sharing_share *share, uint32_t tenant, uint32_t seat,
                        enum ga_status (*send)(void *user, const struct channel_request *packet,
                                               int fd),
                        void (*charge)(void *user, enum opened_charge change, uint32_t gpu,
                                       uint64_t bytes),
                        void *user);
/* Withdraws all entries of the application, and gives up what it is about to open. */
void sharing_share_close(struct sharing *sharing, struct sharing_share *share);
/* As sharing_share_close, and the share has nothing any more. */
void sharing_share_end(struct sharing *sharing, struct sharing_share *share);

/* Takes a packet of the application's process, with the descriptor `fd` (-1: none), and sends the
 * answer: at once, or, to OPEN of what has a descriptor, when its owner has sent that. A process
 * that does not read its answers goes without. */
void sharing_take(struct sharing *sharing, struct sharing_share *share,
                  const struct channel_request *packet, int fd);

#endif
