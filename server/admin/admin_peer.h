/* SPDX-License-Identifier: Apache-2.0 */
/* Administrators: over the admin socket root, the user that gpuaasd runs as, and the members of
 * admin_group, as the kernel says (SO_PEERCRED); over the network a holder of the certificate of an
 * administrator. */
#ifndef SERVER_ADMIN_ADMIN_PEER_H
#define SERVER_ADMIN_ADMIN_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"
#include "store/store.h"
#include "transport/transport.h"

#define ADMIN_NO_GROUP ((gid_t)-1)

struct admin_peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool member; /* of the group, also as a supplementary group */
    /* For logs: "uid:N", since finding a user's name may take time; or "admin:NAME". */
    char name[STORE_NAME_MAX + 8];
    char credential[STORE_ID_MAX + 1]; /* of an admin over the network; "": by the socket */
    char address[TRANSPORT_PEER_BYTES];
};

/* Looks up a group by name or number; empty: ADMIN_NO_GROUP. False: this machine has none. */
bool admin_group_find(const char *text, gid_t *group);
/* GA_INVALID: it is no socket of this machine. */
GA_CHECKED enum ga_status admin_peer_of(int fd, gid_t group, struct admin_peer *peer);
bool admin_peer_may(const struct admin_peer *peer);
static inline bool admin_is_remote(const struct admin_peer *peer)
{
    return peer->credential[0] != 0;
}

#endif
