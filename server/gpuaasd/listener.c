/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets of gpuaasd for clients. */
#include "server/gpuaasd/listener.h"

#include <stdio.h>
#include <sys/resource.h>

#include "api/wire.h"
#include "base/log.h"
#include "server/clients/client_limits.h"
#include "server/gpuaasd/check.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/http.h"
#include "server/processes/images.h"
#include "server/turns/scheduling.h"

#define ACCEPT_BATCH 64 /* connections taken per turn of the loop, of each listener */
/* For each client its connection, and what leads to its backend process, with the bell for turns on
 * the GPUs where there are any; and some for ourselves. */
#define DESCRIPTORS_OF_A_CLIENT 2u
#define DESCRIPTORS_OF_OURS     (96u + HTTP_CONNECTIONS)
#define PENDING_MIN             16u
#define IMAGES_FEW              8u /* that are kept where there are few descriptors */

/* Raises RLIMIT_NOFILE only as far as needed: code that iterates over all possible descriptors
 * would become slow. Where that is not enough, there are fewer pending connections. */
void listener_descriptors(struct gpuaasd *gpuaasd)
{
    const struct conf_server *server = &gpuaasd->conf->server;
    rlim_t images = server->backend.image_store != 0 ? IMAGES_MAX : 0;
    rlim_t ours = DESCRIPTORS_OF_OURS + images;
    rlim_t each = DESCRIPTORS_OF_A_CLIENT + (scheduling_is_wanted(gpuaasd->conf) ? 1 : 0);
    rlim_t needed = (rlim_t)server->clients * each + ours;
    rlim_t wanted = needed + server->backend.pending_connections;
    struct rlimit limit;
    gpuaasd->pending_most = server->backend.pending_connections;
    gpuaasd->images_most = IMAGES_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return;
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        limit.rlim_cur = before;
    }
    if (limit.rlim_cur < needed && images != 0) { /* clients go before images */
        gpuaasd->images_most = IMAGES_FEW;
        needed -= images - IMAGES_FEW;
        ours -= images - IMAGES_FEW;
    }
    if (limit.rlim_cur < needed) {
        ours = limit.rlim_cur < ours ? limit.rlim_cur : ours;
        ga_warn("%llu descriptors are allowed here, enough for %llu clients: [server] clients = %u "
                "(raise the limit: ulimit -Hn, or LimitNOFILE of its service)",
                (unsigned long long)limit.rlim_cur,
                (unsigned long long)((limit.rlim_cur - ours) / each), server->clients);
    }
    rlim_t left = limit.rlim_cur > needed ? limit.rlim_cur - needed : 0;
    if (left < gpuaasd->pending_most) {
        unsigned most = left > PENDING_MIN ? (unsigned)left : PENDING_MIN;
        gpuaasd->pending_most = most < gpuaasd->pending_most ? most : gpuaasd->pending_most;
    }
}

static const char *given(const char *text)
{
    return text[0] != 0 ? text : NULL;
}

/* Tickets pass there as they are, and whoever reads one may use it. */
static void plain_note(const char *url, const struct transport_address *address)
{
    if (check_is_here(address)) {
        ga_info_each(NULL, "%s is not encrypted: it is for programs on this machine", url);
    } else {
        ga_log_write(NULL, GA_LOG_WARN, NULL,
                     "%s is not encrypted: whoever reads the network reads all data, and can use "
                     "GPUs in the name of others; tls:// prevents that",
                     url);
    }
}

static struct transport_secret secret_of(const struct conf_server *server)
{
    return (struct transport_secret){.cert = given(server->tls_cert),
                                     .key = given(server->tls_key),
                                     .ca = given(server->tls_client_ca),
                                     .optional = server->auth};
}

/* All have the same files: if those of the first are good, so are those of the others. */
enum ga_status listeners_renew(struct gpuaasd *gpuaasd, const struct conf_server *fresh, char *why,
                               size_t why_size)
{
    const struct transport_secret secret = secret_of(fresh);
    for (unsigned i = 0; i < gpuaasd->listener_count; i++) {
        struct transport_listener *listener = &gpuaasd->listeners[i].listener;
        if (listener->ops->renew != NULL) {
            GA_TRY(listener->ops->renew(listener, &secret, why, why_size));
        }
    }
    certificates_loaded(&gpuaasd->access.certificates, fresh,
                        timers_wall_s(&gpuaasd->timers.timers));
    return GA_OK;
}

