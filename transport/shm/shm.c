/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory on one machine.
 *
 * Note: a doorbell (one byte in a socket) may be left from an earlier sleep, and two threads may
 * sleep at once. Each direction of sleep therefore has a socket of its own: "bell" for arrived
 * bytes and "room" for free room. */
#include "transport/shm/shm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "transport/shm/shm_fd.h"
#include "transport/shm/shm_setup.h"
#include "transport/socket.h"

#define PREFIX "gpuaas/"

struct shm_conn {
    bool server, mode_known; /* the client has sent the mode; the server has received it */
    struct rings *rings;     /* NULL: a stream */
    struct ring_end in, out;
    int room;                  /* socket; -1 without rings */
    atomic_bool slept, waited; /* a doorbell may have come: for bytes, for room */
    struct shm_passed passed;  /* the server's */
    struct {
        uint64_t at, since_ns;
        bool idle;
    } out_seen; /* position at the last look, and since when it has not changed */
};

/* ---- names */

static enum ga_status name_fill(const char *name, struct sockaddr_un *at, socklen_t *size)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, PREFIX "%s", name);
    if (length <= 0 || (size_t)length >= sizeof at->sun_path - 1) {
        return GA_INVALID;
    }
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return GA_OK;
}

static int shm_socket(void)
{
    return ga_descriptor_above_stdio(
        socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

static enum ga_status shm_conn_make(int fd, bool server, struct transport_conn *out)
{
    struct shm_conn *state = calloc(1, sizeof *state);
    if (state == NULL) {
        close(fd);
        return GA_NO_MEMORY;
    }
    state->server = server;
    state->room = -1;
    *out = (struct transport_conn){.ops = &transport_shm, .fd = fd, .state = state};
    return GA_OK;
}

/* "0" is any free name. */
static enum ga_status shm_listen_at(int fd, const char *name)
{
    struct sockaddr_un at;
    socklen_t size;
    char any[40];
    for (int tries = 0; tries < 8; tries++) {
        uint64_t words[2] = {0, 0};
        if (strcmp(name, "0") == 0) {
            (void)!getrandom(words, sizeof words, 0);
            snprintf(any, sizeof any, "%016llx%016llx", (unsigned long long)words[0],
                     (unsigned long long)words[1]);
        }
        GA_TRY(name_fill(words[0] != 0 ? any : name, &at, &size));
        if (bind(fd, (struct sockaddr *)&at, size) == 0) {
            return listen(fd, 1024) == 0 ? GA_OK : GA_LOST;
        }
    }
    return GA_LOST;
}

static enum ga_status shm_listen(const struct transport_address *address,
                                 struct transport_listener *out, char *why, size_t why_size)
{
    int fd = shm_socket();
    if (fd < 0 || shm_listen_at(fd, address->host) != GA_OK) {
        snprintf(why, why_size, "cannot listen on shm:%s: %s%s", address->host, strerror(errno),
                 errno == EADDRINUSE ? "; another gpuaasd does" : "");
        if (fd >= 0) {
            close(fd);
        }
        return GA_INVALID;
    }
    *out = (struct transport_listener){.ops = &transport_shm, .fd = fd};
    return GA_OK;
}

static enum ga_status shm_accept(struct transport_listener *listener, struct transport_conn *out)
{
    int fd;
    GA_TRY(socket_accept(listener->fd, &fd));
    return shm_conn_make(fd, true, out);
}

static enum ga_status shm_connect_begin(const struct transport_address *address,
                                        struct transport_conn *out, char *why, size_t why_size)
{
    struct sockaddr_un at;
    socklen_t size;
    if (name_fill(address->host, &at, &size) != GA_OK) {
        snprintf(why, why_size, "the name is too long");
        return GA_INVALID;
    }
    int fd = shm_socket();
    if (fd < 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return GA_NO_MEMORY;
    }
    if (connect(fd, (struct sockaddr *)&at, size) != 0) {
        /* EAGAIN: too many connections wait there */
        snprintf(why, why_size, "%s%s", strerror(errno),
                 errno == ECONNREFUSED ? "; no gpuaasd of this machine listens there" : "");
        close(fd);
        return GA_LOST;
    }
    enum ga_status status = shm_conn_make(fd, false, out);
    if (status != GA_OK) {
        snprintf(why, why_size, "no memory");
    }
    return status;
}

static enum ga_status shm_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    (void)conn, (void)why, (void)why_size;
    return GA_OK;
}

/* ---- rings */

static void rings_take(struct shm_conn *state, struct rings *rings, int room)
{
    state->rings = rings;
    state->room = room;
    state->in.ring = state->server ? &rings->to_server : &rings->to_client;
    state->out.ring = state->server ? &rings->to_client : &rings->to_server;
}

static enum ga_status shm_upgrade(struct transport_conn *conn, char *why, size_t why_size)
{
    struct shm_conn *state = conn->state;
    int room;
    if (state->server || state->mode_known) {
        snprintf(why, why_size, "it cannot be");
        return GA_INVALID;
    }
    struct rings *rings = shm_offer_make(conn->fd, &room);
    if (rings == NULL) {
        snprintf(why, why_size, "no memory or descriptors: %s", strerror(errno));
        return GA_NO_MEMORY;
    }
    state->mode_known = true;
    rings_take(state, rings, room);
    return GA_OK;
}

/* Before the first byte of either direction, the client says what the connection is, and the
 * server reads it. */
static enum ga_status mode_settle(struct transport_conn *conn)
{
    struct shm_conn *state = conn->state;
    struct rings *rings = NULL;
    int room = -1;
    if (state->mode_known) {
        return GA_OK;
    }
    GA_TRY(state->server ? shm_offer_take(conn->fd, &rings, &room) : shm_offer_none(conn->fd));
    state->mode_known = true;
    if (rings != NULL) {
        rings_take(state, rings, room);
    }
    return GA_OK;
}

/* ---- doorbells */

static void ring_bell(int fd)
{
    const char byte = 0;
    (void)send(fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* a full one wakes, too */
}

/* A descriptor comes with a doorbell; only clients send descriptors. */
static enum ga_status bells_take(struct shm_conn *state, int fd)
{
    char bytes[64];
    size_t got;
    return state->server && fd != state->room ? shm_pass_receive(fd, &state->passed)
                                              : socket_receive(fd, bytes, sizeof bytes, &got);
}

/* After a sleep: takes the doorbells away, and learns whether the other end is gone. */
static enum ga_status doorbell_drain(struct shm_conn *state, int fd, atomic_bool *slept)
{
    if (!atomic_load_explicit(slept, memory_order_relaxed) || !atomic_exchange(slept, false)) {
        return GA_AGAIN;
    }
    enum ga_status status = bells_take(state, fd);
    if (status == GA_LOST) {
        atomic_store(slept, true); /* it stays lost */
    }
    return status == GA_OK ? GA_AGAIN : status;
}

static enum ga_status shm_send(struct transport_conn *conn, const struct iovec *pieces, int count,
                               size_t *sent)
{
    struct shm_conn *state = conn->state;
    GA_TRY(mode_settle(conn));
    if (state->rings == NULL) {
        return socket_send(conn->fd, pieces, count, sent);
    }
    if (atomic_load_explicit(&state->rings->closed, memory_order_relaxed) != 0) {
        return GA_LOST;
    }
    bool wake = false;
    enum ga_status status = ring_write(&state->out, pieces, count, sent, &wake);
    if (wake) {
        ring_bell(conn->fd);
    }
    return status == GA_AGAIN ? doorbell_drain(state, state->room, &state->waited) : status;
}

static enum ga_status shm_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    struct shm_conn *state = conn->state;
    if (state->server) {
        GA_TRY(mode_settle(conn));
    }
    if (state->rings == NULL) {
        return socket_receive(conn->fd, to, size, got);
    }
    bool wake = false;
    enum ga_status status = ring_read(&state->in, to, size, got, &wake);
    if (wake) {
        ring_bell(state->room);
    }
    if (status != GA_AGAIN) {
        return status;
    }
    status = doorbell_drain(state, conn->fd, &state->slept);
    if (status == GA_LOST) { /* bytes from before its end */
        return ring_read(&state->in, to, size, got, &wake) == GA_OK ? GA_OK : GA_LOST;
    }
    return status;
}

/* The ring that this end writes into. */
static void shm_idle(struct transport_conn *conn, uint64_t now_ns)
{
    struct shm_conn *state = conn->state;
    if (state->rings == NULL) {
        return;
    }
    uint64_t at = atomic_load_explicit(&state->out.at, memory_order_relaxed);
    if (at != state->out_seen.at) {
        state->out_seen.at = at;
        state->out_seen.since_ns = now_ns;
        state->out_seen.idle = false;
    } else if (!state->out_seen.idle && now_ns - state->out_seen.since_ns >= SHM_IDLE_NS) {
        state->out_seen.idle = ring_idle(&state->out);
    }
}

static unsigned shm_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    struct shm_conn *state = conn->state;
    if (state->rings == NULL) {
        fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
        return 1;
    }
    /* Polled even without events: its end wakes everybody. */
    fds[0] = (struct pollfd){.fd = conn->fd};
    if ((wanted & POLLIN) != 0) {
        atomic_store(&state->slept, true);
        fds[0].events = POLLIN;
        if (!ring_reader_sleeps(&state->in)) {
            return 0;
        }
    }
    if ((wanted & POLLOUT) == 0) {
        return 1;
    }
    atomic_store(&state->waited, true);
    fds[1] = (struct pollfd){.fd = state->room, .events = POLLIN};
    return ring_writer_sleeps(&state->out) ? 2 : 0;
}

