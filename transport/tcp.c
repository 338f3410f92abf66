/* SPDX-License-Identifier: Apache-2.0 */
/* TCP: non-blocking sockets without Nagle's delay. */
#include "transport/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/failpoint.h"
#include "transport/socket.h"

#define FEW_BYTES 7u /* of a failpoint: shorter than any header */

static enum ga_status tcp_resolve(const struct transport_address *address, int flags,
                                  struct addrinfo **list, char *why, size_t why_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    int rc = getaddrinfo(address->host, address->port, &hints, list);
    if (rc != 0) {
        snprintf(why, why_size, "%.100s: %s", address->host,
                 rc == EAI_NONAME ? "there is no host of this name" : gai_strerror(rc));
        return GA_NOT_FOUND;
    }
    return GA_OK;
}

/* Advice for an error of listening or connecting. */
static const char *tcp_cure(int error)
{
    return error == EADDRINUSE ? "; another program listens there, perhaps another gpuaasd"
           : error == EADDRNOTAVAIL
               ? "; this machine has no such address (0.0.0.0: all that it has)"
           : error == EACCES       ? "; ports below 1024 are for root"
           : error == ECONNREFUSED ? "; nobody listens there: is gpuaasd started, is this its port?"
           : error == ETIMEDOUT    ? "; is the machine up, does a firewall let this port through?"
                                   : "";
}

static int tcp_socket(const struct addrinfo *info)
{
    return ga_descriptor_above_stdio(socket(
        info->ai_family, info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info->ai_protocol));
}

/* Small frames leave at once. Keep-alive probes keep a connection that is silent behind a long
 * kernel known to every firewall on its way; a firewall that forgot it would drop the answer. */
static void tcp_options(int fd)
{
    const int on = 1, idle_s = 60, interval_s = 30;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static enum ga_status tcp_listen(const struct transport_address *address,
                                 struct transport_listener *out, char *why, size_t why_size)
{
    struct addrinfo *list;
    GA_TRY(tcp_resolve(address, AI_PASSIVE, &list, why, why_size));
    int error = 0;
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        int fd = tcp_socket(at);
        if (fd < 0) {
            error = errno;
            continue;
        }
        int one = 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
            freeaddrinfo(list);
            *out = (struct transport_listener){.ops = &transport_tcp, .fd = fd};
            return GA_OK;
        }
        error = errno;
        close(fd);
    }
    freeaddrinfo(list);
    snprintf(why, why_size, "cannot listen on %s:%s: %s%s", address->host, address->port,
             strerror(error), tcp_cure(error));
    return GA_INVALID;
}

static enum ga_status tcp_accept(struct transport_listener *listener, struct transport_conn *out)
{
    int fd;
    GA_TRY(socket_accept(listener->fd, &fd));
    tcp_options(fd);
    *out = (struct transport_conn){.ops = &transport_tcp, .fd = fd};
    return GA_OK;
}

/* A connection attempt: a host may have several addresses and not answer at the first (localhost
 * is often ::1 and 127.0.0.1). */
struct attempt {
    struct addrinfo *list;
    const struct addrinfo *next; /* the next address to try; NULL: none */
};

static void attempt_end(struct transport_conn *conn)
{
    struct attempt *attempt = conn->state;
    if (attempt != NULL) {
        freeaddrinfo(attempt->list);
        free(attempt);
        conn->state = NULL;
    }
}

/* Keeps the number of the connection's descriptor, if it has one: a caller may poll it. */
static void descriptor_put(struct transport_conn *conn, int fd)
{
    if (conn->fd < 0) {
        conn->fd = fd;
    } else {
        (void)dup3(fd, conn->fd, O_CLOEXEC);
        close(fd);
    }
}

/* Begins to connect to the next possible address. */
static enum ga_status attempt_next(struct transport_conn *conn, char *why, size_t why_size)
{
    struct attempt *attempt = conn->state;
    while (attempt->next != NULL) {
        const struct addrinfo *at = attempt->next;
        attempt->next = at->ai_next;
        int fd = tcp_socket(at);
        if (fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)) {
            tcp_options(fd);
            descriptor_put(conn, fd);
            return GA_OK;
        }
        snprintf(why, why_size, "%s%s", strerror(errno), tcp_cure(errno));
        if (fd >= 0) {
            close(fd);
        }
    }
    return GA_LOST;
}

