/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the service thread for one connection; session/service.c is the thread. */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/conn/conn_internal.h"
#include "client/process/environment.h"

static uint64_t conn_service_sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sends what has waited long enough, and reads what nobody waits for; returns when that is due
 * again. */
static uint64_t move(struct client_conn *conn, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    uint64_t oldest = atomic_load(&conn->oldest_ns);
    if (oldest != 0 && now >= oldest + conn->flush_ns) {
        client_conn_flush(conn);
        oldest = atomic_load(&conn->oldest_ns);
        if (oldest != 0 && now >= oldest + conn->flush_ns) {
            next = now + GA_NS_PER_MS; /* the socket is full, and no thread waits for it */
            oldest = 0;
        }
    }
    if (oldest != 0) {
        next = conn_service_sooner(next, oldest + conn->flush_ns);
    }
    if (atomic_load(&conn->unwaited) != 0) {
        uint64_t due = atomic_load(&conn->read_ns) + CONN_DRAIN_NS;
        if (now >= due) {
            client_conn_read(conn);
            due = now + CONN_DRAIN_NS;
        }
        next = conn_service_sooner(next, due);
    }
    return next;
}

static void side_failed(struct client_conn *conn, enum ga_status status)
{
    char why[80] = "its side connection ended";
    if (status == GA_TIMEOUT) {
        snprintf(why, sizeof why, "no sign of life for %u s", client_environment_dead_after_s());
    }
    client_conn_lose(conn, why);
}

/* Takes a notice of the server's operator. False: nonsense. */
static bool take_notice(struct client_conn *conn, const struct wire_header *header,
                        const uint8_t *values)
{
    struct ga_reader reader = ga_reader_of(values, header->length);
    uint32_t kind = ga_read_u32(&reader);
    const char *text = ga_read_string(&reader, WIRE_NOTICE_MAX);
    if (reader.failed || text == NULL) {
        return false;
    }
    if (kind == WIRE_NOTICE_END) {
        client_conn_lose(conn, text);
    } else if (!atomic_load(&conn->quiet)) {
        ga_warn("%s: %s", conn->name, text);
    }
    return true;
}

/* Reads the side connection. Skips the answer to the greeting, and messages of newer servers that
 * this library does not know. */
static void read_side(struct client_conn *conn)
{
    struct wire_header header;
    const uint8_t *values;
    enum ga_status status;
    while ((status = transport_side_receive(&conn->side, &header, &values)) == GA_OK) {
        if (header.opcode == WIRE_TRIM) {
            conn->hooks->trim(conn);
        } else if (header.opcode == WIRE_NOTICE && !take_notice(conn, &header, values)) {
            status = GA_INVALID;
            break;
        }
    }
    if (status != GA_AGAIN) {
        side_failed(conn, status);
    }
}

/* Gives back memory of an idle connection. */
static void rest(struct client_conn *conn, uint64_t now_ns)
{
    if (conn->data.ops->idle == NULL) {
        return;
    }
    pthread_mutex_lock(&conn->send_lock);
    if (!conn->exclusive && conn->out_start == conn->out_end) {
        conn->data.ops->idle(&conn->data, now_ns);
    }
    pthread_mutex_unlock(&conn->send_lock);
}

/* Pings if that is due; returns when it is due again. */
static uint64_t conn_heartbeat(struct client_conn *conn, uint64_t now)
{
    uint64_t due = conn->side.liveness.looked_ns + transport_side_interval_ns(&conn->side);
    if (now < due) {
        return due;
    }
    rest(conn, now);
    conn->hooks->rest(conn, now);
    enum ga_status status = transport_side_heartbeat(&conn->side, now);
    if (status != GA_OK) {
        side_failed(conn, status);
        return UINT64_MAX;
    }
    return now + transport_side_interval_ns(&conn->side);
}

uint64_t client_conn_serve(struct client_conn *conn, uint64_t now_ns)
{
    uint64_t next = conn_heartbeat(conn, now_ns);
    return conn_service_sooner(next, move(conn, now_ns));
}

static unsigned await_data(struct client_conn *conn, struct pollfd *at)
{
    unsigned count;
    struct transport_conn *from;
    while ((from = conn_awaited(conn), count = from->ops->poll_prepare(from, POLLIN, at)) == 0 &&
           conn_read_free(conn) && atomic_load(&conn->facts.dead) == 0) {
        client_conn_read(conn);
    }
    return count;
}

static unsigned await_side(struct client_conn *conn, struct pollfd *at)
{
    unsigned count;
    while ((count = transport_side_poll_prepare(&conn->side, at)) == 0 &&
           atomic_load(&conn->facts.dead) == 0) {
        read_side(conn);
    }
    return count;
}

unsigned client_conn_polls(struct client_conn *conn, struct pollfd *at)
{
    unsigned count = 0;
    if (atomic_load(&conn->facts.dead) == 0) {
        count = await_side(conn, at);
    }
    if (atomic_load(&conn->facts.dead) == 0 && atomic_load(&conn->host_calls) != 0 &&
        conn_read_free(conn)) {
        count += await_data(conn, at + count);
    }
    return count;
}

void client_conn_polled(struct client_conn *conn, int fd)
{
    if (fd == conn->side.conn.fd) {
        read_side(conn);
    } else {
        client_conn_read(conn);
    }
}
