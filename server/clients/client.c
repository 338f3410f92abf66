/* SPDX-License-Identifier: Apache-2.0 */
/* The dialogue with one client: HELLO, then an OPEN for each device it wants to use.
 *
 * Until it has said a good HELLO a client is nobody: it has handshake_timeout_s, little memory, and
 * one message; and it may have to go when there are many (client_limits.h). client_open.c carries
 * an OPEN out. */
#include "server/access/authentication.h"
#include "server/clients/admission.h"
#include "server/clients/client_admin.h"
#include "server/clients/client_application.h"
#include "server/clients/client_limits.h"
#include "server/clients/client_open.h"
#include "server/clients/client_state.h"
#include "server/clients/client_steps.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/lent.h"

#define READ_FILLS 4u /* of its buffer, in a turn of the loop */

static void control_client_ready(uv_poll_t *poll, int status, int events);

void control_client_release(struct control_client *client)
{
    if (--client->handles == 0) {
        frame_reader_fini(&client->reader);
        control_client_out_fini(&client->out);
        free(client->admin);
        free(client);
    }
}

static void control_client_handle_closed(uv_handle_t *handle)
{
    control_client_release(handle->data);
}

const char *control_client_address(struct control_client *client)
{
    if (client->address[0] == 0) {
        transport_peer(&client->conn, client->address);
    }
    return client->address;
}

const char *control_client_label(const struct control_client *client)
{
    return client->application != NULL ? client->application->label : "an unknown client";
}

void control_client_close(struct control_client *client)
{
    if (client->state != CLIENT_NEW && !client->taken) {
        ga_info_of(control_client_address(client), "%s: gone", control_client_label(client));
    }
    client->closed = true;
    ga_list_remove(&client->link);
    if (client->state == CLIENT_NEW && client->reader.buffer != NULL && !client->stepping) {
        explicit_bzero(client->reader.buffer, client->reader.capacity); /* half a greeting */
    }
    control_client_uncount(client);
    claims_leave(&client->place);
    client_application_leave(client);
    (void)uv_poll_stop(&client->poll);
    uv_close((uv_handle_t *)&client->poll, control_client_handle_closed);
    if (!client->stepping && !client->taken) {
        client->conn.ops->close(&client->conn);
    }
}

static bool control_client_read(struct control_client *client);

/* Waits for what may be done next; false: the client has been closed. */
static bool control_client_watch(struct control_client *client, short wanted)
{
    struct pollfd at[TRANSPORT_POLL_MAX];
    control_client_idle(client);
    while (!client->more && client->conn.ops->poll_prepare(&client->conn, wanted, at) == 0) {
        if (control_client_is_stepped(client)) {
            control_client_step(client);
            return true;
        }
        if (!control_client_read(client)) {
            control_client_close(client);
            return false;
        }
    }
    /* More: at once, or when it takes its answers. */
    short waits = client->more ? POLLIN | POLLOUT : at[0].events;
    int events =
        ((waits & POLLIN) != 0 ? UV_READABLE : 0) | ((waits & POLLOUT) != 0 ? UV_WRITABLE : 0);
    (void)uv_poll_start(&client->poll, events, control_client_ready);
    return true;
}

bool control_client_flush(struct control_client *client)
{
    (void)GA_FAILPOINT("gpuaasd: before an answer is sent");
    enum ga_status status = control_client_out_send(&client->out, &client->conn);
    (void)GA_FAILPOINT("gpuaasd: answer sent");
    if (status == GA_OK && client->admin != NULL) {
        client_admin_leave(client);
        return false;
    }
    if (status == GA_LOST || (status == GA_OK && client->state == CLIENT_LEAVING)) {
        control_client_close(client);
        return false;
    }
    return control_client_watch(client, status == GA_AGAIN ? POLLIN | POLLOUT : POLLIN);
}

void control_client_refuse(struct control_client *client, uint64_t sequence,
                           const struct refusal *refusal)
{
    ga_warn_of(control_client_address(client), "%s: refused: %s", control_client_label(client),
               refusal->why);
    client->room->applications->refused[refusal->reason]++;
    if (client->application != NULL && refusal->reason != REFUSAL_CREDENTIAL) {
        control_application_refused(client->application, refusal);
    }
    const struct handshake_refused refused = {.result = refusal->result, .reason = refusal->why};
    struct ga_writer *writer = control_client_out_begin(&client->out);
    handshake_refused_write(writer, &refused);
    control_client_out_end(&client->out, WIRE_REFUSED, sequence);
}

void control_client_refuse_as(struct control_client *client, uint64_t sequence,
                              enum refusal_reason reason, int32_t result, const char *why)
{
    struct refusal refusal;
    (void)refusal_set(&refusal, reason, result, "%s", why);
    control_client_refuse(client, sequence, &refusal);
}

