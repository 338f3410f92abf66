/* SPDX-License-Identifier: Apache-2.0 */
/* A connection as the carrier of its application (carrier.h). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/conn/reply.h"

/* ---- waiting */

static void carrier_waited(struct server_app *app, struct completer_entry *entry)
{
    (void)app;
    *(bool *)(uintptr_t)entry->job_values[0] = true;
}

static void given_up(struct server_app *app, struct completer_entry *entry)
{
    (void)app, (void)entry;
}

/* Waits for a job. When that is given up, it is still under way and comes when nobody waits here
 * any more. (Jobs are the submit thread's, so it may change one that has not run.) */
static enum ga_status carrier_wait(struct server_app *app, struct event_marks *marks)
{
    struct server_conn *conn = conn_of(app);
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    bool done = false;
    if (entry == NULL) {
        event_marks_drop(app, marks);
        return GA_NO_MEMORY;
    }
    entry->marks = *marks;
    *marks = (struct event_marks){0};
    entry->job = carrier_waited;
    entry->job_values[0] = (uint64_t)(uintptr_t)&done;
    completer_add(&conn->completer, entry);
    enum ga_status status = conn_wait(conn, &done);
    if (status != GA_OK) {
        entry->job = given_up;
    }
    return status;
}

static bool carrier_gives_up(const struct server_app *app)
{
    return conn_gives_up(conn_of(app));
}

static enum ga_status carrier_pause(struct server_app *app, uint64_t most_ns)
{
    struct server_conn *conn = conn_of(app);
    completer_hand_over(&conn->completer);
    if (conn_gives_up(conn)) {
        return GA_LOST;
    }
    if (most_ns != 0) {
        conn_pause(conn, most_ns);
    }
    return GA_OK;
}

static bool carrier_awaits_program(struct server_app *app)
{
    return conn_awaits_program(conn_of(app));
}

/* ---- telling */

static void carrier_flush(struct server_app *app)
{
    conn_flush(conn_of(app));
}

static void carrier_fault(struct server_app *app, CUresult rc, const char *text)
{
    struct server_conn *conn = conn_of(app);
    struct send_queue_frame *frame =
        send_queue_frame_make(NULL, strlen(text) + 32, WIRE_FAULT, 0, 0);
    if (frame == NULL) {
        server_fail(app, "no memory to tell a fault");
        return;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_string(&frame->writer, text);
    send_queue_append(&conn->out, frame);
    send_queue_lift(&conn->out); /* who hears it late is gone before */
    completer_wake(&conn->completer);
}

static void carrier_print(struct server_app *app, enum wire_output to, const char *text,
                          size_t bytes)
{
    struct send_queue_frame *frame = send_queue_frame_make(NULL, 16 + bytes, WIRE_OUTPUT, 0, 0);
    if (frame == NULL) {
        ga_warn("no memory for what a kernel has printed: %zu bytes are lost", bytes);
        return;
    }
    ga_write_u32(&frame->writer, to);
    ga_write_u32(&frame->writer, (uint32_t)bytes);
    ga_write_array(&frame->writer, text, bytes, 1, 1);
    send_queue_append(&conn_of(app)->out, frame);
}

const struct app_carrier conn_carrier = {.wait = carrier_wait,
                                         .pause = carrier_pause,
                                         .gives_up = carrier_gives_up,
                                         .flush = carrier_flush,
                                         .awaits_program = carrier_awaits_program,
                                         .fault = carrier_fault,
                                         .fail = server_fail,
                                         .print = carrier_print};
