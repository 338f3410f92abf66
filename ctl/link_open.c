/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting: by the admin socket, or by tls:// and a greeting (api/wire.h, WIRE_ADMIN). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/handshake.h"
#include "api/wire.h"
#include "base/clock.h"
#include "ctl/link.h"

#define AGAIN_MS  20
#define STARTS_NS (1500 * GA_NS_PER_MS) /* gpuaasd has its socket much sooner */

/* Where --server leads. */
static const char *server_of(const struct ctl_line *line)
{
    const char *url = line->options[OPTION_SERVER], *set = getenv("GPUAAS_ADMIN_SERVER");
    return url != NULL ? url : set != NULL && set[0] != 0 ? set : "unix:" ADMIN_SOCKET;
}

bool ctl_is_remote(const struct ctl_line *line)
{
    return strncmp(server_of(line), "tls://", 6) == 0;
}

bool ctl_socket_is_there(const struct ctl_line *line)
{
    const char *url = server_of(line);
    return strncmp(url, "unix:", 5) != 0 || access(url + 5, F_OK) == 0;
}

/* ---- the admin socket */

static enum admin_code link_path_of(const char *url, const char **path, char *why, size_t why_size)
{
    if (strncmp(url, "unix:/", 6) != 0) {
        snprintf(why, why_size,
                 "--server %s: it is unix: and an absolute path, as in unix:%s, or "
                 "tls://HOST[:PORT]",
                 url, ADMIN_SOCKET);
        return ADMIN_USAGE;
    }
    *path = url + 5;
    if (strlen(*path) > ADMIN_SOCKET_MAX) {
        snprintf(why, why_size, "--server %s: a path of a socket has at most %u characters", url,
                 ADMIN_SOCKET_MAX);
        return ADMIN_USAGE;
    }
    return ADMIN_OK;
}

static enum admin_code not_connected(const char *path, int error, char *why, size_t why_size)
{
    switch (error) {
    case ENOENT:
        snprintf(why, why_size,
                 "there is no %s: is gpuaasd started, and does its configuration have this "
                 "admin_socket?",
                 path);
        return ADMIN_UNREACHABLE;
    case ECONNREFUSED:
        snprintf(why, why_size, "nobody listens at %s: is gpuaasd started?", path);
        return ADMIN_UNREACHABLE;
    case EAGAIN:
        snprintf(why, why_size, "%s: too many others wait there, or gpuaasd stands still", path);
        return ADMIN_UNREACHABLE;
    case EACCES:
    case EPERM:
        snprintf(why, why_size,
                 "you may not use %s: root, the user of gpuaasd and the members of its admin_group "
                 "may",
                 path);
        return ADMIN_DENIED;
    default:
        snprintf(why, why_size, "%s: %s", path, strerror(error));
        return ADMIN_UNREACHABLE;
    }
}

/* Until when it is tried again after this error. */
static uint64_t again_until(int error, uint64_t began_ns, uint64_t deadline_ns)
{
    bool starting = error == ENOENT || error == ECONNREFUSED; /* gpuaasd, perhaps, a moment ago */
    uint64_t until_ns = starting          ? began_ns + STARTS_NS
                        : error == EAGAIN ? deadline_ns /* as many as may wait there do so */
                                          : 0;
    return until_ns < deadline_ns ? until_ns : deadline_ns;
}

