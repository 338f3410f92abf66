/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: replies, late errors, faults. */
#include "server/session/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call_info.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/session/conn.h"

void server_fail(struct server_app *app, const char *why)
{
    if (!atomic_exchange(&app->conn->ended, true)) {
        ga_error("%s", why);
    }
    conn_end(app->conn);
}

/* Newer than the oldest cuda.h that we build with. */
enum { CONTAINED = 226, TENSOR_MEMORY_LEAK = 721, EXTERNAL_DEVICE = 911 };

/* The errors of which cuda.h says that they leave the process in an inconsistent state. */
bool server_is_fault(CUresult rc)
{
    switch ((int)rc) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

static void kernel_time_note(struct quota *quota)
{
    char allowed[LIMITS_TEXT_MAX], text[120];
    uint64_t most = quota_limit_of(quota, LIMIT_KERNEL_TIME);
    if (most != LIMIT_NONE) {
        limits_value_write(LIMIT_KERNEL_TIME, most, allowed);
        snprintf(text, sizeof text, "%s allowed, a kernel has run longer and was stopped", allowed);
        quota_note(quota, LIMIT_KERNEL_TIME, text);
    }
}

static bool fault_tell(struct server_app *app, CUresult rc, const char *text)
{
    struct send_queue_frame *frame =
        send_queue_frame_make(NULL, strlen(text) + 32, WIRE_FAULT, 0, 0);
    if (frame == NULL) {
        return false;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_string(&frame->writer, text);
    send_queue_append(&app->conn->out, frame);
    send_queue_lift(&app->conn->out); /* who hears it late is gone before */
    completer_wake(&app->completer);
    return true;
}

void server_kernel_over(struct server_app *app)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&app->fault, &none, (int)CUDA_ERROR_LAUNCH_FAILED)) {
        server_fail(app, "a kernel cannot be stopped: this backend process ends");
        return;
    }
    app->meter.grace_ns += GA_NS_PER_S; /* until then its client has gone, or has to */
    kernel_time_note(app->ledger->quota);
    if (!fault_tell(app, CUDA_ERROR_LAUNCH_FAILED,
                    "a kernel has run for longer than the limit kernel-time")) {
        server_fail(app, "no memory to tell a fault");
    }
    conn_flush(app->conn);
}

/* A new program gets this result on a device that has failed or gone; or it has another cause. */
static bool reply_is_gone(CUresult rc)
{
    return rc == CUDA_ERROR_DEVICE_UNAVAILABLE || rc == CUDA_ERROR_NO_DEVICE ||
           rc == CUDA_ERROR_SYSTEM_NOT_READY || rc == CUDA_ERROR_UNKNOWN;
}

void server_check_fault(struct server_app *app, CUresult rc)
{
    int none = 0;
    if (reply_is_gone(rc) || server_is_fault(rc)) { /* gpuaasd may ask whether it is the device's */
        atomic_store(&app->ledger->figures->fault, (uint32_t)rc);
    }
    if (!server_is_fault(rc) || atomic_load(&app->fault) != 0) {
        return;
    }
    output_of_context(app); /* before anybody is told, with the fault or by another answer */
    if (!atomic_compare_exchange_strong(&app->fault, &none, (int)rc)) {
        return;
    }
    if (rc == CUDA_ERROR_LAUNCH_TIMEOUT && app->ledger->quota != NULL) {
        kernel_time_note(app->ledger->quota);
    }
    char room[16], text[160];
    snprintf(text, sizeof text, "execution fault on the GPU: %s",
             driver_result_name(app->driver, rc, room));
    ga_warn("%s; this backend process serves nothing more", text);
    if (!fault_tell(app, rc, text)) {
        server_fail(app, "no memory to tell a fault");
    }
}

struct ga_writer *server_reply_begin(struct server_app *app, const struct wire_header *header,
                                     CUresult rc, size_t bound)
{
    server_check_fault(app, rc);
    app->conn->reply = send_queue_frame_make(&app->conn->frames, 8 + bound + 32, WIRE_REPLY,
                                             header->session, header->sequence);
    if (app->conn->reply == NULL) {
        server_fail(app, "no memory for a reply");
        return NULL;
    }
    ga_write_i32(&app->conn->reply->writer, (int32_t)rc);
    ga_write_u32(&app->conn->reply->writer, 0);
    return &app->conn->reply->writer;
}

void server_reply_end(struct server_app *app)
{
    struct send_queue_frame *frame = app->conn->reply;
    app->conn->reply = NULL;
    if (frame == NULL) {
        return;
    }
    if (completer_is_idle(&app->completer)) {
        send_queue_expedite(&app->conn->out, frame);
        return;
    }
    struct completer_entry *entry = completer_entry_make(&app->completer, COMPLETER_FRAME, 0, 0);
    if (entry == NULL) {
        send_queue_frame_free(frame);
        server_fail(app, "no memory for a reply");
        return;
    }
    entry->frame = frame;
    completer_add(&app->completer, entry);
}

void server_reply(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    (void)server_reply_begin(app, header, rc, 0);
    server_reply_end(app);
}

struct completer_entry *server_entry_make(struct server_app *app, enum completer_kind kind)
{
    return completer_entry_make(&app->completer, kind, app->call.header->session,
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
        completer_add(&app->completer, entry);
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
    struct send_queue_frame *frame = send_queue_frame_make(&app->conn->frames, 16, WIRE_ERROR,
                                                           header->session, header->sequence);
    if (frame == NULL) {
        server_fail(app, "no memory for an error");
        return;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_u32(&frame->writer, header->opcode);
    ga_write_u64(&frame->writer, app->current != NULL ? app->current->handle : 0);
    send_queue_append(&app->conn->out, frame);
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
        app->conn->takes_notices
            ? send_queue_frame_make(NULL, WIRE_NOTICE_MAX + 33, WIRE_NOTICE, 0, 0)
            : NULL;
    if (frame != NULL) { /* else it is in the log alone */
        ga_write_u32(&frame->writer, kind);
        ga_write_string(&frame->writer, text);
        send_queue_append(&app->conn->out, frame);
        completer_wake(&app->completer);
    }
}

void server_notice(void *user, const char *text)
{
    struct server_app *app = user;
    char line[WIRE_NOTICE_MAX + 1];
    snprintf(line, sizeof line, "%s", text);
    if (!atomic_load(&app->conn->welcomed)) {
        free(atomic_exchange(&app->conn->notice, strdup(line)));
        return;
    }
    notice_send(app, WIRE_NOTICE_NOTE, line);
}

void server_end_notice(struct server_app *app, const char *text)
{
    if (atomic_load(&app->conn->welcomed)) {
        notice_send(app, WIRE_NOTICE_END, text);
    }
}
