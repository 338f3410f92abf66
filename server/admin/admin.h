/* SPDX-License-Identifier: Apache-2.0 */
/* The admin socket of gpuaasd: a Unix socket on its loop, on which gpuaasctl and other programs of
 * admins ask and change what there is ([server] admin_socket; docs/admin-protocol.md). */
#ifndef SERVER_ADMIN_ADMIN_H
#define SERVER_ADMIN_ADMIN_H

#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "conf/conf.h"
#include "server/control/control.h"

#define ADMIN_CONNS_MAX 32u /* at once; a further one is told so */

struct admin {
    struct control *control;
    gid_t group; /* whose members may; ADMIN_NO_GROUP: nobody's */
    uv_pipe_t listener;
    struct ga_list conns; /* struct admin_conn */
    unsigned conn_count;
    dev_t device; /* of the socket's file, which is removed at the end if it is still ours */
    ino_t inode;
};

extern const struct control_part admin_part;

/* Whether the keys of the socket can be used on this machine. */
GA_CHECKED enum ga_status admin_check(const char *file, const struct conf *conf,
                                      conf_complain *complain, void *user);

#endif
