/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in, lines out. Requests that only read long lists of the store are answered in a thread of
 * libuv's pool, and the connection says nothing more meanwhile.
 *
 * Note: a connection outlives its closing until libuv has given back its handle; by then its
 * struct admin is not used any more. */
#include "server/admin/admin_conn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/admin.h"
#include "base/log.h"
#include "server/access/audit.h"
#include "server/access/authentication.h"
#include "server/admin/admin.h"
#include "server/admin/admin_list.h"
#include "server/admin/admin_memory.h"
#include "server/admin/admin_peer.h"
#include "server/admin/admin_verb.h"

/* An admin may stay connected and say nothing (`top` between two turns, a script); a request that
 * has begun must end, and a reply must be taken. */
#define IDLE_MS    300000u
#define REQUEST_MS 10000u
#define REPLY_MS   30000u
#define LIST_MS    10000u /* until the next page of a list is asked for, which else begins anew */

struct admin_conn {
    struct ga_list link;
    struct admin *admin;
    unsigned *count; /* of those that come by the same way */
    struct transport_conn conn;
    uv_poll_t poll;
    struct server_timers *timers;
    struct server_timer timer;
    unsigned handles; /* that have not been closed, and the thread's work */
    bool closing;
    bool working; /* a thread answers the line in the buffer, of `line_bytes`, or a disk is waited
                   * for */
    bool leaving; /* it is closed behind its reply */
    struct admin_peer peer;
    struct auth_grant *grant; /* of an admin over the network; NULL: by the socket */
    char *reply;              /* with its newline; NULL: none is on its way */
    size_t reply_bytes, sent; /* of it */
    size_t used;              /* of the buffer */
    uv_work_t work;
    size_t line_bytes;
    struct gpuaasd *gpuaasd; /* the thread's: the admin may end meanwhile */
    char *answer; /* the thread's; or what a disk is waited for with, NULL: the request */
    struct flush_wait flush;
    struct admin_list *list; /* the same while it works: one that goes on; NULL: none */
    char buffer[ADMIN_REQUEST_MAX];
};

static void conn_list_end(struct admin_conn *conn)
{
    admin_list_free(conn->list);
    conn->list = NULL;
}

static void conn_release(struct admin_conn *conn)
{
    if (--conn->handles == 0) {
        conn_list_end(conn);
        admin_memory_free(conn->answer);
        admin_memory_free(conn->reply);
        free(conn->grant);
        free(conn);
    }
}

static void conn_handle_closed(uv_handle_t *handle)
{
    conn_release(handle->data);
}

static void admin_conn_close(struct admin_conn *conn)
{
    if (!conn->closing) {
        conn->closing = true;
        ga_list_remove(&conn->link);
        --*conn->count;
        uv_close((uv_handle_t *)&conn->poll, conn_handle_closed);
        timers_stop(conn->timers, &conn->timer);
        conn->conn.ops->close(&conn->conn);
    }
}

void admin_conn_close_all(struct admin *admin)
{
    ga_list_each (at, next, &admin->conns) {
        admin_conn_close(ga_container(at, struct admin_conn, link));
    }
}

static void conn_allow(struct admin_conn *conn, unsigned time_ms);

static void conn_too_slow(struct server_timer *timer)
{
    struct admin_conn *conn = ga_container(timer, struct admin_conn, timer);
    if (conn->list != NULL && conn->reply == NULL && conn->used == 0) {
        conn_list_end(conn);
        conn_allow(conn, IDLE_MS);
        return;
    }
    ga_info("admin %s: closed, it is too slow or idle", conn->peer.name);
    admin_conn_close(conn);
}

static void conn_allow(struct admin_conn *conn, unsigned time_ms)
{
    timers_start(conn->timers, &conn->timer, conn_too_slow, time_ms, 0);
}

/* ---- replies */

/* Sends some; behind the last byte the next request is waited for. */
static enum ga_status conn_send(struct admin_conn *conn)
{
    struct iovec piece = {conn->reply + conn->sent, conn->reply_bytes - conn->sent};
    size_t sent;
    GA_TRY(conn->conn.ops->send(&conn->conn, &piece, 1, &sent));
    conn->sent += sent;
    if (conn->sent == conn->reply_bytes) {
        admin_memory_free(conn->reply);
        conn->reply = NULL;
        conn_allow(conn, conn->used != 0 ? REQUEST_MS : conn->list != NULL ? LIST_MS : IDLE_MS);
        return conn->leaving ? GA_LOST : GA_OK;
    }
    return GA_OK;
}

/* Takes the reply. GA_AGAIN: it is sent in the loop's next turn, so that others have theirs. */
static enum ga_status conn_reply(struct admin_conn *conn, char *reply)
{
    size_t size = reply != NULL ? strlen(reply) : 0;
    if (size == 0) {
        ga_warn("admin %s: no memory for a reply", conn->peer.name);
        admin_memory_free(reply);
        return GA_NO_MEMORY;
    }
    reply[size] = '\n'; /* in the place of its end */
    conn->reply = reply;
    conn->reply_bytes = size + 1;
    conn->sent = 0;
    conn_allow(conn, REPLY_MS);
    return GA_AGAIN;
}

