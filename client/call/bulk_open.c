/* SPDX-License-Identifier: Apache-2.0 */
/* Opening bulk connections. If that fails, the data connection carries everything. */
#include "client/call/bulk_open.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/conn/greeting.h"
#include "client/context/context.h"
#include "client/process/process.h"
#include "client/session/servers.h"

#define ASK_FROM     (1u << 20) /* bytes of a copy */
#define CONNECT_NS   (10 * GA_NS_PER_S)
#define ANSWER_BYTES 4096u

/* As in the results of ga_bulk_open. */
struct bulk_ticket {
    uint8_t id[16], key[32];
};

_Static_assert(sizeof(struct bulk_ticket) == API_BULK_TICKET_BYTES, "an id and a key");

/* The connections that are being made. */
struct making {
    struct client_conn *conn;
    struct bulk_ticket tickets[WIRE_BULKS_MAX];
    struct transport_conn conns[WIRE_BULKS_MAX];
    unsigned count; /* of tickets; later of open connections, which come first */
    uint64_t deadline_ns;
    char why[300];
};

static CUresult bulk_ask(struct client_call *call, struct making *making)
{
    struct ga_reader reader;
    struct ga_bulk_open_results results;
    CU_TRY(client_call_begin(call, 0));
    CUresult rc = client_call_wait_want(call, NULL, true, NULL, 0, &reader);
    if (rc == CUDA_SUCCESS) {
        ga_bulk_open_results_read(&reader, &results);
        if (!ga_reader_done(&reader) || results.connections > WIRE_BULKS_MAX ||
            results.ticket_bytes != results.connections * sizeof(struct bulk_ticket)) {
            rc = client_call_broken(call);
        } else if (results.connections != 0) {
            memcpy(making->tickets, results.tickets, results.ticket_bytes);
            making->count = results.connections;
        }
    }
    client_call_end(call);
    return rc;
}

static enum ga_status bulk_say_hello(struct making *making, unsigned number)
{
    struct client_frame frame;
    struct handshake_data_hello hello = {.magic = WIRE_MAGIC,
                                         .major = WIRE_MAJOR,
                                         .minor = WIRE_MINOR,
                                         .kind = HANDSHAKE_BULK,
                                         .device = number};
    memcpy(hello.application, client_application, sizeof hello.application);
    memcpy(hello.id, making->tickets[number].id, sizeof hello.id);
    memcpy(hello.key, making->tickets[number].key, sizeof hello.key);
    GA_TRY(client_frame_begin(&frame));
    handshake_data_hello_write(&frame.writer, &hello);
    enum ga_status status = client_frame_send(&frame, WIRE_DATA_HELLO, 0, 0, &making->conns[number],
                                              making->deadline_ns, making->why, sizeof making->why);
    client_frame_end(&frame);
    return status;
}

/* Nothing comes behind the welcome before ga_bulk_use. */
static enum ga_status hear_welcome(struct making *making, unsigned number)
{
    struct frame_reader reader;
    struct wire_header header;
    struct ga_reader values;
    GA_TRY(frame_reader_init(&reader, ANSWER_BYTES));
    enum ga_status status =
        client_frame_receive(&reader, &making->conns[number], making->deadline_ns, &header, &values,
                             making->why, sizeof making->why);
    if (status == GA_OK && header.opcode != WIRE_DATA_WELCOME) {
        snprintf(making->why, sizeof making->why, "it was refused");
        status = GA_DENIED;
    }
    frame_reader_fini(&reader);
    return status;
}

static enum ga_status connected(struct making *making, unsigned number)
{
    uint64_t now = ga_clock_ns();
    uint64_t left_ns = now < making->deadline_ns ? making->deadline_ns - now : 0;
    GA_TRY(transport_connected(&making->conns[number], (int)(left_ns / GA_NS_PER_MS), making->why,
                               sizeof making->why));
    return bulk_say_hello(making, number);
}

static void close_from(struct making *making, unsigned first)
{
    for (unsigned i = first; i < making->count; i++) {
        making->conns[i].ops->close(&making->conns[i]);
    }
    making->count = first < making->count ? first : making->count;
}

/* Connects all at once, so they take as long as one. */
static void connect_all(struct making *making)
{
    struct transport_address address;
    unsigned begun = 0, good = 0;
    if (transport_address_parse(client_conn_address(making->conn), WIRE_DEFAULT_PORT, &address,
                                making->why, sizeof making->why) != GA_OK) {
        making->count = 0;
        return;
    }
    while (begun < making->count) {
        const struct transport_secret secret = {.ticket_id = making->tickets[begun].id,
                                                .ticket_key = making->tickets[begun].key};
        address.secret = &secret;
        if (address.ops->connect_begin(&address, &making->conns[begun], making->why,
                                       sizeof making->why) != GA_OK) {
            break;
        }
        begun++;
    }
    address.secret = NULL;
    making->count = begun;
    while (good < making->count && connected(making, good) == GA_OK) {
        good++;
    }
    close_from(making, good);
    good = 0;
    while (good < making->count && hear_welcome(making, good) == GA_OK) {
        good++;
    }
    close_from(making, good);
}

/* Tells the server; from that frame on, pieces may go over them. */
static CUresult use(struct client_call *call, const struct making *making)
{
    const struct ga_bulk_use_args args = {.connections = making->count};
    call->op = API_OP_ga_bulk_use;
    CU_TRY(client_call_begin(call, ga_bulk_use_args_bound(&args)));
    ga_bulk_use_args_write(&call->writer, &args);
    client_conn_bulks_use(making->conn, making->conns, making->count);
    return client_call_post(call);
}

static void bulk_own(const struct making *making)
{
    for (unsigned i = 0; i < making->count; i++) {
        int fds[TRANSPORT_FDS_MAX];
        unsigned count = making->conns[i].ops->descriptors(&making->conns[i], fds);
        for (unsigned n = 0; n < count; n++) {
            client_process_own(fds[n]);
        }
    }
}

static void prepare(struct client_context *context)
{
    struct client_call call;
    struct making making = {.deadline_ns = ga_clock_ns() + CONNECT_NS};
    if (client_call_enter_in(&call, API_OP_ga_bulk_open, context) != CUDA_SUCCESS ||
        client_call_lacking(&call)) {
        return;
    }
    making.conn = call.conn;
    if (bulk_ask(&call, &making) != CUDA_SUCCESS || making.count == 0) {
        return;
    }
    connect_all(&making);
    if (making.why[0] != 0) {
        ga_debug("a bulk connection to %s: %s; %u are there", client_conn_name(making.conn),
                 making.why, making.count);
    }
    if (making.count != 0) {
        if (use(&call, &making) == CUDA_SUCCESS) {
            bulk_own(&making);
        } else {
            close_from(&making, 0);
        }
    }
    explicit_bzero(making.tickets, sizeof making.tickets);
}

void client_bulk_prepare(const struct client_call *call, uint64_t bytes)
{
    if (bytes >= ASK_FROM && client_conn_bulks_wanted(call->conn)) {
        prepare(call->context);
    }
}
