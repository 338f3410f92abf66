/* SPDX-License-Identifier: Apache-2.0 */
/* A device's session: a ticket from its gpuaasd, then a new connection to the backend process (or,
 * on a node that this application already uses, a session more on the connection that is there),
 * then the address window that both ends can have. The first context comes with the session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/alloc/window.h"
#include "client/conn/conn.h"
#include "client/conn/conn_list.h"
#include "client/process/environment.h"
#include "client/process/trace.h"
#include "client/session/connect.h"
#include "client/session/opening.h"
#include "client/session/server_answers.h"
#include "client/session/servers.h"
#include "client/session/ticket.h"
#include "front/front.h"

#define OPEN_NS     (30 * GA_NS_PER_S) /* a backend process may have to be started */
#define TICKETS     4u                 /* that are asked for: others may need the GPU first */
#define CACHE_SHARE 8u                 /* of a device's memory may be kept: one in so many bytes */

/* The error that has ended this program's connection to a backend process of the server: that of an
 * execution fault, or CONN_LOST; 0: none has ended. cuda.h says that no further CUDA work of the
 * process succeeds then, so no other process is asked for. */
static int ended_before(const struct client_server *server)
{
    const struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        int dead = client_conn_owner(conn) == server ? client_conn_dead(conn) : 0;
        if (dead != 0) {
            return dead;
        }
    }
    return 0;
}

/* ---- one session more on a connection that is there */

static enum ga_status ask_on_conn(struct opening *opening, struct client_conn *conn,
                                  uint16_t opcode, struct handshake_data_welcome *welcome)
{
    struct handshake_data_hello hello;
    opening_hello(opening, HANDSHAKE_DATA, &hello);
    if (client_conn_lock(conn, 4096) != 0) {
        snprintf(opening->why, sizeof opening->why, "the connection is lost");
        return GA_LOST;
    }
    struct ga_writer writer = ga_writer_of(client_conn_at(conn) + sizeof(struct wire_header), 4000);
    if (opcode == WIRE_SESSION_OPEN) {
        handshake_data_hello_write(&writer, &hello);
    } else {
        handshake_window_write(&writer, &opening->window);
    }
    uint64_t sequence = client_conn_frame(conn, opcode, opening->session, writer.at, 0, true);
    struct pending_reply *record = client_conn_expect(conn, sequence, true, NULL);
    client_conn_unlock(conn, true);
    if (record == NULL) {
        return GA_NO_MEMORY;
    }
    client_conn_wait(conn, record);
    opening->round_trips++;
    struct ga_reader values = ga_reader_of(
        record->results != NULL ? record->results : record->small, record->results_size);
    enum ga_status status = GA_LOST;
    if (record->opcode != 0) {
        status = opening_welcome(opening, record->opcode, &values, welcome);
    } else {
        snprintf(opening->why, sizeof opening->why, "the connection is lost");
    }
    client_conn_release(conn, record);
    return status;
}

static enum ga_status session_ask_window(struct opening *opening, void *user,
                                         struct handshake_data_welcome *welcome)
{
    return ask_on_conn(opening, user, WIRE_WINDOW, welcome);
}

static enum ga_status session_on_conn(struct opening *opening, struct client_conn *conn)
{
    struct handshake_data_welcome welcome;
    GA_TRY(ask_on_conn(opening, conn, WIRE_SESSION_OPEN, &welcome));
    return opening_agree(opening, session_ask_window, conn, &welcome);
}

/* ---- opening */

static enum ga_status open_with_ticket(struct opening *opening, struct client_conn **conn)
{
    if (!client_window_next(opening->device->memory_bytes, &opening->window)) {
        opening->window = (struct handshake_window){0};
    }
    *conn = client_conn_of_process(opening->device->server, opening->ticket.process);
    enum ga_status status =
        *conn != NULL ? session_on_conn(opening, *conn) : opening_connect(opening, conn);
    if (status != GA_OK && opening->window.bytes != 0) {
        client_window_release(&opening->window);
    }
    return status;
}

/* gpuaasd ends the connection of a program that has opened nothing, after a while; and anybody
 * between may cut it. Sessions that have been opened there stay. */
static enum ga_status server_again(struct opening *opening)
{
    struct client_server *server = opening->device->server;
    opening->round_trips += server->tls ? 3 : 2;
    return client_servers_connect_again(server, opening->why, sizeof opening->why);
}