static enum ga_status conn_refuse(struct admin_conn *conn, enum admin_code code,
                                  const char *message)
{
    conn->leaving = true;
    return conn_reply(conn, admin_answer_wrong(NULL, code, message));
}

/* Refuses the connection, and writes that to the audit log. */
static enum ga_status conn_deny(struct admin_conn *conn, const char *message)
{
    const struct admin_peer *peer = &conn->peer;
    bool remote = admin_is_remote(peer);
    audit_no_admin(&conn->gpuaasd->access.audit,
                   &(struct audit_change){.who = peer->name,
                                          .credential = remote ? peer->credential : NULL,
                                          .address = remote ? peer->address : NULL,
                                          .pid = peer->pid,
                                          .error = message});
    return conn_refuse(conn, ADMIN_DENIED, message);
}

/* ---- requests */

static enum ga_status conn_receive(struct admin_conn *conn)
{
    size_t got;
    GA_TRY(conn->conn.ops->receive(&conn->conn, conn->buffer + conn->used,
                                   sizeof conn->buffer - conn->used, &got));
    if (conn->used == 0) {
        conn_allow(conn, REQUEST_MS);
    }
    conn->used += got;
    return GA_OK;
}

static enum ga_status conn_answered(struct admin_conn *conn, char *reply)
{
    conn->used -= conn->line_bytes + 1;
    memmove(conn->buffer, conn->buffer + conn->line_bytes + 1, conn->used);
    return conn_reply(conn, reply);
}

static void conn_work(uv_work_t *work)
{
    struct admin_conn *conn = work->data;
    conn->answer =
        admin_answer(conn->gpuaasd, &conn->peer, conn->buffer, conn->line_bytes, &conn->list);
}

static void conn_go_on(struct admin_conn *conn);

static void conn_worked(uv_work_t *work, int status)
{
    struct admin_conn *conn = work->data;
    char *answer = conn->answer;
    (void)status;
    conn->answer = NULL;
    conn->working = false;
    if (conn->closing) {
        admin_memory_free(answer);
    } else if (conn_answered(conn, answer) == GA_AGAIN) {
        conn_go_on(conn);
    } else {
        admin_conn_close(conn);
    }
    conn_release(conn);
}

static enum ga_status conn_work_begin(struct admin_conn *conn)
{
    conn->work.data = conn;
    if (uv_queue_work(&conn->admin->gpuaasd->loop, &conn->work, conn_work, conn_worked) != 0) {
        return GA_NO_MEMORY;
    }
    conn->working = true;
    conn->handles++;
    timers_stop(conn->timers, &conn->timer);
    return GA_OK;
}

/* ---- waiting for the disk */

static void conn_flushed(struct flush_wait *wait, const char *why)
{
    struct admin_conn *conn = ga_container(wait, struct admin_conn, flush);
    char *answer = conn->answer;
    enum ga_status status = GA_OK;
    conn->answer = NULL;
    conn->working = false;
    if (why != NULL && answer != NULL) {
        admin_memory_free(answer);
        answer = admin_answer_unsure(conn->buffer, conn->line_bytes, why);
    }
    if (conn->closing) {
        admin_memory_free(answer);
    } else if (answer != NULL) {
        status = conn_answered(conn, answer);
    }
    if (!conn->closing && (status == GA_OK || status == GA_AGAIN)) {
        conn_go_on(conn);
    } else if (!conn->closing) {
        admin_conn_close(conn);
    }
    conn_release(conn);
}

/* GA_AGAIN: the answer (NULL: the request) waits. Takes it. */
static enum ga_status conn_flush(struct admin_conn *conn, char *answer)
{
    conn->answer = answer;
    conn->working = true;
    conn->handles++;
    timers_stop(conn->timers, &conn->timer);
    conn->flush.done = conn_flushed;
    flush_ask(&conn->gpuaasd->storage.flush, &conn->flush);
    return GA_AGAIN;
}

static bool lists_have_room(struct admin *admin)
{
    unsigned lists = 0;
    ga_list_each (at, next, &admin->conns) {
        lists += ga_container(at, struct admin_conn, link)->list != NULL;
    }
    return lists < ADMIN_LISTS_MAX;
}

static enum ga_status conn_answer(struct admin_conn *conn, const char *end)
{
    struct gpuaasd *gpuaasd = conn->admin->gpuaasd;
    size_t size = (size_t)(end - conn->buffer);
    if (conn->grant != NULL && !authentication_holds(&gpuaasd->access, conn->grant)) {
        return conn_deny(conn, "your certificate has ended or was revoked, or gpuaasd cannot look "
                               "that up: its log says");
    }
    conn->line_bytes = size;
    enum admin_way way =
        admin_answer_way(gpuaasd, conn->buffer, size, lists_have_room(conn->admin), &conn->list);
    if (way == ADMIN_READS && conn_work_begin(conn) == GA_OK) {
        return GA_AGAIN;
    }
    if (way == ADMIN_CHANGES && flush_keeps_lock(&gpuaasd->storage.flush)) {
        return conn_flush(conn, NULL);
    }
    char *answer = admin_answer(gpuaasd, &conn->peer, conn->buffer, size, &conn->list);
    return way == ADMIN_CHANGES && answer != NULL ? conn_flush(conn, answer)
                                                  : conn_answered(conn, answer);
}

