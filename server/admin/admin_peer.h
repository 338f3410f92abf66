/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of the admin socket, and whether he may use it: root, the user that
 * gpuaasd runs as, and the members of admin_group. The kernel says it (SO_PEERCRED). */
#ifndef SERVER_ADMIN_ADMIN_PEER_H
#define SERVER_ADMIN_ADMIN_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

#define ADMIN_NO_GROUP ((gid_t)-1)

struct admin_peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool member;   /* of the group, also as one of his further groups */
    char name[32]; /* "uid:N", for logs: finding a user's name may take time */
};

/* Looks up a group by name or number; empty: ADMIN_NO_GROUP. False: this machine has none. */
bool admin_group_find(const char *text, gid_t *group);
/* GA_INVALID: it is no socket of this machine. */
GA_CHECKED enum ga_status admin_peer_of(int fd, gid_t group, struct admin_peer *peer);
bool admin_peer_may(const struct admin_peer *peer);

#endif
