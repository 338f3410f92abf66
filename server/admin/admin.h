/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of gpuaasd, on its loop: gpuaasctl and other programs of admins ask and change
 * what there is (docs/admin-protocol.md), on a Unix socket ([server] admin_socket), or by a
 * listener with tls. */
#ifndef SERVER_ADMIN_ADMIN_H
#define SERVER_ADMIN_ADMIN_H

#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "conf/conf.h"
#include "server/gpuaasd/gpuaasd.h"

/* At once, by the socket and as many over the network: remote admins keep nobody from the socket. A
 * further one is told so. */
#define ADMIN_CONNS_MAX 32u

struct admin {
    struct gpuaasd *gpuaasd;
    gid_t group; /* whose members may; ADMIN_NO_GROUP: nobody's */
    int fd;      /* of the socket; -1: there is none */
    uv_poll_t listener;
    struct accept_pause pause;
    struct ga_list conns; /* struct admin_conn */
    unsigned local_count, remote_count;
    dev_t device; /* of the socket's file, which is removed at the end if it is still ours */
    ino_t inode;
};

extern const struct gpuaasd_admin admin_room;

/* Whether the keys of the socket can be used on this machine. */
GA_CHECKED enum ga_status admin_check(const char *file, const struct conf *conf,
                                      conf_complain *complain, void *user);

#endif
