/* SPDX-License-Identifier: Apache-2.0 */
/* The submit thread: from the socket to the handlers of the calls. */
#include "server/conn/conn.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/app/current_context.h"
#include "server/app/kernel_output.h"
#include "server/conn/conn_session.h"
#include "server/conn/rate_wait.h"
#include "server/conn/reply.h"
#include "server/meter/meter.h"
#include "server/objects/call_check.h"
#include "server/objects/contexts.h"

/* ---- waiting for the client */

/* A client may call again soon. Whether it has, or an entry is done; `*status`: of the input. */
static bool input_spin(struct server_conn *conn, uint64_t spin_ns, enum ga_status *status)
{
    bool came = false;
    unsigned looks = 0;
    uint64_t until = ga_clock_ns() + spin_ns;
    do {
        if (completer_poll(&conn->completer)) {
            conn_flush(conn);
            came = true;
            until = ga_clock_ns() + spin_ns;
        } else if (conn->completer.held != NULL) {
            sched_yield(); /* a GPU in software needs the processor */
        }
        *status = frame_fill(&conn->reader, &conn->transport);
    } while (*status == GA_AGAIN && (++looks % GA_SPIN_LOOKS != 0 || ga_clock_ns() < until));
    return came || *status != GA_AGAIN;
}

static enum ga_status conn_wait_input(struct server_conn *conn)
{
    enum ga_status status = frame_fill(&conn->reader, &conn->transport);
    if (status == GA_AGAIN) {
        meter_idle(conn->app);
    }
    uint64_t spin_ns = status == GA_AGAIN ? ga_spin_begin(&conn->spin) : 0;
    if (spin_ns != 0) {
        ga_spin_end(&conn->spin, input_spin(conn, spin_ns, &status));
    }
    completer_hand_over(&conn->completer);
    if (status == GA_AGAIN && !atomic_load(&conn->ended)) {
        conn_poll(conn, &conn->transport, POLLIN);
        return GA_OK;
    }
    return status;
}

/* ---- frames */

/* NULL: there is none, or its window is not agreed. */
static struct server_session *conn_session(struct server_app *app, const struct wire_header *header)
{
    if (header->session == 0 || header->session > CONF_GPUS_MAX) {
        return NULL;
    }
    struct server_session *session = app->sessions[header->session];
    return session != NULL && session->agreed ? session : NULL;
}

static bool context_frame(struct server_conn *conn, struct ga_reader *reader)
{
    uint64_t handle = ga_read_u64(reader);
    if (!ga_reader_done(reader)) {
        return false;
    }
    context_switch(conn->app, handle);
    return true;
}

static bool wire_frame(struct server_conn *conn, const struct wire_header *header,
                       struct ga_reader *reader)
{
    struct handshake_data_hello hello;
    switch (header->opcode) {
    case WIRE_CONTEXT:
        return context_frame(conn, reader);
    case WIRE_WINDOW:
        return session_window(conn, header, reader);
    case WIRE_BULK:
        return bulk_frame(conn, reader);
    case WIRE_SESSION_OPEN:
        return handshake_data_hello_read(reader, &hello) == GA_OK && hello.kind == HANDSHAKE_DATA &&
               session_open(conn, &hello, header->sequence, false);
    default:
        return false;
    }
}

static void call_trace(const struct wire_header *header, const struct ga_reader *reader)
{
    if (ga_log_enabled(GA_LOG_DEBUG)) {
        struct ga_reader copy = *reader;
        char text[300];
        (void)api_call_print(text, sizeof text, header->opcode, &copy);
        ga_debug("%u.%llu %s", header->session, (unsigned long long)header->sequence, text);
    }
}

/* A client that has read DATA_WELCOME does not send such a call. */
static bool call_lacking(struct server_conn *conn, const struct wire_header *header)
{
    if (conn->bulk.next.said ||
        (api_facts(header->opcode).bulk_values != 0 && !conn_bulk_skip(conn))) {
        return false;
    }
    if (api_op_set_has(&conn->silent, header->opcode)) {
        server_async_error(conn->app, header, CUDA_ERROR_NOT_SUPPORTED);
    } else {
        server_reply(conn->app, header, CUDA_ERROR_NOT_SUPPORTED);
    }
    return true;
}

/* By these a stream may wait for what only a later call does. */
static bool waits_for_value(uint16_t opcode)
{
    return opcode == API_OP_cuStreamWaitValue32_v2 || opcode == API_OP_cuStreamWaitValue64_v2;
}

