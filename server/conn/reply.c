/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: replies, late errors. */
#include "server/conn/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call_info.h"
#include "base/log.h"
#include "server/app/fault.h"
#include "server/conn/conn.h"

void server_fail(struct server_app *app, const char *why)
{
    if (!atomic_exchange(&conn_of(app)->ended, true)) {
        ga_error("%s", why);
    }
    conn_end(conn_of(app));
}

struct ga_writer *server_reply_begin(struct server_app *app, const struct wire_header *header,
                                     CUresult rc, size_t bound)
{
    server_check_fault(app, rc);
    conn_of(app)->reply = send_queue_frame_make(&conn_of(app)->frames, 8 + bound + 32, WIRE_REPLY,
                                                header->session, header->sequence);
    if (conn_of(app)->reply == NULL) {
        server_fail(app, "no memory for a reply");
        return NULL;
    }
    ga_write_i32(&conn_of(app)->reply->writer, (int32_t)rc);
    ga_write_u32(&conn_of(app)->reply->writer, 0);
    return &conn_of(app)->reply->writer;
}

void server_reply_end(struct server_app *app)
{
    struct send_queue_frame *frame = conn_of(app)->reply;
    conn_of(app)->reply = NULL;
    if (frame == NULL) {
        return;
    }
    if (completer_is_idle(&conn_of(app)->completer)) {
        send_queue_expedite(&conn_of(app)->out, frame);
        return;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn_of(app)->completer, COMPLETER_FRAME, 0, 0);
    if (entry == NULL) {
        send_queue_frame_free(frame);
        server_fail(app, "no memory for a reply");
        return;
    }
    entry->frame = frame;
    completer_add(&conn_of(app)->completer, entry);
}

void server_reply(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    (void)server_reply_begin(app, header, rc, 0);
    server_reply_end(app);
}

struct completer_entry *server_entry_make(struct server_app *app, enum completer_kind kind)
{
    return completer_entry_make(&conn_of(app)->completer, kind, app->call.header->session,
                                app->call.header->sequence);
}

CUresult server_reply_after(struct server_app *app, struct event_ref *ref, uint64_t lane)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_REPLY);
    if (entry == NULL) {
        server_fail(app, "no memory for a reply");
    } else {
        entry->event = ref;
        entry->base.lane = lane;
        completer_add(&conn_of(app)->completer, entry);
    }
    return SERVER_ANSWERED;
}

bool server_answer(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    if (rc != SERVER_ANSWERED && rc != SERVER_BROKEN) {
        server_reply(app, header, rc);
    }
    return rc != SERVER_BROKEN;
}

void server_async_error(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    if (app->replay != NULL) {
        app->replay->rc = app->replay->rc == CUDA_SUCCESS ? rc : app->replay->rc;
        return;
    }
    server_check_fault(app, rc);
    char room[16];
    ga_debug("%s: %s", api_op_name(header->opcode), driver_result_name(app->driver, rc, room));
    struct send_queue_frame *frame = send_queue_frame_make(&conn_of(app)->frames, 16, WIRE_ERROR,
                                                           header->session, header->sequence);
    if (frame == NULL) {
        server_fail(app, "no memory for an error");
        return;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_u32(&frame->writer, header->opcode);
    ga_write_u64(&frame->writer, app->current != NULL ? app->current->handle : 0);
    send_queue_append(&conn_of(app)->out, frame);
}

bool server_answer_async(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    if (rc != CUDA_SUCCESS && rc != SERVER_ANSWERED && rc != SERVER_BROKEN) {
        server_async_error(app, header, rc);
    }
    return rc != SERVER_BROKEN;
}

static void notice_send(struct server_app *app, enum wire_notice kind, const char *text)
{
    struct send_queue_frame *frame =
        conn_of(app)->takes_notices
            ? send_queue_frame_make(NULL, WIRE_NOTICE_MAX + 33, WIRE_NOTICE, 0, 0)
            : NULL;
    if (frame != NULL) { /* else it is in the log alone */
        ga_write_u32(&frame->writer, kind);
        ga_write_string(&frame->writer, text);
        send_queue_append(&conn_of(app)->out, frame);
        completer_wake(&conn_of(app)->completer);
    }
}

void server_notice(void *user, const char *text)
{
    struct server_app *app = user;
    char line[WIRE_NOTICE_MAX + 1];
    snprintf(line, sizeof line, "%s", text);
    if (!atomic_load(&conn_of(app)->welcomed)) {
        free(atomic_exchange(&conn_of(app)->notice, strdup(line)));
        return;
    }
    notice_send(app, WIRE_NOTICE_NOTE, line);
}

void server_end_notice(struct server_app *app, const char *text)
{
    if (atomic_load(&conn_of(app)->welcomed)) {
        notice_send(app, WIRE_NOTICE_END, text);
    }
}
