/* SPDX-License-Identifier: Apache-2.0 */
/* Note: groups are those that the peer had when it connected (SO_PEERGROUPS): a user that joins a
 * group logs in again, as everywhere. */
#include "server/admin/admin_peer.h"

#include <grp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/digits.h"

#define GROUPS_MAX 1024u /* of a peer that are looked at; Linux allows 65536 */

bool admin_group_find(const char *text, gid_t *group)
{
    const char *end;
    uint64_t number;
    *group = ADMIN_NO_GROUP;
    if (text[0] == 0) {
        return true;
    }
    if (ga_digits_read(text, &end, &number) && *end == 0 && number < UINT32_MAX) {
        *group = (gid_t)number;
        return true;
    }
    const struct group *found = getgrnam(text);
    if (found != NULL) {
        *group = found->gr_gid;
    }
    return found != NULL;
}

static bool has_group(int fd, gid_t group)
{
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof groups;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) {
        return false;
    }
    for (size_t i = 0; i < size / sizeof *groups; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return false;
}

enum ga_status admin_peer_of(int fd, gid_t group, struct admin_peer *peer)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return GA_INVALID;
    }
    *peer =
        (struct admin_peer){.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
    peer->member = group != ADMIN_NO_GROUP && (peer->gid == group || has_group(fd, group));
    snprintf(peer->name, sizeof peer->name, "uid:%u", (unsigned)peer->uid);
    return GA_OK;
}

bool admin_peer_may(const struct admin_peer *peer)
{
    return peer->uid == 0 || peer->uid == geteuid() || peer->member;
}