static bool call_frame(struct server_conn *conn, const struct wire_header *header,
                       struct ga_reader *reader)
{
    conn->app->call = (struct server_call){.header = header,
                                           .session = conn_session(conn->app, header),
                                           .values = reader->size,
                                           .bytes = reader->data};
    if (conn->app->call.session == NULL) {
        return false;
    }
    server_handler *handler = server_dispatch_find(header->opcode);
    call_trace(header, reader);
    if (handler == NULL || (conn->lacks && api_op_set_has(&conn->lacking, header->opcode))) {
        return call_lacking(conn, header);
    }
    (void)GA_FAILPOINT("backend: before a call");
    if (conn->app->elsewhere) {
        context_apply(conn->app, conn->app->current);
        conn->app->elsewhere = false;
    }
    conn->app->waits_for_values = conn->app->waits_for_values || waits_for_value(header->opcode);
    struct call_check check;
    call_check_begin(&check, conn->app->ledger);
    bool good = handler(conn->app, header, reader);
    call_check_end(&check, conn->app, header->opcode);
    (void)GA_FAILPOINT("backend: after a call");
    return good;
}

/* A frame that is lost, comes twice or before its turn shows by its number, whatever carries them.
 * Greetings have none; a context, or where bulk is, has that of the call it stands before, if any.
 */
static bool in_turn(struct server_conn *conn, const struct wire_header *header)
{
    if (header->opcode < WIRE_API_FIRST && header->sequence == 0) {
        return true;
    }
    if (header->opcode == WIRE_CONTEXT || header->opcode == WIRE_BULK) {
        return header->sequence == conn->calls + 1;
    }
    return header->sequence == ++conn->calls;
}

/* One frame. GA_AGAIN: it is not here yet. GA_INVALID: it breaks the protocol. */
static enum ga_status conn_frame(struct server_conn *conn)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_header(&conn->reader, &header));
    const struct api_op_facts facts = api_facts(header.opcode);
    size_t bulk = facts.bulk_values;
    if (bulk != 0) {
        GA_TRY(frame_values(&conn->reader, bulk, &header, &values));
        /* Bytes that may be longer than a chunk always come in their frame. */
        if ((conn->bulk.next.said && facts.bulk_max > WIRE_CHUNK) ||
            header.length - bulk > facts.bulk_max) {
            return GA_INVALID;
        }
    } else {
        if (header.length > WIRE_VALUES_MAX || conn->bulk.next.said) {
            return GA_INVALID;
        }
        GA_TRY(frame_next(&conn->reader, &header, &values));
    }
    if (!in_turn(conn, &header)) {
        return GA_INVALID;
    }
    completer_hand_over(&conn->completer);
    GA_TRY(conn_wait_room(conn));
    struct ga_reader reader = ga_reader_of(values, bulk != 0 ? bulk : header.length);
    bool good = header.opcode < WIRE_API_FIRST ? wire_frame(conn, &header, &reader)
                                               : call_frame(conn, &header, &reader);
    if (!good) {
        return atomic_load(&conn->ended) ? GA_LOST : GA_INVALID;
    }
    frame_drop(&conn->reader);
    ledger_moved(conn->app->ledger, FIGURE_FRAMES_IN, sizeof header + header.length);
    if (header.opcode != WIRE_BULK) {
        conn->bulk.next = (struct bulk_prefix){0};
        if (rate_frame_is_due(&conn->app->rates, conn->app->ledger->quota,
                              sizeof header + header.length)) {
            (void)rate_wait(conn);
        }
    }
    return GA_OK;
}

static void between_frames(struct server_conn *conn)
{
#ifdef GPUAAS_FAILPOINTS
    if (conn->host->between_frames != NULL) {
        conn->host->between_frames(conn->host->user, conn->app);
    }
#else
    (void)conn;
#endif
}

static const char *conn_serve(struct server_conn *conn)
{
    while (!atomic_load(&conn->ended)) {
        conn_run_jobs(conn);
        conn_run_ends(conn);
        enum ga_status status = conn_frame(conn);
        if (status == GA_OK) {
            between_frames(conn);
        }
        if (status == GA_AGAIN) {
            conn_flush(conn);
            status = conn_wait_input(conn);
            status = status == GA_AGAIN ? GA_OK : status;
        }
        if (status == GA_INVALID) {
            return "its bytes break the protocol";
        }
        if (status != GA_OK) {
            return "the client is gone";
        }
    }
    return "it was ended";
}

/* ---- life */

struct conn_beginning {
    struct server_conn *conn;
    struct handshake_data_hello hello;
    uint64_t sequence;
};