static enum ga_status tcp_connect_begin(const struct transport_address *address,
                                        struct transport_conn *out, char *why, size_t why_size)
{
    struct addrinfo *list;
    if (strcmp(address->port, "0") == 0) {
        snprintf(why, why_size, "nobody listens on port 0: the port is 1 to 65535");
        return GA_INVALID;
    }
    GA_TRY(tcp_resolve(address, 0, &list, why, why_size));
    struct attempt *attempt = malloc(sizeof *attempt);
    if (attempt == NULL) {
        freeaddrinfo(list);
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    *attempt = (struct attempt){.list = list, .next = list};
    struct transport_conn conn = {.ops = &transport_tcp, .fd = -1, .state = attempt};
    enum ga_status status = attempt_next(&conn, why, why_size);
    if (status != GA_OK) {
        attempt_end(&conn);
        return status;
    }
    *out = conn;
    return GA_OK;
}

static enum ga_status tcp_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    if (error != 0) {
        snprintf(why, why_size, "%s%s", strerror(error), tcp_cure(error));
        bool more = conn->state != NULL && attempt_next(conn, why, why_size) == GA_OK;
        return more ? GA_AGAIN : GA_LOST;
    }
    struct sockaddr_storage peer;
    size = sizeof peer;
    if (getpeername(conn->fd, (struct sockaddr *)&peer, &size) != 0) {
        return GA_AGAIN;
    }
    attempt_end(conn);
    return GA_OK;
}

static enum ga_status tcp_send(struct transport_conn *conn, const struct iovec *pieces, int count,
                               size_t *sent)
{
    struct iovec few = pieces[0];
    if (GA_FAILPOINT("tcp: few bytes sent")) {
        few.iov_len = few.iov_len < FEW_BYTES ? few.iov_len : FEW_BYTES;
        pieces = &few;
        count = 1;
    }
    return socket_send(conn->fd, pieces, count, sent);
}

static enum ga_status tcp_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    if (GA_FAILPOINT("tcp: few bytes received") && size > FEW_BYTES) {
        size = FEW_BYTES;
    }
    return socket_receive(conn->fd, to, size, got);
}

static unsigned tcp_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
    return 1;
}

static unsigned tcp_descriptors(const struct transport_conn *conn, int *fds)
{
    fds[0] = conn->fd;
    return 1;
}

static enum ga_status tcp_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    /* Probes start after a third of the time and are sent every sixth of it, so the kernel
     * checks the limit when it is reached. TCP_USER_TIMEOUT decides how many may fail. */
    int idle_s = (int)(timeout_ms / 3000), interval_s = (int)(timeout_ms / 6000);
    idle_s = idle_s > 0 ? idle_s : 1;
    interval_s = interval_s > 0 ? interval_s : 1;
    if (setsockopt(conn->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms) != 0 ||
        setsockopt(conn->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s) != 0 ||
        setsockopt(conn->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s) != 0) {
        return GA_UNSUPPORTED;
    }
    return GA_OK;
}

static enum ga_status tcp_local_address(int fd, char *url, size_t size)
{
    struct sockaddr_storage local = {0};
    socklen_t length = sizeof local;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&local, &length) != 0 ||
        (local.ss_family != AF_INET && local.ss_family != AF_INET6) ||
        getnameinfo((struct sockaddr *)&local, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return GA_LOST;
    }
    const char *form = local.ss_family == AF_INET6 ? "tcp://[%s]:%s" : "tcp://%s:%s";
    int written = snprintf(url, size, form, host, port);
    return written > 0 && (size_t)written < size ? GA_OK : GA_INVALID;
}

static void tcp_close_listener(struct transport_listener *listener)
{
    close(listener->fd);
    listener->fd = -1;
}

static void tcp_close(struct transport_conn *conn)
{
    attempt_end(conn);
    close(conn->fd);
    conn->fd = -1;
}

const struct transport_ops transport_tcp = {
    .scheme = "tcp",
    .listen = tcp_listen,
    .accept = tcp_accept,
    .connect_begin = tcp_connect_begin,
    .connect_end = tcp_connect_end,
    .send = tcp_send,
    .receive = tcp_receive,
    .poll_prepare = tcp_poll_prepare,
    .descriptors = tcp_descriptors,
    .set_dead_after = tcp_set_dead_after,
    .local_address = tcp_local_address,
    .close_listener = tcp_close_listener,
    .close = tcp_close,
};
