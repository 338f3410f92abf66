/* What applications of this gpuaasd let each other have: device memory (a descriptor of the driver)
 * and events (a handle of the driver). gpuaasd keeps it, because a backend process knows no other.
 *
 * Who may open something: whoever knows its key, 256 bits of randomness that gpuaasd made for it
 * and told its owner alone; handles of clients are these keys. Nothing of the driver, no address
 * and no number that could be guessed goes to clients. All clients of a gpuaasd are of one tenant
 * as long as it authenticates nobody; sharing_may is where others are told apart.
 *
 * An entry lives until its owner withdraws it or is no more, however it ends. */
#ifndef SERVER_CONTROL_SHARING_H
#define SERVER_CONTROL_SHARING_H

#include <stdint.h>

#include "base/list.h"
#include "server/channel.h"

#define EXCHANGE_MAX 1024u /* of one backend process: each may be a descriptor of gpuaasd */

struct sharing {
    struct ga_list entries; /* struct sharing_entry */
};

/* What a process has there. */
struct sharing_share {
    struct ga_list entries;
    uint64_t number; /* the process's */
    uint32_t count;
};

void sharing_init(struct sharing *sharing);
void sharing_share_init(struct sharing_share *share, uint64_t number);
/* Everything that the process let others have is withdrawn. */
void sharing_share_end(struct sharing_share *share);

/* Answers a packet of a backend process: `*packet` becomes the answer. `*fd` comes with the
 * question (or -1) and is taken; it becomes what goes with the answer (or -1), which stays the
 * table's. */
void sharing_answer(struct sharing *sharing, struct sharing_share *share,
                    struct channel_exchange *packet, int *fd);

#endif