static enum admin_code socket_open(const char *url, uint64_t deadline_ns,
                                   struct transport_conn *out, char *why, size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path;
    enum admin_code code = link_path_of(url, &path, why, why_size);
    if (code != ADMIN_OK) {
        return code;
    }
    const uint64_t began_ns = ga_clock_ns();
    memcpy(address.sun_path, path, strnlen(path, sizeof address.sun_path - 1));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
    while (failed != 0 && fd >= 0 && ga_clock_ns() < again_until(errno, began_ns, deadline_ns)) {
        (void)poll(NULL, 0, AGAIN_MS);
        failed = connect(fd, (struct sockaddr *)&address, sizeof address);
    }
    if (failed != 0) {
        code = not_connected(path, errno, why, why_size);
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    *out = transport_of_socket(fd);
    return ADMIN_OK;
}

/* ---- tls:// */

static const char *file_named(const char *variable)
{
    const char *path = getenv(variable);
    return path != NULL && path[0] != 0 ? path : NULL;
}

static enum ga_status bytes_wait(struct transport_conn *conn, short wanted, uint64_t deadline_ns)
{
    struct pollfd at[TRANSPORT_POLL_MAX];
    unsigned count = conn->ops->poll_prepare(conn, wanted, at);
    uint64_t now = ga_clock_ns();
    if (now >= deadline_ns) {
        return GA_TIMEOUT;
    }
    if (count != 0) {
        (void)poll(at, count, (int)((deadline_ns - now) / GA_NS_PER_MS) + 1);
    }
    return GA_OK;
}

/* Sends WIRE_ADMIN: the values of a program's greeting, which names neither program nor token. */
static enum ga_status greeting_send(struct transport_conn *conn, uint64_t deadline_ns)
{
    _Alignas(16) uint8_t frame[sizeof(struct wire_header) + 512];
    struct ga_writer writer = ga_writer_of(frame + sizeof(struct wire_header), 512);
    const struct handshake_hello hello = {.magic = WIRE_MAGIC,
                                          .major = WIRE_MAJOR,
                                          .minor = WIRE_MINOR,
                                          .pid = (uint32_t)getpid(),
                                          .build = GPUAAS_VERSION,
                                          .program = "gpuaasctl"};
    handshake_hello_write(&writer, &hello);
    ga_writer_finish(&writer);
    const struct wire_header header = {.length = (uint32_t)writer.at, .opcode = WIRE_ADMIN};
    memcpy(frame, &header, sizeof header);
    size_t size = sizeof header + writer.at, done = 0;
    while (done < size) {
        struct iovec piece = {frame + done, size - done};
        size_t sent;
        enum ga_status status = conn->ops->send(conn, &piece, 1, &sent);
        if (status == GA_OK) {
            done += sent;
        } else if (status != GA_AGAIN) {
            return status;
        } else {
            GA_TRY(bytes_wait(conn, POLLOUT, deadline_ns));
        }
    }
    return GA_OK;
}

static enum ga_status answer_wait(struct transport_conn *conn, struct frame_reader *reader,
                                  uint64_t deadline_ns, struct wire_header *header,
                                  const uint8_t **values)
{
    for (;;) {
        enum ga_status status = frame_next(reader, header, values);
        if (status != GA_AGAIN) {
            return status;
        }
        status = frame_fill(reader, conn);
        if (status == GA_AGAIN) {
            status = bytes_wait(conn, POLLIN, deadline_ns);
        }
        if (status != GA_OK) {
            return status;
        }
    }
}

/* Why there was no good answer. The other end has spoken TLS, so what is wrong is a certificate, or
 * a gpuaasd that is none. */
static enum admin_code greeting_failed(const struct transport_conn *conn, enum ga_status status,
                                       char *why, size_t why_size)
{
    const char *text = transport_error_text(conn);
    if (status == GA_TIMEOUT) {
        snprintf(why, why_size, "gpuaasd has not answered in time; --timeout SECONDS waits longer");
        return ADMIN_TIMEOUT;
    }
    if (status == GA_LOST && text != NULL) {
        snprintf(why, why_size, "%s", text);
        return ADMIN_DENIED;
    }
    snprintf(why, why_size, "%s",
             status == GA_LOST ? "it closes the connection when it is greeted: is it a gpuaasd of "
                                 "this release? Its log says why"
                               : "its answer makes no sense: is it another program?");
    return ADMIN_UNREACHABLE;
}

/* A gpuaasd that has too many admins says so at once. */
static enum admin_code link_keep_rest(struct frame_reader *reader, char *why, size_t why_size)
{
    frame_drop(reader);
    if (!ctl_link_keep(reader->buffer + reader->start, reader->end - reader->start)) {
        snprintf(why, why_size, "no memory");
        return ADMIN_ERROR;
    }
    return ADMIN_OK;
}

static enum admin_code link_greet(struct transport_conn *conn, uint64_t deadline_ns, char *why,
                                  size_t why_size)
{
    struct frame_reader reader;
    struct wire_header header = {0};
    const uint8_t *values = NULL;
    struct handshake_refused refused;
    if (frame_reader_init(&reader, 8192) != GA_OK) {
        snprintf(why, why_size, "no memory");
        return ADMIN_ERROR;
    }
    enum ga_status status = greeting_send(conn, deadline_ns);
    if (status == GA_OK || status == GA_LOST) { /* it may have said why before it closed */
        status = answer_wait(conn, &reader, deadline_ns, &header, &values);
    }
    enum admin_code code = ADMIN_OK;
    struct ga_reader in = ga_reader_of(values, status == GA_OK ? header.length : 0);
    if (status != GA_OK) {
        code = greeting_failed(conn, status, why, why_size);
    } else if (header.opcode == WIRE_REFUSED && handshake_refused_read(&in, &refused) == GA_OK) {
        snprintf(why, why_size, "%s", refused.reason);
        code = ADMIN_DENIED;
    } else if (header.opcode != WIRE_ADMIN) {
        code = greeting_failed(conn, GA_INVALID, why, why_size);
    } else {
        code = link_keep_rest(&reader, why, why_size);
    }
    frame_reader_fini(&reader);
    return code;
}

/* The reason with the server in front. */
static enum admin_code server_wrong(const char *url, const char *reason, enum admin_code code,
                                    char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: %s", url, reason);
    return code;
}

static enum admin_code network_open(const char *url, unsigned timeout_ms,
                                    struct transport_conn *out, char *why, size_t why_size)
{
    const struct transport_secret secret = {.cert = file_named("GPUAAS_CERT"),
                                            .key = file_named("GPUAAS_KEY"),
                                            .ca = file_named("GPUAAS_CA")};
    struct transport_address address;
    char reason[700] = "";
    uint64_t deadline_ns = ga_clock_ns() + timeout_ms * GA_NS_PER_MS;
    if (transport_address_parse(url, WIRE_DEFAULT_PORT, &address, reason, sizeof reason) != GA_OK) {
        return server_wrong("--server", reason, ADMIN_USAGE, why, why_size);
    }
    if (secret.cert == NULL || secret.key == NULL) {
        return server_wrong(url,
                            "administrators show a certificate (gpuaasctl cert issue-admin): name "
                            "its files in GPUAAS_CERT and GPUAAS_KEY",
                            ADMIN_USAGE, why, why_size);
    }
    address.secret = &secret;
    enum ga_status status = address.ops->connect_begin(&address, out, reason, sizeof reason);
    if (status != GA_OK) { /* one of our files, or a name that nobody knows */
        return server_wrong(url, reason, status == GA_INVALID ? ADMIN_USAGE : ADMIN_UNREACHABLE,
                            why, why_size);
    }
    status = transport_connected(out, (int)timeout_ms, reason, sizeof reason);
    enum admin_code code = status == GA_OK        ? ADMIN_OK
                           : status == GA_TIMEOUT ? ADMIN_TIMEOUT
                                                  : ADMIN_UNREACHABLE;
    if (code == ADMIN_OK) {
        code = link_greet(out, deadline_ns, reason, sizeof reason);
    }
    if (code != ADMIN_OK) {
        out->ops->close(out);
        return server_wrong(url, reason, code, why, why_size);
    }
    return ADMIN_OK;
}

enum admin_code ctl_link_open(const struct ctl_line *line, unsigned timeout_ms,
                              struct transport_conn *out, char *why, size_t why_size)
{
    const char *url = server_of(line);
    if (ctl_is_remote(line)) {
        return network_open(url, timeout_ms, out, why, why_size);
    }
    return socket_open(url, ga_clock_ns() + timeout_ms * GA_NS_PER_MS, out, why, why_size);
}