/* ---- descriptors */

static enum ga_status shm_send_fd(struct transport_conn *conn, int fd)
{
    struct shm_conn *state = conn->state;
    return !state->server && state->rings != NULL ? shm_pass_send(conn->fd, fd) : GA_UNSUPPORTED;
}

/* The descriptor was sent before the call that refers to it, so it has arrived. Doorbells that
 * come with it are not missed: the thread that takes it is awake, and reads the ring before it
 * sleeps. */
static enum ga_status shm_receive_fd(struct transport_conn *conn, int *fd)
{
    struct shm_conn *state = conn->state;
    if (!state->server || state->rings == NULL) {
        return GA_UNSUPPORTED;
    }
    while (state->passed.count == 0) {
        GA_TRY(shm_pass_receive(conn->fd, &state->passed));
    }
    *fd = shm_passed_first(&state->passed);
    return GA_OK;
}

/* ---- the rest */

static enum ga_status shm_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    (void)conn, (void)timeout_ms;
    return GA_OK; /* the kernel reports the end at once */
}

static unsigned shm_descriptors(const struct transport_conn *conn, int *fds)
{
    const struct shm_conn *state = conn->state;
    fds[0] = conn->fd;
    fds[1] = state->room;
    return state->room >= 0 ? 2 : 1;
}