static enum ga_status ask_ticket(struct opening *opening)
{
    enum ga_status status = opening_ticket(opening, OPENING_ASKED);
    if (status == GA_LOST) {
        GA_TRY(server_again(opening));
        status = opening_ticket(opening, OPENING_ASKED);
    }
    return status;
}

/* Whether the process has refused the ticket: it was taken back for somebody who waited. (It says
 * so for tickets that have expired, too.) */
static bool ticket_refused(const struct opening *opening, enum ga_status status)
{
    return status == GA_DENIED && opening->result == CUDA_ERROR_NOT_PERMITTED;
}

static enum ga_status open_asked(struct opening *opening, struct client_conn **conn)
{
    enum ga_status status = GA_DENIED;
    for (unsigned asked = 0; asked == 0 || (asked < TICKETS && ticket_refused(opening, status));
         asked++) {
        opening->session = 0;
        opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
        GA_TRY(ask_ticket(opening));
        status = open_with_ticket(opening, conn);
    }
    return status;
}

static enum ga_status try_open(struct opening *opening, struct client_conn **conn)
{
    if (atomic_load(&opening->device->server->lost) || opening->device->server->observed) {
        GA_TRY(server_again(opening));
    }
    enum ga_status status = opening_ticket(opening, OPENING_GUESSED);
    if (status == GA_OK) {
        status = open_with_ticket(opening, conn);
    }
    if (status == GA_OK || status == GA_NO_MEMORY) {
        return status;
    }
    return open_asked(opening, conn);
}

/* Two devices of one process must not both connect: under the server's control_lock. */
static enum ga_status open_device(struct opening *opening, struct client_conn **conn)
{
    const struct client_server *server = opening->device->server;
    int ended = ended_before(server);
    enum ga_status status = ended != 0 ? GA_LOST : try_open(opening, conn);
    if (status != GA_OK && ended == 0) {
        ended = ended_before(server); /* meanwhile: whatever else failed then, failed of this */
    }
    if (ended != 0 && status != GA_OK) {
        opening->result = (CUresult)ended;
        snprintf(opening->why, sizeof opening->why,
                 "this program's process there has ended with CUDA error %d", ended);
    }
    return status;
}

static uint64_t smallest(uint64_t a, uint64_t b, uint64_t c)
{
    a = b < a ? b : a;
    return c < a ? c : a;
}

CUresult client_session_open(struct client_device *device, const struct handshake_context *wish,
                             struct client_session **out, struct client_first *first)
{
    struct client_server *server = device->server;
    struct client_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct opening opening = {.device = device,
                              .deadline_ns = ga_clock_ns() + OPEN_NS,
                              .context = *wish,
                              .result = CUDA_ERROR_DEVICE_UNAVAILABLE,
                              .why = "no memory"};
    struct client_conn *conn = NULL;
    pthread_mutex_lock(&server->control_lock);
    enum ga_status status = open_device(&opening, &conn);
    if (status != GA_OK && atomic_load(&server->lost) &&
        opening.result == CUDA_ERROR_DEVICE_UNAVAILABLE) {
        char why[sizeof opening.why];
        snprintf(why, sizeof why, "its gpuaasd ended (%.250s)", opening.why);
        memcpy(opening.why, why, sizeof why);
    }
    pthread_mutex_unlock(&server->control_lock);
    client_trace_setup(opening.round_trips);
    if (status != GA_OK) {
        bool told = ended_before(server) != 0;
        ga_log(told ? GA_LOG_DEBUG : client_server_answers_level(GA_LOG_ERROR),
               "device %d (%s of %s) cannot be used: %s", device->ordinal, device->name,
               server->address, opening.why);
        free(session);
        free(device->refused);
        device->refused = strdup(opening.why);
        return opening.result;
    }
    session->conn = conn;
    session->server = server;
    session->number = opening.session;
    session->window_base = opening.window.base;
    session->window_bytes = opening.window.bytes;
    client_allocator_init(&session->allocator, opening.window.base, opening.window.bytes,
                          device->granularity_bytes, device->memory_bytes);
    session->allocator.cached_max = smallest(opening.cache_bytes, client_environment_cache_bytes(),
                                             device->memory_bytes / CACHE_SHARE);
    *out = session;
    *first = opening.first;
    return CUDA_SUCCESS;
}
