/* SPDX-License-Identifier: Apache-2.0 */
/* The sharing registry: device memory (a descriptor of the driver) and events (a handle of the
 * driver) that applications of this gpuaasd let each other use. gpuaasd keeps it, because backend
 * processes do not know each other.
 *
 * An entry may be opened with its key: 256 random bits that gpuaasd makes and tells only the owner;
 * the handles of clients are these keys. Clients get nothing of the driver, no address and no
 * number that could be guessed. As long as gpuaasd authenticates nobody, all its clients have the
 * same rights; sharing_may is the place to tell them apart.
 *
 * An entry lives until its owner withdraws it, or ends in whatever way. */
#ifndef SERVER_CONTROL_SHARING_H
#define SERVER_CONTROL_SHARING_H

#include <stdint.h>

#include "base/list.h"
#include "server/channel.h"

#define SHARING_MAX 1024u /* of one backend process: each may be a descriptor of gpuaasd */

struct sharing {
    struct ga_list entries; /* struct sharing_entry */
};

/* The entries of one process. */
struct sharing_share {
    struct ga_list entries;
    uint64_t number; /* the process's */
    uint32_t count;
};

void sharing_init(struct sharing *sharing);
void sharing_share_init(struct sharing_share *share, uint64_t number);
/* Withdraws all entries of the process. */
void sharing_share_end(struct sharing_share *share);

/* Answers a request of a backend process: `*packet` becomes the answer. Takes the descriptor `*fd`
 * that came with the request (or -1); `*fd` becomes that of the answer (or -1), which the table
 * keeps. */
void sharing_answer(struct sharing *sharing, struct sharing_share *share,
                    struct channel_request *packet, int *fd);

#endif