static enum ga_status shm_local_address(int fd, char *url, size_t size)
{
    struct sockaddr_un at = {0};
    socklen_t length = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &length) != 0 || at.sun_family != AF_UNIX) {
        return GA_LOST;
    }
    const size_t prefix = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(PREFIX);
    if (length <= prefix || length > sizeof at) {
        return GA_LOST;
    }
    int written =
        snprintf(url, size, "shm:%.*s", (int)(length - prefix), at.sun_path + 1 + strlen(PREFIX));
    return written > 0 && (size_t)written < size ? GA_OK : GA_INVALID;
}

static void shm_close_listener(struct transport_listener *listener)
{
    close(listener->fd);
    listener->fd = -1;
}

static void shm_close(struct transport_conn *conn)
{
    struct shm_conn *state = conn->state;
    if (state->rings != NULL) {
        atomic_store(&state->rings->closed, 1);
        shm_rings_unmap(state->rings);
        close(state->room);
    }
    while (state->passed.count != 0) {
        close(shm_passed_first(&state->passed));
    }
    close(conn->fd);
    free(state);
    *conn = (struct transport_conn){.ops = &transport_shm, .fd = -1};
}

#define USER_UNKNOWN 65534u /* how the kernel calls all users of another namespace */

/* The kernel tells which user's process has connected. */
static bool shm_identify(const struct transport_conn *conn, struct transport_identity *out)
{
    struct ucred theirs;
    socklen_t size = sizeof theirs;
    const struct shm_conn *state = conn->state;
    if (!state->server || getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &theirs, &size) != 0 ||
        theirs.uid == USER_UNKNOWN) {
        return false;
    }
    *out = (struct transport_identity){
        .proof = TRANSPORT_PROVES_USER, .uid = theirs.uid, .gid = theirs.gid, .pid = theirs.pid};
    return true;
}

const struct transport_ops transport_shm = {
    .scheme = "shm",
    .send_is_cheap = true,
    .listen = shm_listen,
    .accept = shm_accept,
    .connect_begin = shm_connect_begin,
    .connect_end = shm_connect_end,
    .upgrade = shm_upgrade,
    .send_fd = shm_send_fd,
    .receive_fd = shm_receive_fd,
    .idle = shm_idle,
    .send = shm_send,
    .receive = shm_receive,
    .poll_prepare = shm_poll_prepare,
    .descriptors = shm_descriptors,
    .set_dead_after = shm_set_dead_after,
    .identify = shm_identify,
    .local_address = shm_local_address,
    .close_listener = shm_close_listener,
    .close = shm_close,
};
