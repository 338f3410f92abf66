/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conn/conn_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/calls.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/app/fault.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/objects/context_open.h"
#include "server/objects/contexts.h"
#include "server/objects/mapped_memory.h"
#include "server/objects/session.h"

#define WINDOW_MAX (UINT64_C(1) << 46) /* more than any GPU has, less than all addresses */

static bool session_refuse(struct server_conn *conn, uint64_t sequence, CUresult rc,
                           const char *reason)
{
    ga_warn("session refused: %s", reason);
    struct send_queue_frame *frame =
        send_queue_frame_make(NULL, HANDSHAKE_STRING_MAX + 32, WIRE_REFUSED, 0, sequence);
    if (frame == NULL) {
        return false;
    }
    const struct handshake_refused refused = {.result = (int32_t)rc, .reason = reason};
    handshake_refused_write(&frame->writer, &refused);
    send_queue_append(&conn->out, frame);
    return true;
}

/* Makes the context that was asked for with the session, and maps its first block. */
static void context_wanted(struct server_conn *conn, struct server_session *session,
                           struct handshake_data_welcome *welcome)
{
    const struct handshake_context wanted = session->wanted;
    session->wanted.handle = 0;
    if (wanted.handle == 0) {
        return;
    }
    const struct ga_context_create_args args = {
        .context = wanted.handle, .kind = wanted.kind, .flags = wanted.flags};
    CUresult rc = context_open(conn->app, session, &args);
    welcome->context_made = true;
    welcome->context_result = (int32_t)rc;
    server_check_fault(conn->app, rc);
    if (rc != CUDA_SUCCESS || wanted.block_bytes == 0 || session->window.bytes == 0) {
        return;
    }
    struct server_context *before = conn->app->current;
    context_switch(conn->app, wanted.handle);
    if (memory_make(conn->app, session, conn->app->current, session->window.base,
                    wanted.block_bytes) == CUDA_SUCCESS) {
        welcome->block_bytes = wanted.block_bytes;
    }
    context_switch(conn->app, before != NULL ? before->handle : 0);
}

/* From now on the client takes notices, and the one that had to wait. */
static void welcomed(struct server_conn *conn)
{
    atomic_store(&conn->welcomed, true);
    char *notice = atomic_exchange(&conn->notice, NULL);
    if (notice != NULL) {
        server_notice(conn->app, notice);
        free(notice);
    }
}

static void session_bound(const struct server_app *app, const struct server_session *session)
{
    if (app->host->bound != NULL) {
        app->host->bound(app->host->user, session->gpu);
    }
}

static bool window_answer(struct server_conn *conn, struct server_session *session,
                          uint64_t sequence)
{
    uint16_t lacking[API_OPS];
    size_t count = conn->lacks ? api_op_set_list(&conn->lacking, lacking) : 0;
    struct send_queue_frame *frame = send_queue_frame_make(
        NULL, 144 + count * sizeof *lacking, WIRE_DATA_WELCOME, session->number, sequence);
    if (frame == NULL) {
        return false;
    }
    struct handshake_data_welcome welcome = {.session = session->number,
                                             .window = session->window,
                                             .lacking_count = (uint32_t)count,
                                             .lacking = lacking,
                                             .client_cache_bytes = conn->host->client_cache};
    welcome.takes = conn->bulk.compresses ? HANDSHAKE_TAKES_COMPRESSED : 0;
    if (session->agreed) {
        session_bound(conn->app, session);
        context_wanted(conn, session, &welcome);
    }
    (void)GA_FAILPOINT("backend: session made");
    handshake_data_welcome_write(&frame->writer, &welcome);
    send_queue_append(&conn->out, frame);
    if (session->agreed) {
        welcomed(conn);
    }
    return true;
}

/* There is no range that both ends could have: the driver will pick addresses. */
static bool window_waive(struct server_conn *conn, struct server_session *session, const char *why,
                         uint64_t sequence)
{
    ga_info("session %u runs unpinned: %s", session->number, why);
    session->agreed = true;
    return window_answer(conn, session, sequence);
}

/* One round of the talk about the window. */
static bool window_round(struct server_conn *conn, struct server_session *session,
                         const struct handshake_window *wanted, uint64_t sequence)
{
    char reason[200], room[16];
    uint64_t granularity = session->granularity_bytes;
    if (wanted->bytes > WINDOW_MAX || wanted->bytes % granularity != 0 ||
        wanted->base % granularity != 0) {
        (void)session_close(conn->app, session);
        return session_refuse(conn, sequence, CUDA_ERROR_INVALID_VALUE,
                              "the address window is no multiple of the device's granularity");
    }
    if (wanted->bytes != 0 && wanted->base == session->window.base &&
        wanted->bytes == session->window.bytes) {
        session->agreed = true; /* our own proposal came back */
        return window_answer(conn, session, sequence);
    }
    (void)session_window_release(conn->app, session);
    if (wanted->bytes == 0 || !session->mappable) {
        return window_waive(conn, session,
                            session->mappable ? "the client has no address range free"
                                              : "the driver maps no memory at given addresses",
                            sequence);
    }
    if (session->rounds++ == HANDSHAKE_WINDOW_ROUNDS) {
        snprintf(reason, sizeof reason, "no common address window of %llu GiB after %u proposals",
                 (unsigned long long)(wanted->bytes >> 30), HANDSHAKE_WINDOW_ROUNDS);
        return window_waive(conn, session, reason, sequence);
    }
    CUresult rc = session_window_reserve(conn->app, session, wanted);
    if (rc != CUDA_SUCCESS) {
        snprintf(reason, sizeof reason, "no address window of %llu GiB: %s",
                 (unsigned long long)(wanted->bytes >> 30),
                 driver_result_name(conn->app->driver, rc, room));
        return window_waive(conn, session, reason, sequence);
    }
    return window_answer(conn, session, sequence);
}

bool session_open(struct server_conn *conn, const struct handshake_data_hello *hello,
                  uint64_t sequence, bool admitted)
{
    const char *why = NULL;
    if (!admitted && conn->host->ticket(conn->host->user, hello, &why) != GA_OK) {
        return session_refuse(conn, sequence, CUDA_ERROR_NOT_PERMITTED, why);
    }
    if (session_exists(conn->app, hello->device)) {
        return session_refuse(conn, sequence, CUDA_ERROR_INVALID_DEVICE,
                              "the application has this device already");
    }
    struct server_session *session;
    CUresult rc = session_make(conn->app, hello->device,
                               conn->host->ordinal(conn->host->user, hello), &session);
    if (rc != CUDA_SUCCESS) {
        return session_refuse(conn, sequence, rc, "the device is not usable");
    }
    session->wanted = hello->context;
    return window_round(conn, session, &hello->window, sequence);
}

bool session_window(struct server_conn *conn, const struct wire_header *header,
                    struct ga_reader *reader)
{
    struct handshake_window wanted;
    if (handshake_window_read(reader, &wanted) != GA_OK || header->session == 0 ||
        header->session > CONF_GPUS_MAX) {
        return false;
    }
    struct server_session *session = conn->app->sessions[header->session];
    if (session == NULL || session->number == 0 || session->agreed) {
        return false;
    }
    return window_round(conn, session, &wanted, header->sequence);
}