/* GA_OK: there is more to do. GA_AGAIN: it waits. Others: it ends. */
static enum ga_status conn_step(struct admin_conn *conn)
{
    if (conn->reply != NULL) {
        return conn_send(conn);
    }
    const char *end = memchr(conn->buffer, '\n', conn->used);
    if (end != NULL) {
        return conn_answer(conn, end);
    }
    if (conn->used == sizeof conn->buffer) {
        return conn_refuse(conn, ADMIN_USAGE, "the request is too long");
    }
    return conn_receive(conn);
}

static void conn_ready(uv_poll_t *poll, int status, int events);

/* False: there is something to do at once. */
static bool conn_wait(struct admin_conn *conn)
{
    struct pollfd at[TRANSPORT_POLL_MAX];
    if (conn->working) {
        (void)uv_poll_stop(&conn->poll);
        return true;
    }
    short wanted = conn->reply != NULL ? POLLOUT : POLLIN;
    if (conn->conn.ops->poll_prepare(&conn->conn, wanted, at) == 0) {
        return false;
    }
    int events = ((at[0].events & POLLIN) != 0 ? UV_READABLE : 0) |
                 ((at[0].events & POLLOUT) != 0 ? UV_WRITABLE : 0);
    (void)uv_poll_start(&conn->poll, events, conn_ready);
    return true;
}

static void conn_go_on(struct admin_conn *conn)
{
    enum ga_status status;
    do {
        status = conn_step(conn);
    } while (status == GA_OK || (status == GA_AGAIN && !conn_wait(conn)));
    if (status != GA_AGAIN) {
        admin_conn_close(conn);
    }
}

static void conn_ready(uv_poll_t *poll, int status, int events)
{
    struct admin_conn *conn = poll->data;
    (void)events;
    if (status != 0) {
        admin_conn_close(conn);
    } else {
        conn_go_on(conn);
    }
}

/* ---- beginning */

/* Takes the connection; NULL: no memory, or no room in the loop. */
static struct admin_conn *conn_make(struct admin *admin, const struct transport_conn *transport,
                                    unsigned *count)
{
    struct admin_conn *conn = calloc(1, sizeof *conn);
    struct transport_conn taken = *transport;
    if (conn == NULL || uv_poll_init(&admin->gpuaasd->loop, &conn->poll, taken.fd) != 0) {
        ga_warn("no memory for an admin, its connection is closed");
        taken.ops->close(&taken);
        free(conn);
        return NULL;
    }
    conn->admin = admin;
    conn->count = count;
    conn->gpuaasd = admin->gpuaasd;
    conn->conn = taken;
    conn->handles = 1;
    conn->poll.data = conn;
    conn->timers = &admin->gpuaasd->timers.timers;
    ga_list_append(&admin->conns, &conn->link);
    ++*count;
    return conn;
}

static void conn_begin(struct admin_conn *conn)
{
    enum ga_status status = GA_AGAIN;
    if (conn->grant == NULL && !admin_peer_may(&conn->peer)) {
        ga_warn("admin socket: user %u (pid %d) may not use it", (unsigned)conn->peer.uid,
                (int)conn->peer.pid);
        status = conn_deny(conn, "root, the user of gpuaasd and the members of admin_group may "
                                 "administer it, and you are none of them");
    } else if (*conn->count > ADMIN_CONNS_MAX) {
        status = conn_refuse(conn, ADMIN_LIMIT, "too many admins are connected already: try again");
    } else {
        conn_allow(conn, IDLE_MS);
    }
    if (status == GA_AGAIN) {
        conn_go_on(conn);
    } else {
        admin_conn_close(conn);
    }
}

void admin_conn_local(struct admin *admin, int fd)
{
    const struct transport_conn transport = transport_of_socket(fd);
    struct admin_conn *conn = conn_make(admin, &transport, &admin->local_count);
    if (conn != NULL && admin_peer_of(fd, admin->group, &conn->peer) == GA_OK) {
        conn_begin(conn);
    } else if (conn != NULL) {
        admin_conn_close(conn);
    }
}

void admin_conn_remote(struct admin *admin, const struct transport_conn *transport,
                       struct auth_grant *grant, const char *address)
{
    struct admin_conn *conn = conn_make(admin, transport, &admin->remote_count);
    if (conn == NULL) {
        free(grant);
        return;
    }
    conn->grant = grant;
    snprintf(conn->peer.name, sizeof conn->peer.name, "admin:%s", grant->user);
    snprintf(conn->peer.credential, sizeof conn->peer.credential, "%s", grant->credential);
    snprintf(conn->peer.address, sizeof conn->peer.address, "%s", address);
    ga_info_of(conn->peer.address, "%s (certificate %s): connected", conn->peer.name,
               conn->peer.credential);
    conn_begin(conn);
}
