/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring over HTTP. Its connections are counted in a table of pending ones, from their first to
 * their last moment: when there are too many, that goes which the table says (server/pending.h),
 * and whoever asks something whole is answered beside any number that do not. */
#include "server/monitoring/http.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/clients/accept_pause.h"
#include "server/monitoring/metrics.h"
#include "server/monitoring/monitoring.h"
#include "server/pending.h"

#define LIBRARY     "libmicrohttpd.so.12"
#define HTTP_ACCEPT 16u /* that are accepted at once: those before them have had a turn */
/* The library's own limit: one that has to go is still there until the library has noticed. */
#define HTTP_LIMIT     (2 * HTTP_CONNECTIONS)
#define HTTP_TIMEOUT_S 5u     /* without a byte either way */
#define HTTP_MEMORY    16384u /* of a connection: requests are short */

#define CALLS(X)                                                                                   \
    X(MHD_start_daemon)                                                                            \
    X(MHD_stop_daemon)                                                                             \
    X(MHD_get_daemon_info)                                                                         \
    X(MHD_get_connection_info)                                                                     \
    X(MHD_run)                                                                                     \
    X(MHD_add_connection)                                                                          \
    X(MHD_get_timeout)                                                                             \
    X(MHD_create_response_from_buffer)                                                             \
    X(MHD_add_response_header)                                                                     \
    X(MHD_queue_response)                                                                          \
    X(MHD_destroy_response)                                                                        \
    X(MHD_lookup_connection_value_n)

struct http_calls {
#define CALL(name) __typeof__(&name) name;
    CALLS(CALL)
#undef CALL
};

static struct http {
    struct http_calls calls;
    void *library;
    struct MHD_Daemon *daemon;
    struct monitoring *monitoring;
    struct transport_listener listener;
    struct pending_table conns;
    uv_poll_t listened, poll;
    struct accept_pause pause;
    char url[320];
    struct server_timer timer;
} http;

struct http_conn {
    struct pending_entry entry; /* "heard": it has asked something whole */
    int fd;                     /* the library's */
};

static bool http_library_open(void)
{
    http.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool all = http.library != NULL;
#define CALL(name)                                                                                 \
    if (all) {                                                                                     \
        *(void **)&http.calls.name = dlsym(http.library, #name);                                   \
        all = http.calls.name != NULL;                                                             \
    }
    CALLS(CALL)
#undef CALL
    if (!all) {
        ga_error("[server] http: it needs libmicrohttpd: %s", dlerror());
    }
    return all;
}

/* ---- connections */

/* The library closes it when it sees that. */
static void http_conn_end(struct http_conn *conn)
{
    pending_table_remove(&http.conns, &conn->entry);
    (void)shutdown(conn->fd, SHUT_RDWR);
}

/* NULL: no memory; it is not counted. */
static struct http_conn *http_conn_begin(int fd)
{
    const struct transport_conn transport = transport_of_socket(fd);
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    struct http_conn *conn = calloc(1, sizeof *conn);
    transport_source(&transport, source);
    if (conn == NULL || pending_table_add(&http.conns, &conn->entry, source,
                                          timers_now(http.monitoring->timers)) != GA_OK) {
        free(conn);
        return NULL;
    }
    conn->fd = fd;
    if (pending_table_is_over(&http.conns)) {
        http_conn_end(ga_container(pending_table_victim(&http.conns), struct http_conn, entry));
    }
    return conn;
}

static void http_conn_told(void *user, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code)
{
    (void)user;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            http.calls.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info != NULL ? http_conn_begin(info->connect_fd) : NULL;
    } else if (*context != NULL) {
        struct http_conn *conn = *context;
        pending_table_remove(&http.conns, &conn->entry);
        free(conn);
    }
}

static void http_conn_heard(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        http.calls.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_conn *conn = info != NULL ? info->socket_context : NULL;
    if (conn != NULL && conn->entry.source != NULL) {
        pending_entry_heard(&conn->entry);
    }
}

/* ---- answers */

static enum MHD_Result answer_give(struct MHD_Connection *connection, unsigned status, char *text,
                                   size_t size, const char *type)
{
    struct MHD_Response *response =
        http.calls.MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text);
        return MHD_NO;
    }
    (void)http.calls.MHD_add_response_header(response, "Content-Type", type);
    (void)http.calls.MHD_add_response_header(response, "Cache-Control", "no-store");
    /* A client that asks a hundred times at once is answered once, and others have their turn. */
    (void)http.calls.MHD_add_response_header(response, "Connection", "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        (void)http.calls.MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    enum MHD_Result result = http.calls.MHD_queue_response(connection, status, response);
    http.calls.MHD_destroy_response(response);
    return result;
}

