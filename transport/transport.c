/* SPDX-License-Identifier: Apache-2.0 */
/* The list of transports, and the parser of addresses. */
#include "transport/transport.h"

#include <linux/tcp.h> /* struct tcp_info in full */
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "transport/fault/fault.h"
#if GPUAAS_RDMA
#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_verbs.h"
#endif
#include "transport/shm/shm.h"
#include "transport/socket.h"
#include "transport/tcp.h"
#include "transport/tls/tls.h"

const struct transport_ops *const transport_all[] = {
    &transport_tcp,   &transport_tls, &transport_shm,
#if GPUAAS_RDMA
    &transport_rdma,
#endif
#if GPUAAS_FAULT
    &transport_fault,
#endif
};
const size_t transport_count = sizeof transport_all / sizeof *transport_all;

static const struct transport_ops *transport_find(const char *scheme, size_t length)
{
    for (size_t i = 0; i < transport_count; i++) {
        const char *name = transport_all[i]->scheme;
        if (strlen(name) == length && strncmp(name, scheme, length) == 0) {
            return transport_all[i];
        }
    }
    return NULL;
}

static bool port_is_valid(const char *text, size_t length)
{
    unsigned value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    return length >= 1 && length <= 5 && value <= 65535;
}

static enum ga_status address_error(const char *text, const char *what, char *why, size_t why_size)
{
    /* A long address is cut, so that the reason stays visible. */
    snprintf(why, why_size,
             "\"%.80s\": %s (allowed: host, host:port, tcp://host:port, tls://host:port, "
             "rdma://host:port, [v6]:port, shm:, shm:name)",
             text, what);
    return GA_INVALID;
}

/* "shm:", "shm:name": the default port's name, or the given name. */
static enum ga_status shm_parse(const char *text, const char *default_port,
                                struct transport_address *out, char *why, size_t why_size)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
    const char *name = text[4] != 0 ? text + 4 : default_port;
    struct transport_address address = {.ops = &transport_shm};
    size_t length = strlen(name);
    if (length > SHM_NAME_MAX || strspn(name, allowed) != length) {
        return address_error(text,
                             "the name has other characters than letters, digits, -, _ and "
                             "., or is too long",
                             why, why_size);
    }
    memcpy(address.host, name, length + 1);
    *out = address;
    return GA_OK;
}

static enum ga_status plain_parse(const char *text, const char *default_port,
                                  struct transport_address *out, char *why, size_t why_size)
{
    if (strncmp(text, "shm:", 4) == 0) {
        return shm_parse(text, default_port, out, why, why_size);
    }
    struct transport_address address = {.ops = transport_all[0]};
    const char *host = text;
    const char *scheme_end = strstr(text, "://");
    if (scheme_end != NULL) {
        address.ops = transport_find(text, (size_t)(scheme_end - text));
        if (address.ops == NULL && strncmp(text, "rdma://", 7) == 0) {
            return address_error(text, "this gpuaas is built without RDMA", why, why_size);
        }
        if (address.ops == NULL) {
            return address_error(text, "this transport is not known", why, why_size);
        }
        host = scheme_end + 3;
    }
    const char *host_end, *port = NULL;
    if (*host == '[') {
        host++;
        host_end = strchr(host, ']');
        if (host_end == NULL || (host_end[1] != 0 && host_end[1] != ':')) {
            return address_error(text, "']' is missing or misplaced", why, why_size);
        }
        port = host_end[1] == ':' ? host_end + 2 : NULL;
    } else {
        host_end = strchr(host, ':');
        port = host_end != NULL ? host_end + 1 : NULL;
        host_end = host_end != NULL ? host_end : host + strlen(host);
    }
    size_t length = (size_t)(host_end - host);
    if (strpbrk(text, " \t") != NULL) {
        return address_error(text, "a space is in it; several are separated by commas", why,
                             why_size);
    }
    if (length == 0 || length >= sizeof address.host) {
        return address_error(text, "the host is missing or too long", why, why_size);
    }
    port = port != NULL ? port : default_port;
    if (!port_is_valid(port, strlen(port))) {
        return address_error(text, "the port is not 0 to 65535", why, why_size);
    }
    memcpy(address.host, host, length);
    memcpy(address.port, port, strlen(port) + 1);
    *out = address;
    return GA_OK;
}

#if GPUAAS_FAULT
/* Reads "fault+" in front and "?options" behind, or the options of the environment. */
static enum ga_status fault_parse(const char *text, const char *default_port,
                                  struct transport_address *out, char *why, size_t why_size)
{
    char plain[512];
    const char *options = getenv(FAULT_VARIABLE);
    if (strncmp(text, "fault+", 6) == 0) {
        text += 6;
        size_t length = strcspn(text, "?");
        if (length >= sizeof plain) {
            return address_error(text, "it is too long", why, why_size);
        }
        options = text[length] == '?' ? text + length + 1 : "";
        memcpy(plain, text, length);
        plain[length] = 0;
        text = plain;
    }
    GA_TRY(plain_parse(text, default_port, out, why, why_size));
    return options != NULL ? transport_fault_wrap(out, options, why, why_size) : GA_OK;
}
#endif