static void *conn_run(void *argument)
{
    struct conn_beginning beginning = *(struct conn_beginning *)argument;
    struct server_conn *conn = beginning.conn;
    free(argument);
    ga_log_set_thread_client(conn->app->host->client);
    const char *why = "no session could be made";
    if (session_open(conn, &beginning.hello, beginning.sequence, true)) {
        why = conn_serve(conn);
    }
    completer_hand_over(&conn->completer);
    conn_flush(conn);
    meter_end(conn->app);
    atomic_store(&conn->ended, true);
    staging_end(&conn->staging);
    host_calls_end(&conn->host_calls);
    bool clean = conn->app->host->objects_free != NULL && conn_wind_up(conn);
    conn->host->ended(conn->host->user, why, clean);
    return NULL;
}

void conn_end(struct server_conn *conn)
{
    atomic_store(&conn->ended, true);
    staging_end(&conn->staging);
    host_calls_end(&conn->host_calls);
    send_queue_end(&conn->out);
    completer_interrupt(&conn->completer);
    (void)!eventfd_write(conn->wake_fd, 1);
}

static struct server_conn *conn_make(struct server_app *app, const struct conn_host *host,
                                     const struct transport_conn *transport,
                                     const struct frame_reader *reader,
                                     const struct channel_setup *setup)
{
    struct server_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        return NULL;
    }
    app->carrier = &conn_carrier;
    app->carried_by = conn;
    conn->app = app;
    conn->host = host;
    waiting_calls_init(&conn->waiting);
    completer_init(&conn->completer, conn);
    conn->transport = *transport;
    conn->reader = *reader;
    conn->queue_bytes = setup->conf.session_queue_bytes;
    conn->shared_buffers.most = setup->conf.shared_memory;
    conn->shared_buffers.ledger = app->ledger;
    conn->overflow_wait_ns = setup->conf.copy_overflow_wait_s * GA_NS_PER_S;
    staging_init(&conn->staging, app->driver, app->ledger, conn->queue_bytes,
                 setup->conf.copy_overflow);
    bulk_init(&conn->bulk);
    host_calls_init(&conn->host_calls, app->driver, app->ledger);
    send_queue_init(&conn->out, &conn->transport, &conn->staging);
    send_queue_pool_init(&conn->frames);
    pthread_mutex_init(&conn->job_lock, NULL);
    ga_list_init(&conn->jobs);
    ga_list_init(&conn->ends);
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (conn->wake_fd < 0) {
        conn_unmake(conn);
        return NULL;
    }
    return conn;
}

/* Takes `beginning` if it answers GA_OK. */
static enum ga_status conn_threads_start(struct server_conn *conn, struct conn_beginning *beginning)
{
    GA_TRY(completer_start(&conn->completer));
    enum ga_status status = output_attach(conn->app->host->output, &conn->app->output);
    if (status == GA_OK && pthread_create(&conn->thread, NULL, conn_run, beginning) != 0) {
        output_detach(conn->app->host->output, &conn->app->output);
        status = GA_NO_MEMORY;
    }
    if (status != GA_OK) {
        completer_stop(&conn->completer);
    }
    return status;
}

enum ga_status conn_start(struct server_conn **out, struct server_app *app,
                          const struct conn_host *host, const struct transport_conn *transport,
                          const struct frame_reader *reader, const struct channel_setup *setup,
                          const struct handshake_data_hello *hello, uint64_t sequence)
{
    struct conn_beginning *beginning = calloc(1, sizeof *beginning);
    struct server_conn *conn =
        beginning != NULL ? conn_make(app, host, transport, reader, setup) : NULL;
    if (conn == NULL) {
        free(beginning);
        return GA_NO_MEMORY;
    }
    *beginning = (struct conn_beginning){.conn = conn, .hello = *hello, .sequence = sequence};
    conn->lacks = api_signatures_compare(hello->signatures, hello->signature_count, &conn->lacking,
                                         &conn->silent) != 0;
    frame_drop(&conn->reader); /* the hello */
    (void)bulk_agree(conn, hello->takes);
    conn->takes_trim = (hello->takes & HANDSHAKE_TAKES_TRIM) != 0;
    conn->takes_notices = (hello->takes & HANDSHAKE_TAKES_NOTICES) != 0;
    app->output.taken = (hello->takes & HANDSHAKE_TAKES_OUTPUT) != 0;
    quota_listen(app->ledger->quota, server_notice, app);
    enum ga_status status = conn_threads_start(conn, beginning);
    if (status != GA_OK) {
        free(beginning);
        conn_unmake(conn);
        return status;
    }
    *out = conn;
    return GA_OK;
}
