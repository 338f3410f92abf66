/* SPDX-License-Identifier: Apache-2.0 */
/* A new connection: the data and the side connection to a backend process, opened side by side. The
 * client waits for two things only: that they are connected, and the data connection's welcome,
 * which brings the session and its first context. Answers of the side connection are read with its
 * pings (service.c). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "client/conn/conn.h"
#include "client/conn/conn_list.h"
#include "client/conn/greeting.h"
#include "client/process/environment.h"
#include "client/process/process.h"
#include "client/session/connect.h"
#include "client/session/service.h"

#define READ_BUFFER (512u << 10)

/* The connections of a connection that is being made. */
struct making {
    bool tls;
    struct transport_conn data, side; /* fd -1: not open */
    struct frame_reader reader, side_reader;
};

/* Data shall go by RDMA and no other way, as far as that is possible. */
static bool rdma_wanted(const struct opening *opening)
{
    return client_environment_transport() == CLIENT_TRANSPORT_RDMA ||
           (client_environment_transport() == CLIENT_TRANSPORT_AUTO &&
            strncmp(opening->device->server->address, "rdma://", 7) == 0);
}

/* Through shared memory, if the backend process is on this machine: nobody else has a listener of
 * that name, so trying costs nothing where it is not. */
static enum ga_status begin_local(struct opening *opening, struct making *making)
{
    struct transport_address address;
    if (strncmp(opening->local, "shm:", 4) != 0 || rdma_wanted(opening) ||
        client_environment_transport() != CLIENT_TRANSPORT_AUTO) {
        return GA_UNSUPPORTED;
    }
    GA_TRY(
        transport_address_parse(opening->local, "0", &address, opening->why, sizeof opening->why));
    GA_TRY(address.ops->connect_begin(&address, &making->data, opening->why, sizeof opening->why));
    enum ga_status status =
        address.ops->connect_begin(&address, &making->side, opening->why, sizeof opening->why);
    if (status != GA_OK) {
        making->data.ops->close(&making->data);
    }
    return status;
}

/* Whether RDMA may be asked for. That somebody wants it, and cannot have it, is said. */
static bool rdma_possible(const struct opening *opening, bool tls)
{
    bool wanted = rdma_wanted(opening), offered = (opening->ticket.ways & HANDSHAKE_WAY_RDMA) != 0;
    const char *why = tls ? "it is reached by tls://, and RDMA encrypts nothing"
                      : !transport_is_useful("rdma") ? "this machine has no RDMA device"
                      : !offered                     ? "the server offers none"
                                                     : NULL;
    if (wanted && why != NULL) {
        ga_warn("no RDMA to %s, data goes over %s: %s", opening->device->server->address,
                tls ? "TLS" : "TCP", why);
    }
    return why == NULL && (wanted || client_environment_transport() == CLIENT_TRANSPORT_AUTO);
}

/* The data connection to the same address, as one that can be wide. */
static enum ga_status begin_data(struct opening *opening, const struct transport_address *address,
                                 struct making *making)
{
    char url[sizeof opening->address + 8];
    struct transport_address rdma = *address;
    const char *rest = strstr(opening->address, "://");
    if (rest != NULL && rdma_possible(opening, making->tls)) {
        snprintf(url, sizeof url, "rdma%s", rest);
        GA_TRY(transport_address_parse(url, WIRE_DEFAULT_PORT, &rdma, opening->why,
                                       sizeof opening->why));
    }
    return rdma.ops->connect_begin(&rdma, &making->data, opening->why, sizeof opening->why);
}

static enum ga_status connect_start(struct opening *opening, struct making *making)
{
    const struct transport_secret secret = {.ticket_id = opening->ticket.id,
                                            .ticket_key = opening->ticket.key};
    struct transport_address address;
    if (begin_local(opening, making) == GA_OK) {
        return GA_OK;
    }
    GA_TRY(transport_address_parse(opening->address, WIRE_DEFAULT_PORT, &address, opening->why,
                                   sizeof opening->why));
    if (opening->device->server->tls && !transport_address_is(&address, "tls")) {
        snprintf(opening->why, sizeof opening->why,
                 "it was reached by tls://, and wants data without");
        return GA_DENIED;
    }
    address.secret = &secret;
    making->tls = transport_address_is(&address, "tls");
    GA_TRY(begin_data(opening, &address, making));
    return address.ops->connect_begin(&address, &making->side, opening->why, sizeof opening->why);
}

static enum ga_status wait_connected(struct opening *opening, struct transport_conn *transport)
{
    uint64_t now = ga_clock_ns();
    uint64_t left_ns = now < opening->deadline_ns ? opening->deadline_ns - now : 0;
    return transport_connected(transport, (int)(left_ns / GA_NS_PER_MS), opening->why,
                               sizeof opening->why);
}

/* On one machine nothing is saved; and what is encrypted tells by its size what it is, if it is
 * compressed. */
static uint32_t compression_takes(const struct opening *opening,
                                  const struct transport_conn *transport)
{
    enum compression_mode mode = client_environment_compression();
    bool does_harm = opening->device->server->tls || compression_is_near(transport);
    if (mode == COMPRESSION_OFF || (mode == COMPRESSION_AUTO && does_harm)) {
        return 0;
    }
    return HANDSHAKE_TAKES_COMPRESSED |
           (mode == COMPRESSION_ALWAYS ? HANDSHAKE_WANTS_COMPRESSED : 0);
}