/* Accepting waits for the end of the loop's turn: clients that are served already go first. */
static void listener_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)status;
    (void)events;
    listener->waiting = true;
}

enum ga_status listeners_open(struct gpuaasd *gpuaasd)
{
    const struct conf_server *server = &gpuaasd->conf->server;
    gpuaasd->secret = secret_of(server);
    for (unsigned i = 0; i < gpuaasd->conf->server.listen_count; i++) {
        struct listener *listener = &gpuaasd->listeners[i];
        struct transport_address address;
        char why[600];
        enum ga_status status = transport_address_parse(
            gpuaasd->conf->server.listen[i].url, WIRE_DEFAULT_PORT, &address, why, sizeof why);
        if (status == GA_OK) {
            address.secret = &gpuaasd->secret;
            status = address.ops->listen(&address, &listener->listener, why, sizeof why);
        }
        if (status != GA_OK) {
            ga_error("[server] listen = %s (line %u): %s", gpuaasd->conf->server.listen[i].url,
                     gpuaasd->conf->server.listen[i].line, why);
            return status;
        }
        if (uv_poll_init(&gpuaasd->loop, &listener->poll, listener->listener.fd) != 0) {
            listener->listener.ops->close_listener(&listener->listener);
            ga_error("no room in the event loop");
            return GA_NO_MEMORY;
        }
        listener->gpuaasd = gpuaasd;
        listener->open = true;
        listener->tls = transport_address_is(&address, "tls");
        listener->poll.data = listener;
        gpuaasd->listener_count++;
        accept_pause_init(&listener->pause, &gpuaasd->clients, &listener->poll, listener_readable);
        GA_TRY(
            address.ops->local_address(listener->listener.fd, listener->url, sizeof listener->url));
        if (listener->tls) {
            workers_start(&gpuaasd->clients.workers);
        }
        if (transport_address_is(&address, "tcp")) {
            plain_note(listener->url, &address);
        }
    }
    certificates_loaded(&gpuaasd->access.certificates, server,
                        timers_wall_s(&gpuaasd->timers.timers));
    return GA_OK;
}

static void listener_accept(struct listener *listener)
{
    listener->waiting = false;
    for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
        struct transport_conn conn;
        enum ga_status got = listener->listener.ops->accept(&listener->listener, &conn);
        if (got == GA_OK) {
            control_client_accept(&listener->gpuaasd->clients, &conn, listener->tls);
        } else if (got == GA_AGAIN) {
            accept_pause_over(&listener->pause);
            return;
        } else {
            accept_pause_begin(&listener->pause, listener->url);
            return;
        }
    }
}

static void listeners_accept(uv_check_t *check)
{
    struct gpuaasd *gpuaasd = check->data;
    for (unsigned i = 0; i < gpuaasd->listener_count; i++) {
        if (gpuaasd->listeners[i].waiting && gpuaasd->listeners[i].open) {
            listener_accept(&gpuaasd->listeners[i]);
        }
    }
}

void listeners_start(struct gpuaasd *gpuaasd)
{
    gpuaasd->accepts.data = gpuaasd;
    (void)uv_check_start(&gpuaasd->accepts, listeners_accept);
    for (unsigned i = 0; i < gpuaasd->listener_count; i++) {
        struct listener *listener = &gpuaasd->listeners[i];
        (void)uv_poll_start(&listener->poll, UV_READABLE, listener_readable);
        ga_info_each(NULL, "ready %s", listener->url);
    }
}

void listeners_close(struct gpuaasd *gpuaasd)
{
    (void)uv_check_stop(&gpuaasd->accepts);
    for (unsigned i = 0; i < gpuaasd->listener_count; i++) {
        struct listener *listener = &gpuaasd->listeners[i];
        if (listener->open) {
            listener->open = false;
            uv_close((uv_handle_t *)&listener->poll, NULL);
            accept_pause_fini(&listener->pause);
            listener->listener.ops->close_listener(&listener->listener);
        }
    }
}
