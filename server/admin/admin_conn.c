/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in, lines out.
 *
 * Note: a connection outlives its closing until libuv has given back its two handles; by then its
 * struct admin is not used any more. */
#include "server/admin/admin_conn.h"

#include <stdlib.h>
#include <string.h>

#include "api/admin.h"
#include "base/log.h"
#include "server/admin/admin.h"
#include "server/admin/admin_peer.h"
#include "server/admin/admin_verb.h"

/* An admin may stay connected and say nothing (`top` between two turns, a script); a request that
 * has begun must end, and a reply must be taken. */
#define IDLE_MS    300000u
#define REQUEST_MS 10000u
#define REPLY_MS   30000u

struct admin_conn {
    struct ga_list link;
    struct admin *admin;
    uv_pipe_t pipe;
    uv_timer_t timer;
    unsigned handles; /* that have not been closed */
    bool closing;
    bool leaving; /* it is closed behind its reply */
    struct admin_peer peer;
    uv_write_t write;
    char *reply; /* with its newline; NULL: none is on its way */
    size_t used; /* of the buffer */
    char buffer[ADMIN_REQUEST_MAX];
};

static void conn_next(struct admin_conn *conn);

static void conn_handle_closed(uv_handle_t *handle)
{
    struct admin_conn *conn = handle->data;
    if (--conn->handles == 0) {
        free(conn->reply);
        free(conn);
    }
}

static void admin_conn_close(struct admin_conn *conn)
{
    if (!conn->closing) {
        conn->closing = true;
        ga_list_remove(&conn->link);
        conn->admin->conn_count--;
        uv_close((uv_handle_t *)&conn->pipe, conn_handle_closed);
        uv_close((uv_handle_t *)&conn->timer, conn_handle_closed);
    }
}

void admin_conn_close_all(struct admin *admin)
{
    ga_list_each (at, next, &admin->conns) {
        admin_conn_close(ga_container(at, struct admin_conn, link));
    }
}

static void conn_too_slow(uv_timer_t *timer)
{
    struct admin_conn *conn = timer->data;
    ga_info("admin %s (pid %d): closed, it is too slow or idle", conn->peer.name,
            (int)conn->peer.pid);
    admin_conn_close(conn);
}

static void conn_allow(struct admin_conn *conn, unsigned time_ms)
{
    (void)uv_timer_start(&conn->timer, conn_too_slow, time_ms, 0);
}

static void conn_written(uv_write_t *write, int status)
{
    struct admin_conn *conn = write->data;
    if (conn->closing) {
        return;
    }
    free(conn->reply);
    conn->reply = NULL;
    if (status != 0 || conn->leaving) {
        admin_conn_close(conn);
        return;
    }
    conn_next(conn);
}

/* Sends it and a newline; takes it. */
static void conn_send(struct admin_conn *conn, char *reply)
{
    size_t size = reply != NULL ? strlen(reply) : 0;
    if (size == 0) {
        ga_warn("admin %s: no memory for a reply", conn->peer.name);
        free(reply);
        admin_conn_close(conn);
        return;
    }
    reply[size] = '\n'; /* in the place of its end */
    const uv_buf_t buffer = {.base = reply, .len = size + 1};
    conn->reply = reply;
    conn->write.data = conn;
    (void)uv_read_stop((uv_stream_t *)&conn->pipe);
    conn_allow(conn, REPLY_MS);
    if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &buffer, 1, conn_written) != 0) {
        admin_conn_close(conn);
    }
}

static void conn_refuse(struct admin_conn *conn, enum admin_code code, const char *message)
{
    conn->leaving = true;
    conn_send(conn, admin_answer_wrong(NULL, code, message));
}

static void conn_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    struct admin_conn *conn = handle->data;
    (void)wanted;
    room->base = conn->buffer + conn->used;
    room->len = sizeof conn->buffer - conn->used;
}

static void conn_readable(uv_stream_t *stream, ssize_t got, const uv_buf_t *room)
{
    struct admin_conn *conn = stream->data;
    (void)room;
    if (got < 0) {
        admin_conn_close(conn);
    } else if (got > 0) {
        conn->used += (size_t)got;
        conn_next(conn);
    }
}

/* Answers the request that is there, or waits for the rest of it. */
static void conn_next(struct admin_conn *conn)
{
    const char *end = memchr(conn->buffer, '\n', conn->used);
    if (end != NULL) {
        size_t size = (size_t)(end - conn->buffer);
        char *reply = admin_answer(conn->admin->control, &conn->peer, conn->buffer, size);
        conn->used -= size + 1;
        memmove(conn->buffer, end + 1, conn->used);
        conn_send(conn, reply);
    } else if (conn->used == sizeof conn->buffer) {
        conn_refuse(conn, ADMIN_USAGE, "the request is too long");
    } else {
        conn_allow(conn, conn->used != 0 ? REQUEST_MS : IDLE_MS);
        (void)uv_read_start((uv_stream_t *)&conn->pipe, conn_room, conn_readable);
    }
}

void admin_conn_accept(struct admin *admin)
{
    struct admin_conn *conn = calloc(1, sizeof *conn);
    uv_os_fd_t fd;
    if (conn == NULL) {
        ga_warn("no memory for an admin, his connection waits");
        return;
    }
    conn->admin = admin;
    conn->handles = 2;
    conn->pipe.data = conn;
    conn->timer.data = conn;
    (void)uv_pipe_init(&admin->control->loop, &conn->pipe, 0);
    (void)uv_timer_init(&admin->control->loop, &conn->timer);
    ga_list_append(&admin->conns, &conn->link);
    admin->conn_count++;
    if (uv_accept((uv_stream_t *)&admin->listener, (uv_stream_t *)&conn->pipe) != 0 ||
        uv_fileno((uv_handle_t *)&conn->pipe, &fd) != 0 ||
        admin_peer_of(fd, admin->group, &conn->peer) != GA_OK) {
        admin_conn_close(conn);
    } else if (!admin_peer_may(&conn->peer)) {
        ga_warn("admin socket: user %u (pid %d) may not use it", (unsigned)conn->peer.uid,
                (int)conn->peer.pid);
        conn_refuse(conn, ADMIN_DENIED,
                    "root, the user of gpuaasd and the members of admin_group may administer it, "
                    "and you are none of them");
    } else if (admin->conn_count > ADMIN_CONNS_MAX) {
        conn_refuse(conn, ADMIN_LIMIT, "too many admins are connected already: try again");
    } else {
        conn_next(conn);
    }
}