static enum ga_status send_hello(struct opening *opening, struct transport_conn *transport,
                                 enum handshake_kind kind)
{
    struct client_frame frame;
    struct handshake_data_hello hello;
    GA_TRY(client_frame_begin(&frame));
    opening_hello(opening, kind, &hello);
    if (kind ==
        HANDSHAKE_DATA) { /* once for each connection: which calls both ends mean the same by */
        hello.signatures = api_signatures;
        hello.signature_count = (uint32_t)api_signature_count;
        hello.takes |= compression_takes(opening, transport);
    }
    handshake_data_hello_write(&frame.writer, &hello);
    enum ga_status status =
        client_frame_send(&frame, WIRE_DATA_HELLO, 0, 0, transport, opening->deadline_ns,
                          opening->why, sizeof opening->why);
    client_frame_end(&frame);
    (void)GA_FAILPOINT("client: ticket shown");
    return status;
}

static enum ga_status receive_welcome(struct opening *opening, struct making *making,
                                      struct handshake_data_welcome *welcome)
{
    struct wire_header header;
    struct ga_reader values;
    GA_TRY(client_frame_receive(&making->reader, &making->data, opening->deadline_ns, &header,
                                &values, opening->why, sizeof opening->why));
    opening->round_trips++;
    enum ga_status status = opening_welcome(opening, header.opcode, &values, welcome);
    frame_drop(&making->reader);
    return status;
}

static enum ga_status connect_ask_window(struct opening *opening, void *user,
                                         struct handshake_data_welcome *welcome)
{
    struct making *making = user;
    struct client_frame frame;
    GA_TRY(client_frame_begin(&frame));
    handshake_window_write(&frame.writer, &opening->window);
    enum ga_status status =
        client_frame_send(&frame, WIRE_WINDOW, opening->session, 0, &making->data,
                          opening->deadline_ns, opening->why, sizeof opening->why);
    client_frame_end(&frame);
    GA_TRY(status);
    return receive_welcome(opening, making, welcome);
}

/* Upgrades the connection; without an upgrade it works all the same. */
static void upgrade(const struct opening *opening, struct transport_conn *data)
{
    char why[300] = "";
    const char *scheme = data->ops->scheme;
    if (data->ops->upgrade != NULL && data->ops->upgrade(data, why, sizeof why) != GA_OK) {
        ga_log(rdma_wanted(opening) ? GA_LOG_WARN : GA_LOG_DEBUG,
               "no %s to %s, data goes through the socket: %s", scheme,
               opening->device->server->address, why);
    }
}

static enum ga_status greet(struct opening *opening, struct making *making)
{
    struct handshake_data_welcome welcome;
    GA_TRY(wait_connected(opening, &making->data));
    opening->round_trips += making->tls ? 2 : 1;
    upgrade(opening, &making->data);
    GA_TRY(send_hello(opening, &making->data, HANDSHAKE_DATA));
    GA_TRY(wait_connected(opening, &making->side));
    GA_TRY(send_hello(opening, &making->side, HANDSHAKE_SIDE));
    GA_TRY(receive_welcome(opening, making, &welcome));
    return opening_agree(opening, connect_ask_window, making, &welcome);
}

static void connect_own(const struct transport_conn *transport)
{
    int fds[TRANSPORT_FDS_MAX];
    unsigned count = transport->ops->descriptors(transport, fds);
    for (unsigned i = 0; i < count; i++) {
        client_process_own(fds[i]);
    }
}

static enum ga_status conn_start(struct opening *opening, const struct making *making,
                                 struct client_conn **out)
{
    const struct client_conn_start start = {
        .data = making->data,
        .side = making->side,
        .data_reader = making->reader,
        .side_reader = making->side_reader,
        .dead_after_ms = client_environment_dead_after_s() * 1000,
        .hooks = &client_conn_hooks,
        .name = opening->device->server->address,
        .address = opening->address,
        .owner = opening->device->server,
        .process = opening->ticket.process,
        .lacking = opening->lacking_count != 0 ? &opening->lacking : NULL,
        .compression = opening->compresses ? client_environment_compression() : COMPRESSION_OFF};
    struct client_conn *conn;
    GA_TRY(client_conn_create(&start, &conn));
    (void)GA_FAILPOINT("client: session made");
    connect_own(&making->data);
    connect_own(&making->side);
    client_conn_add(conn);
    *out = conn;
    return GA_OK;
}

/* Before anything is asked of the server: it may be what fails. */
static enum ga_status service_ready(struct opening *opening)
{
    if (!client_service_start()) {
        snprintf(opening->why, sizeof opening->why,
                 "no threads or descriptors are left to watch the connection");
        return GA_NO_MEMORY;
    }
    return GA_OK;
}

static void give_up(struct making *making)
{
    frame_reader_fini(&making->reader);
    frame_reader_fini(&making->side_reader);
    if (making->side.fd >= 0) {
        making->side.ops->close(&making->side);
    }
    if (making->data.fd >= 0) {
        making->data.ops->close(&making->data);
    }
}

enum ga_status opening_connect(struct opening *opening, struct client_conn **conn)
{
    struct making making = {.data = {.fd = -1}, .side = {.fd = -1}};
    enum ga_status status = frame_reader_init(&making.reader, READ_BUFFER);
    if (status == GA_OK) {
        status = frame_reader_init(&making.side_reader, SIDE_READ_BYTES);
    }
    if (status == GA_OK) {
        status = service_ready(opening);
    }
    if (status == GA_OK) {
        status = connect_start(opening, &making);
    }
    if (status == GA_OK) {
        status = greet(opening, &making);
    }
    if (status == GA_OK) {
        status = conn_start(opening, &making, conn);
    }
    if (status != GA_OK) {
        give_up(&making);
    }
    return status;
}
