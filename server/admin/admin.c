/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket of admins.
 *
 * Note: the file's mode is the first door (0600, or 0660 of the group), the peer's credentials are
 * the second one (admin_peer.h): a folder with loose rights, or a copy of the file's descriptor,
 * opens nothing. */
#include "server/admin/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/admin.h"
#include "base/log.h"
#include "server/admin/admin_conn.h"
#include "server/admin/admin_memory.h"
#include "server/admin/admin_peer.h"

#define BACKLOG 128

enum ga_status admin_check(const char *file, const struct conf *conf, conf_complain *complain,
                           void *user)
{
    const struct conf_server *server = &conf->server;
    gid_t group;
    char line[600];
    if (!admin_group_find(server->admin_group, &group)) {
        snprintf(line, sizeof line, "%s: [server] admin_group: this machine has no group %s", file,
                 server->admin_group);
        complain(user, line);
        return GA_INVALID;
    }
    if (server->admin_group[0] != 0 && server->admin_socket[0] == 0) {
        snprintf(line, sizeof line,
                 "%s: [server] admin_group: there is no admin_socket that its members could use: "
                 "give both, as in admin_socket = %s",
                 file, ADMIN_SOCKET);
        complain(user, line);
        return GA_INVALID;
    }
    return GA_OK;
}

static void admin_address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, strnlen(path, sizeof address->sun_path - 1));
}

/* Whether somebody listens at this place. */
static bool is_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool served = fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                              errno == EAGAIN);
    if (fd >= 0) {
        close(fd);
    }
    return served;
}

/* A socket that a gpuaasd has left which was killed goes; anything else stays. */
static enum ga_status place_clear(const struct sockaddr_un *address)
{
    struct stat there;
    if (lstat(address->sun_path, &there) != 0) {
        return GA_OK;
    }
    if (!S_ISSOCK(there.st_mode)) {
        ga_error("[server] admin_socket: %s is there, and is no socket: remove it, or choose "
                 "another place",
                 address->sun_path);
        return GA_INVALID;
    }
    if (is_served(address)) {
        ga_error("[server] admin_socket: another gpuaasd uses %s: give each one its own",
                 address->sun_path);
        return GA_INVALID;
    }
    (void)unlink(address->sun_path);
    return GA_OK;
}

static enum ga_status admin_bind(struct admin *admin, int fd, const struct sockaddr_un *address)
{
    struct stat made;
    /* The mode of the descriptor becomes that of the file: it is never more open than that. */
    if (fchmod(fd, 0600) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        ga_error("[server] admin_socket: %s cannot be made: %s%s", address->sun_path,
                 strerror(errno), errno == ENOENT ? "; make the folder" : "");
        return GA_INVALID;
    }
    if (lstat(address->sun_path, &made) == 0) {
        admin->device = made.st_dev;
        admin->inode = made.st_ino;
    }
    if (admin->group != ADMIN_NO_GROUP &&
        (lchown(address->sun_path, (uid_t)-1, admin->group) != 0 ||
         chmod(address->sun_path, 0660) != 0)) {
        ga_error("[server] admin_group: %s cannot be given to it: %s; gpuaasd must run as root, or "
                 "as a member of it",
                 address->sun_path, strerror(errno));
        return GA_INVALID;
    }
    return GA_OK;
}

/* One per turn of the loop: nobody else waits for admins. */
static void admin_arrived(uv_poll_t *listener, int status, int events)
{
    struct admin *admin = listener->data;
    (void)events;
    int fd = status == 0 ? accept4(admin->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd >= 0) {
        accept_pause_over(&admin->pause);
        admin_conn_local(admin, fd);
    } else if (status != 0 || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)) {
        accept_pause_begin(&admin->pause, admin->gpuaasd->conf->server.admin_socket);
    }
}

static void admin_remove(struct admin *admin)
{
    const char *path = admin->gpuaasd->conf->server.admin_socket;
    struct stat there;
    if (admin->inode != 0 && lstat(path, &there) == 0 && there.st_dev == admin->device &&
        there.st_ino == admin->inode) {
        (void)unlink(path);
    }
}

static enum ga_status admin_listen(struct admin *admin)
{
    struct sockaddr_un address;
    admin_address_of(admin->gpuaasd->conf->server.admin_socket, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        ga_error("[server] admin_socket: %s", strerror(errno));
        return GA_NO_MEMORY;
    }
    if (uv_poll_init(&admin->gpuaasd->loop, &admin->listener, fd) != 0) {
        ga_error("[server] admin_socket: no room in the event loop");
        close(fd);
        return GA_NO_MEMORY;
    }
    admin->fd = fd;
    accept_pause_init(&admin->pause, &admin->gpuaasd->clients, &admin->listener, admin_arrived);
    GA_TRY(place_clear(&address));
    GA_TRY(admin_bind(admin, fd, &address));
    if (listen(fd, BACKLOG) != 0 ||
        uv_poll_start(&admin->listener, UV_READABLE, admin_arrived) != 0) {
        ga_error("[server] admin_socket: nobody can connect to %s", address.sun_path);
        return GA_INVALID;
    }
    ga_info_each(NULL, "admins: %s", address.sun_path);
    return GA_OK;
}

static enum ga_status admin_start(struct gpuaasd *gpuaasd)
{
    const struct conf_server *server = &gpuaasd->conf->server;
    admin_memory_begin();
    struct admin *admin = calloc(1, sizeof *admin);
    if (admin == NULL) {
        ga_error("no memory");
        return GA_NO_MEMORY;
    }
    admin->gpuaasd = gpuaasd;
    admin->fd = -1;
    ga_list_init(&admin->conns);
    admin->listener.data = admin;
    gpuaasd->admin = admin;
    if (server->admin_socket[0] == 0) {
        return GA_OK;
    }
    if (!admin_group_find(server->admin_group, &admin->group)) {
        ga_error("[server] admin_group: this machine has no group %s", server->admin_group);
        return GA_INVALID;
    }
    return admin_listen(admin);
}

static void admin_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void admin_stop(struct gpuaasd *gpuaasd)
{
    struct admin *admin = gpuaasd->admin;
    gpuaasd->admin = NULL;
    if (admin != NULL) {
        admin_remove(admin);
        admin_conn_close_all(admin);
        if (admin->fd >= 0) {
            accept_pause_fini(&admin->pause);
            uv_close((uv_handle_t *)&admin->listener, admin_closed);
            close(admin->fd);
        } else {
            free(admin);
        }
    }
}

static void admin_take(struct clients *clients, const struct transport_conn *conn,
                       struct auth_grant *grant, const char *address)
{
    struct admin *admin = ga_container(clients, struct gpuaasd, clients)->admin;
    struct transport_conn taken = *conn;
    if (admin != NULL) {
        admin_conn_remote(admin, conn, grant, address);
    } else {
        taken.ops->close(&taken);
        free(grant);
    }
}

static const struct clients_admins admin_by_network = {.take = admin_take};

const struct gpuaasd_admin admin_room = {
    .start = admin_start, .stop = admin_stop, .network = &admin_by_network};