/* The status; the text goes to `out`. */
static unsigned answer_write(struct MHD_Connection *connection, const char *path, FILE *out)
{
    char *lines = NULL;
    size_t size = 0;
    if (strcmp(path, "/livez") == 0) {
        fputs("ok\n", out);
        return MHD_HTTP_OK;
    }
    if (strcmp(path, "/metrics") == 0) {
        metrics_write(http.monitoring, out);
        return MHD_HTTP_OK;
    }
    if (strcmp(path, "/readyz") != 0) {
        fputs("there is /livez, /readyz, /readyz?verbose and /metrics\n", out);
        return MHD_HTTP_NOT_FOUND;
    }
    FILE *conditions = open_memstream(&lines, &size);
    bool ready = conditions != NULL && metrics_ready(http.monitoring, conditions);
    const char *value;
    size_t value_size;
    bool all =
        http.calls.MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, "verbose",
                                                 strlen("verbose"), &value, &value_size) == MHD_YES;
    if (conditions != NULL && fclose(conditions) == 0) {
        fputs(ready && !all ? "ok\n" : lines, out);
    }
    free(lines);
    return ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static enum MHD_Result http_answer(void *user, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *body,
                                   size_t *body_size, void **state)
{
    static int begun;
    char *text = NULL;
    size_t size = 0;
    (void)user, (void)version, (void)body;
    bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    http_conn_heard(connection);
    if (*state == NULL) { /* the header alone: whoever brings a body is answered after it */
        *state = &begun;
        return MHD_YES;
    }
    if (*body_size != 0) {
        *body_size = 0;
        return MHD_YES;
    }
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return MHD_NO;
    }
    unsigned status = reads ? answer_write(connection, path, out) : MHD_HTTP_METHOD_NOT_ALLOWED;
    if (fclose(out) != 0) {
        free(text);
        return MHD_NO;
    }
    return answer_give(connection, status, text, size,
                       strcmp(path, "/metrics") == 0 ? "text/plain; version=0.0.4; charset=utf-8"
                                                     : "text/plain; charset=utf-8");
}

/* ---- turns */

static void http_turn(void);

static void http_due(struct server_timer *timer)
{
    (void)timer;
    http_turn();
}

static void http_ready(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events;
    http_turn();
}

static void http_turn(void)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    (void)http.calls.MHD_run(http.daemon);
    if (http.calls.MHD_get_timeout(http.daemon, &wait_ms) == MHD_YES) {
        timers_start(http.monitoring->timers, &http.timer, http_due, wait_ms, 0);
    } else {
        timers_stop(http.monitoring->timers, &http.timer);
    }
}

/* We accept, because the library would miss those who wait when it has enough for a moment. */
static void http_accept(uv_poll_t *poll, int polled, int events)
{
    struct transport_conn conn;
    struct sockaddr_storage peer;
    (void)poll, (void)polled, (void)events;
    for (unsigned i = 0; i < HTTP_ACCEPT; i++) {
        socklen_t size = sizeof peer;
        enum ga_status status = http.listener.ops->accept(&http.listener, &conn);
        if (status == GA_AGAIN) {
            accept_pause_over(&http.pause);
            break;
        }
        if (status != GA_OK) {
            accept_pause_begin(&http.pause, http.url);
            break;
        }
        if (getpeername(conn.fd, (struct sockaddr *)&peer, &size) != 0) {
            conn.ops->close(&conn);
        } else {
            (void)http.calls.MHD_add_connection(http.daemon, conn.fd, (struct sockaddr *)&peer,
                                                size);
        }
    }
    http_turn();
}

/* ---- life */

static enum ga_status http_listen(const char *text)
{
    struct transport_address address;
    char why[300];
    enum ga_status status = transport_address_parse(text, HTTP_PORT, &address, why, sizeof why);
    if (status == GA_OK) {
        status = address.ops->listen(&address, &http.listener, why, sizeof why);
    }
    if (status != GA_OK) {
        ga_error("[server] http = %s: %s", text, why);
        return status;
    }
    GA_TRY(address.ops->local_address(http.listener.fd, http.url, sizeof http.url));
    ga_info_each(NULL, "monitoring at http%s: /livez, /readyz, /metrics", http.url + strlen("tcp"));
    return GA_OK;
}

enum ga_status http_start(struct monitoring *monitoring)
{
    const char *text = monitoring->conf->server.http;
    if (text[0] == 0) {
        return GA_OK;
    }
    if (!http_library_open()) {
        return GA_INVALID;
    }
    GA_TRY(http_listen(text));
    http.monitoring = monitoring;
    GA_TRY(pending_table_init(&http.conns, HTTP_CONNECTIONS));
    http.daemon = http.calls.MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, http_answer, NULL,
        MHD_OPTION_CONNECTION_LIMIT, HTTP_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_TIMEOUT_S,
        MHD_OPTION_NOTIFY_CONNECTION, http_conn_told, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_MEMORY, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        http.daemon != NULL ? http.calls.MHD_get_daemon_info(http.daemon, MHD_DAEMON_INFO_EPOLL_FD)
                            : NULL;
    if (info == NULL) {
        ga_error("[server] http: libmicrohttpd does not start");
        return GA_NO_MEMORY;
    }
    if (uv_poll_init(monitoring->loop, &http.poll, info->epoll_fd) != 0 ||
        uv_poll_init(monitoring->loop, &http.listened, http.listener.fd) != 0) {
        ga_error("[server] http: no room in the event loop");
        http.calls.MHD_stop_daemon(http.daemon);
        http.daemon = NULL;
        return GA_NO_MEMORY;
    }
    accept_pause_init(&http.pause, monitoring->clients, &http.listened, http_accept);
    (void)uv_poll_start(&http.poll, UV_READABLE, http_ready);
    (void)uv_poll_start(&http.listened, UV_READABLE, http_accept);
    uv_unref((uv_handle_t *)&http.poll);
    uv_unref((uv_handle_t *)&http.listened);
    return GA_OK;
}

void http_stop(void)
{
    if (http.daemon != NULL) {
        uv_close((uv_handle_t *)&http.poll, NULL);
        uv_close((uv_handle_t *)&http.listened, NULL);
        timers_stop(http.monitoring->timers, &http.timer);
        accept_pause_fini(&http.pause);
        http.listener.ops->close_listener(&http.listener);
        http.calls.MHD_stop_daemon(http.daemon);
        pending_table_fini(&http.conns);
        http.daemon = NULL;
    }
}