static void control_client_welcome(struct control_client *client)
{
    struct clients *clients = client->room;
    const struct control_application *application = client->application;
    struct handshake_device room[CONF_GPUS_MAX];
    devices_welcome(&clients->processes->devices, application->gpus, application->gpu_count, room);
    for (uint32_t i = 0; i < application->gpu_count; i++) {
        room[i].memory_bytes = lent_shown(&application->shown, room[i].memory_bytes);
    }
    const struct handshake_welcome welcome = {
        .major = WIRE_MAJOR,
        .minor = WIRE_MINOR,
        .build = GPUAAS_VERSION,
        .pool = clients->conf->server.pool,
        .node = clients->conf->server.node,
        .driver_version = devices_visible(&clients->processes->devices, 0)->facts.driver_version,
        .device_count = application->gpu_count,
        .devices = room,
    };
    struct ga_writer *writer = control_client_out_begin(&client->out);
    handshake_welcome_write(writer, &welcome);
    control_client_out_end(&client->out, WIRE_WELCOME, 0);
}

bool control_client_version(struct control_client *client, const struct handshake_hello *hello,
                            uint64_t sequence)
{
    struct refusal refusal;
    if (hello->major == WIRE_MAJOR) {
        return true;
    }
    (void)refusal_set(&refusal, REFUSAL_VERSION, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                      "protocol %u of the client (gpuaas %.64s) does not go with protocol %u of "
                      "the server (gpuaas %s): upgrade the %s",
                      hello->major, hello->build, WIRE_MAJOR, GPUAAS_VERSION,
                      hello->major < WIRE_MAJOR ? "client" : "server");
    control_client_refuse(client, sequence, &refusal);
    return false;
}

static bool client_greets(struct control_client *client, const struct wire_header *header,
                          struct ga_reader *reader)
{
    struct handshake_hello hello;
    bool admin = header->opcode == WIRE_ADMIN;
    if ((!admin && header->opcode != WIRE_HELLO) || handshake_hello_read(reader, &hello) != GA_OK) {
        return false;
    }
    (void)GA_FAILPOINT("gpuaasd: hello read");
    client->state = CLIENT_LEAVING; /* unless the greeting succeeds */
    if (admin) {
        client_admin_greet(client, &hello, header->sequence);
        return true;
    }
    struct control_application *application =
        control_application_make(client->room->applications, &hello, &client->conn,
                                 control_client_address(client), client->tls);
    if (application == NULL) {
        control_client_refuse_as(client, header->sequence, REFUSAL_SERVER, CUDA_ERROR_OUT_OF_MEMORY,
                                 "no memory");
        return true;
    }
    client_application_join(client, application);
    if (!control_client_version(client, &hello, header->sequence)) {
        return true;
    }
    if (admission_ask(client, &hello, header->sequence)) {
        client->state = CLIENT_GREETED;
        if (client->conn.ops->set_dead_after(
                &client->conn, client->room->conf->server.backend.dead_after_s * 1000) != GA_OK) {
            ga_debug("a client's connection cannot tell by itself that its machine has gone");
        }
        ga_info_of(control_client_address(client), "%s: connected", client->application->label);
        control_client_welcome(client);
    }
    return true;
}

/* A token that it has shown stays nowhere. */
static bool control_client_hello(struct control_client *client, const struct wire_header *header,
                                 const uint8_t *values, struct ga_reader *reader)
{
    bool good = client_greets(client, header, reader);
    explicit_bzero((void *)(uintptr_t)values, header->length);
    return good;
}

static void control_client_say_lost(struct control_client *client)
{
    const char *error_text = transport_error_text(&client->conn);
    if (error_text != NULL) {
        ga_warn_of(control_client_address(client), "%s: %s", control_client_label(client),
                   error_text);
    }
}

/* The first bytes of a TLS connection are a record of its handshake. */
static bool speaks_tls(const struct control_client *client)
{
    const uint8_t *at = client->reader.buffer + client->reader.start;
    return client->state == CLIENT_NEW && client->reader.end - client->reader.start >= 2 &&
           at[0] == 0x16 && at[1] == 3;
}

/* The first message, as soon as its length is known. */
static enum ga_status hello_bounded(struct control_client *client)
{
    struct wire_header header;
    bool known = client->state == CLIENT_NEW && frame_header(&client->reader, &header) == GA_OK;
    return known && header.length > WIRE_HELLO_MAX ? GA_INVALID : GA_OK;
}

/* Before its first byte a client has no buffer; later messages are shorter than the first one may
 * be. False: there is no memory. */