enum ga_status transport_address_parse(const char *text, const char *default_port,
                                       struct transport_address *out, char *why, size_t why_size)
{
#if GPUAAS_FAULT
    return fault_parse(text, default_port, out, why, why_size);
#else
    return plain_parse(text, default_port, out, why, why_size);
#endif
}

bool transport_is_useful(const char *scheme)
{
#if GPUAAS_RDMA
    return strcmp(scheme, "rdma") == 0 && rdma_card_exists();
#else
    (void)scheme;
    return false;
#endif
}

void transport_prepare(const char *scheme)
{
    for (size_t i = 0; i < transport_count; i++) {
        if (strcmp(transport_all[i]->scheme, scheme) == 0 && transport_all[i]->prepare != NULL) {
            transport_all[i]->prepare();
        }
    }
}

bool transport_address_is(const struct transport_address *address, const char *scheme)
{
    const struct transport_ops *ops = address->inner != NULL ? address->inner : address->ops;
    return strcmp(ops->scheme, scheme) == 0;
}

int transport_error(const struct transport_conn *conn)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : 0;
}

const char *transport_error_text(const struct transport_conn *conn)
{
    return conn->ops->error_text != NULL ? conn->ops->error_text(conn) : NULL;
}

struct transport_conn transport_of_socket(int fd)
{
    return (struct transport_conn){.ops = &transport_tcp, .fd = fd};
}

bool transport_is_here(const struct transport_conn *conn)
{
    bool here;
    return socket_is_here(conn->fd, &here) == GA_OK && here;
}

bool transport_is_taken(const struct transport_conn *conn)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return getpeername(conn->fd, (struct sockaddr *)&peer, &size) == 0;
}

uint64_t transport_round_trip_ns(const struct transport_conn *conn)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return 0;
    }
    return info.tcpi_min_rtt == UINT32_MAX ? 1 : info.tcpi_min_rtt * GA_NS_PER_US;
}

void transport_peer(const struct transport_conn *conn, char text[TRANSPORT_PEER_BYTES])
{
    struct sockaddr_storage end = {0};
    socklen_t size = sizeof end;
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE], port[8];
    text[0] = 0;
    if (getpeername(conn->fd, (struct sockaddr *)&end, &size) == 0 &&
        (end.ss_family == AF_INET || end.ss_family == AF_INET6) &&
        getnameinfo((struct sockaddr *)&end, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        snprintf(text, TRANSPORT_PEER_BYTES, end.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                 port);
    }
}

void transport_source(const struct transport_conn *conn, uint8_t source[TRANSPORT_SOURCE_BYTES])
{
    static const uint8_t user[12] = "\xff\xff user"; /* no address of a peer begins like this */
    struct in6_addr here, there;
    struct ucred peer;
    socklen_t size = sizeof peer;
    memset(source, 0, TRANSPORT_SOURCE_BYTES);
    enum ga_status status = socket_ends(conn->fd, &here, &there);
    if (status == GA_OK) {
        memcpy(source, there.s6_addr, IN6_IS_ADDR_V4MAPPED(&there) ? 16 : 8);
    } else if (status == GA_UNSUPPORTED &&
               getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
        memcpy(source, user, sizeof user);
        memcpy(source + sizeof user, &peer.uid, sizeof peer.uid);
    }
}

bool transport_is_begun(const struct transport_conn *conn)
{
    return conn->ops->begun != NULL && conn->ops->begun(conn);
}

struct transport_identity transport_identify(const struct transport_conn *conn)
{
    struct transport_identity identity = {.proof = TRANSPORT_PROVES_NOTHING};
    if (conn->ops->identify == NULL || !conn->ops->identify(conn, &identity)) {
        return (struct transport_identity){.proof = TRANSPORT_PROVES_NOTHING};
    }
    return identity;
}

enum ga_status transport_connected(struct transport_conn *conn, int timeout_ms, char *why,
                                   size_t why_size)
{
    uint64_t deadline_ns = ga_clock_ns() + (uint64_t)timeout_ms * GA_NS_PER_MS;
    enum ga_status status;
    while ((status = conn->ops->connect_end(conn, why, why_size)) == GA_AGAIN) {
        uint64_t now_ns = ga_clock_ns();
        if (now_ns >= deadline_ns) {
            snprintf(why, why_size, "no answer within %d ms", timeout_ms);
            return GA_TIMEOUT;
        }
        struct pollfd at[TRANSPORT_POLL_MAX];
        unsigned count = conn->ops->poll_prepare(conn, POLLOUT, at);
        (void)poll(at, count, (int)((deadline_ns - now_ns) / GA_NS_PER_MS) + 1);
    }
    return status;
}

enum ga_status transport_connect(const struct transport_address *address, int timeout_ms,
                                 struct transport_conn *out, char *why, size_t why_size)
{
    struct transport_conn conn;
    GA_TRY(address->ops->connect_begin(address, &conn, why, why_size));
    enum ga_status status = transport_connected(&conn, timeout_ms, why, why_size);
    if (status != GA_OK) {
        address->ops->close(&conn);
        return status;
    }
    *out = conn;
    return GA_OK;
}