static bool begin_reading(struct control_client *client)
{
    return client->reader.buffer != NULL ||
           frame_reader_init(&client->reader, PENDING_BUFFER_BYTES) == GA_OK;
}

/* Reads and answers what there is, but no more than it may in a turn of the loop, in which others
 * have theirs; false: the client is to be closed. */
static bool control_client_read(struct control_client *client)
{
    unsigned fills = 0;
    client->more = false;
    if (!begin_reading(client)) {
        return false;
    }
    while (client->state != CLIENT_LEAVING) {
        struct wire_header header = {0};
        const uint8_t *values = NULL;
        enum ga_status status = hello_bounded(client);
        if (status == GA_OK) {
            status = frame_next(&client->reader, &header, &values);
        }
        if (status == GA_AGAIN && control_client_is_stepped(client)) {
            return true;
        }
        if (status == GA_AGAIN && fills++ == READ_FILLS) {
            client->more = true;
            return true;
        }
        if (status == GA_AGAIN) {
            status = frame_fill(&client->reader, &client->conn);
            if (status == GA_OK) {
                continue;
            }
            if (status != GA_AGAIN) {
                control_client_say_lost(client);
            }
            return status == GA_AGAIN;
        }
        struct ga_reader reader = ga_reader_of(values, header.length);
        if (status != GA_OK ||
            !(client->state == CLIENT_NEW ? control_client_hello(client, &header, values, &reader)
                                          : control_client_open(client, &header, &reader))) {
            ga_warn_of(control_client_address(client), "%s: %s", control_client_label(client),
                       speaks_tls(client)
                           ? "it speaks TLS, and this port does not: listen with tls:// "
                             "here, or leave tls:// out there"
                           : "its bytes are no gpuaas protocol");
            return false;
        }
        frame_drop(&client->reader);
    }
    return true;
}

/* An error that has come to its socket. */
static void client_look_lost(struct control_client *client)
{
    int error = transport_error(&client->conn);
    if (client->application == NULL || error == 0) {
        return;
    }
    if (error == ECONNRESET) {
        control_application_lost(client->application, APPLICATION_RESET);
    } else if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH) {
        control_application_lost(client->application, APPLICATION_SILENT);
    }
}

static void control_client_ready(uv_poll_t *poll, int status, int events)
{
    struct control_client *client = poll->data;
    if (status != 0) {
        client_look_lost(client);
    }
    if (status == 0 && client->state == CLIENT_NEW) {
        pending_entry_heard(&client->limited);
    }
    if (status == 0 && control_client_is_stepped(client)) {
        if (begin_reading(client)) {
            control_client_step(client);
            return;
        }
        status = UV_ENOMEM;
    }
    bool reads = (events & UV_READABLE) != 0 || client->more;
    if (status != 0 || (reads && !control_client_read(client))) {
        control_client_close(client);
        return;
    }
    (void)control_client_flush(client);
}

void control_client_stepped(struct control_client *client, enum ga_status status)
{
    if (status == GA_LOST) {
        control_client_say_lost(client);
    }
    if ((status != GA_OK && status != GA_AGAIN) || !control_client_read(client)) {
        control_client_close(client);
        return;
    }
    (void)control_client_flush(client);
}

static void control_client_turn_away(struct transport_conn *conn)
{
    char address[TRANSPORT_PEER_BYTES];
    transport_peer(conn, address);
    ga_warn_of(address, "no memory for a client, its connection is closed");
    conn->ops->close(conn);
}

/* A client that can be closed like any other. NULL: there is no memory, or no room in the loop. */
static struct control_client *control_client_make(struct clients *clients,
                                                  const struct transport_conn *conn, bool tls)
{
    struct control_client *client = calloc(1, sizeof *client);
    if (client == NULL || GA_FAILPOINT("gpuaasd: accepted") ||
        uv_poll_init(clients->loop, &client->poll, conn->fd) != 0) {
        free(client);
        return NULL;
    }
    client->room = clients;
    client->conn = *conn;
    client->tls = tls;
    client->limited.is_slow = tls && authentication_is_slow(clients->access, conn);
    client->handles = 1;
    client->poll.data = client;
    client_application_init(client);
    ga_list_append(&clients->all, &client->link);
    (void)uv_poll_start(&client->poll, UV_READABLE, control_client_ready);
    return client;
}

void control_client_accept(struct clients *clients, const struct transport_conn *conn, bool tls)
{
    struct transport_conn taken = *conn;
    struct control_client *client = control_client_make(clients, &taken, tls);
    if (client == NULL) {
        control_client_turn_away(&taken);
    } else if (control_client_pend(client) != GA_OK) { /* others may close it from here on */
        control_client_close(client);
    }
}
