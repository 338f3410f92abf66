/* Newcomers, tickets, and whether anybody is still here. */
#include "server/backend/admission.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/wait.h"

#define TURN_MS         500 /* deadlines are seconds */
#define ACCEPT_PAUSE_MS 200

/* ---- what the data connection asks of the process */

static uint64_t ticket_ns(const struct backend *backend)
{
    return backend->setup.ticket_s * GA_NS_PER_S;
}

static enum ga_status host_ticket(void *user, const struct handshake_data_hello *hello,
                                  const char **why)
{
    struct backend *backend = user;
    admission_tickets(backend); /* it may have arrived before main has read it */
    pthread_mutex_lock(&backend->ticket_lock);
    enum ga_status status = tickets_use(&backend->tickets, hello, ga_clock_ns(), why);
    pthread_mutex_unlock(&backend->ticket_lock);
    return status;
}

static unsigned host_bulk_tickets(void *user, const struct transport_conn *conn,
                                  struct channel_ticket made[WIRE_BULKS_MAX])
{
    struct backend *backend = user;
    uint64_t now = ga_clock_ns();
    unsigned wanted = bulk_wanted(conn, backend->setup.bulk_connections), count = 0;
    pthread_mutex_lock(&backend->ticket_lock);
    while (count < wanted &&
           tickets_make(&backend->tickets, count, &made[count], now + ticket_ns(backend), now)) {
        count++;
    }
    pthread_mutex_unlock(&backend->ticket_lock);
    return count;
}

static bool host_packs(void *user)
{
    const struct backend *backend = user;
    return backend->setup.compression != 0;
}

static int host_ordinal(void *user, uint32_t device)
{
    const struct backend *backend = user;
    for (uint32_t i = 0; i < backend->setup.device_count; i++) {
        if (backend->setup.devices[i].device == device) {
            return (int)backend->setup.devices[i].ordinal;
        }
    }
    return -1;
}

static void host_ended(void *user, const char *why)
{
    struct backend *backend = user;
    snprintf(backend->conn_why, sizeof backend->conn_why, "%s", why);
    atomic_store(&backend->conn_ended, true);
    (void)!eventfd_write(backend->wake_fd, 1);
}

static enum ga_status host_exchange(void *user, struct channel_exchange *packet, int *fd)
{
    return control_request_ask(user, packet, fd);
}

/* ---- tickets */

void admission_init(struct backend *backend)
{
    pthread_mutex_init(&backend->ticket_lock, NULL);
    ga_cond_init(&backend->question.answered);
    memcpy(backend->tickets.application, backend->application.id,
           sizeof backend->tickets.application);
    backend->host = (struct server_host){.user = backend,
                                         .client_cache = backend->setup.client_cache,
                                         .ticket = host_ticket,
                                         .ordinal = host_ordinal,
                                         .exchange = host_exchange,
                                         .bulk_tickets = host_bulk_tickets,
                                         .packs = host_packs,
                                         .ended = host_ended};
    backend->idle_at_ns = ga_clock_ns() + ticket_ns(backend);
}

void admission_tickets(struct backend *backend)
{
    union channel_packet packet;
    enum ga_status status;
    pthread_mutex_lock(&backend->ticket_lock);
    int fd;
    while ((status = channel_receive_with(CHANNEL_FD, &packet, &fd)) == GA_OK) {
        if (packet.kind == CHANNEL_EXCHANGE && packet.exchange.verb == CHANNEL_TRIM &&
            packet.exchange.request == 0) {
            atomic_store(&backend->trim_wanted, true);
            (void)!eventfd_write(backend->wake_fd, 1); /* the main thread does it */
            continue;
        }
        if (packet.kind == CHANNEL_EXCHANGE) {
            control_request_answered(backend, &packet.exchange, fd);
            continue;
        }
        (void)GA_FAILPOINT("backend: ticket read");
        uint64_t now = ga_clock_ns();
        if (packet.kind == CHANNEL_TICKET &&
            !tickets_add(&backend->tickets, &packet.ticket, now + ticket_ns(backend), now)) {
            ga_warn("a ticket was dropped: there are too many");
        }
    }
    if (status == GA_LOST) {
        atomic_store(&backend->gpuaasd_gone, true);
        pthread_cond_broadcast(&backend->question.answered);
    }
    pthread_mutex_unlock(&backend->ticket_lock);
}

bool admission_key(void *user, const uint8_t *id, uint8_t *key)
{
    struct backend *backend = user;
    const char *why;
    admission_tickets(backend); /* it may have arrived before main has read it */
    pthread_mutex_lock(&backend->ticket_lock);
    const uint8_t *found = tickets_key(&backend->tickets, id, ga_clock_ns(), &why);
    if (found != NULL) {
        memcpy(key, found, sizeof backend->tickets.tickets[0].key);
    }
    pthread_mutex_unlock(&backend->ticket_lock);
    if (found == NULL) {
        ga_warn_of("", "a connection was refused: %s", why); /* whose it is is not known here */
    }
    return found != NULL;
}

/* ---- pending connections */

bool admission_accepts(const struct backend *backend)
{
    return backend->pending_conn_count < PENDING_CONNS_MAX &&
           ga_clock_ns() >= backend->accept_at_ns;
}

static enum ga_status pending_conn_accept(struct backend *backend,
                                          struct transport_listener *listener)
{
    struct pending_conn pending = {0};
    GA_TRY(listener->ops->accept(listener, &pending.conn));
    if (GA_FAILPOINT("backend: accepted") ||
        frame_reader_init(&pending.reader, CONN_BUFFER_BYTES) != GA_OK) {
        pending.conn.ops->close(&pending.conn);
        return GA_NO_MEMORY;
    }
    pending.deadline_ns = ga_clock_ns() + backend->setup.handshake_timeout_s * GA_NS_PER_S;
    backend->pending_conns[backend->pending_conn_count++] = pending;
    backend->accept_at_ns = 0;
    return GA_OK;
}

void admission_accept(struct backend *backend, struct transport_listener *listener)
{
    enum ga_status status = GA_OK;
    while (status == GA_OK && admission_accepts(backend)) {
        status = pending_conn_accept(backend, listener);
    }
    if (status != GA_OK && status != GA_AGAIN) {
        if (backend->accept_at_ns == 0) { /* told once, not five times a second */
            ga_warn("cannot accept connections for now: no descriptors or memory left");
        }
        backend->accept_at_ns = ga_clock_ns() + ACCEPT_PAUSE_MS * GA_NS_PER_MS;
    }
}

/* A fresh connection takes so few bytes at once, or it is none. */
static void pending_conn_say(struct pending_conn *pending, const uint8_t *frame, size_t size)
{
    for (unsigned tries = 0; size != 0 && tries < 64; tries++) {
        struct iovec piece = {(void *)(uintptr_t)frame, size};
        size_t sent = 0;
        if (pending->conn.ops->send(&pending->conn, &piece, 1, &sent) == GA_LOST) {
            return;
        }
        frame += sent;
        size -= sent;
    }
}

static void pending_conn_warn(const struct pending_conn *pending, const char *what, const char *why)
{
    char client[TRANSPORT_PEER_BYTES];
    transport_peer(&pending->conn, client);
    ga_warn_of(client, "a connection %s%s", what, why);
}

static void pending_conn_refuse(struct pending_conn *pending, uint64_t sequence, CUresult rc,
                                const char *reason)
{
    _Alignas(16) uint8_t frame[sizeof(struct wire_header) + 512];
    struct ga_writer writer = ga_writer_of(frame + sizeof(struct wire_header), 512);
    const struct handshake_refused refused = {.result = (int32_t)rc, .reason = reason};
    pending_conn_warn(pending, "was refused: ", reason);
    handshake_refused_write(&writer, &refused);
    const struct wire_header header = {
        .length = (uint32_t)writer.at, .opcode = WIRE_REFUSED, .sequence = sequence};
    memcpy(frame, &header, sizeof header);
    pending_conn_say(pending, frame, sizeof header + writer.at);
}

static enum ga_status side_welcome(struct backend *backend, const struct pending_conn *pending,
                                   uint64_t sequence)
{
    _Alignas(16) uint8_t values[128];
    struct ga_writer writer = ga_writer_of(values, sizeof values);
    const struct handshake_data_welcome welcome = {0};
    handshake_data_welcome_write(&writer, &welcome);
    transport_side_init(&backend->side, &pending->conn, &pending->reader,
                        backend->setup.dead_after_s * 1000);
    GA_TRY(transport_side_send(&backend->side, WIRE_DATA_WELCOME, sequence, values, writer.at));
    backend->side_open = true;
    (void)GA_FAILPOINT("backend: side connection open");
    return GA_OK;
}

/* The client reads there without frames from now on: what it has said behind its hello, it has said
 * too early. */
static enum ga_status bulk_admit(struct backend *backend, struct pending_conn *pending,
                                 const struct wire_header *header, uint32_t number)
{
    _Alignas(16) uint8_t frame[sizeof(struct wire_header) + 64];
    struct ga_writer writer = ga_writer_of(frame + sizeof *header, sizeof frame - sizeof *header);
    const struct handshake_data_welcome welcome = {0};
    frame_drop(&pending->reader);
    if (pending->reader.start != pending->reader.end || backend->conn == NULL) {
        return GA_INVALID;
    }
    handshake_data_welcome_write(&writer, &welcome);
    const struct wire_header answer = {
        .length = (uint32_t)writer.at, .opcode = WIRE_DATA_WELCOME, .sequence = header->sequence};
    memcpy(frame, &answer, sizeof answer);
    GA_TRY(bulk_attach(&backend->conn->bulk, number, &pending->conn));
    pending_conn_say(pending, frame,
                     sizeof answer + writer.at); /* it is there when the client knows */
    frame_reader_fini(&pending->reader);
    return GA_OK;
}

/* The pending connection has shown a good ticket. GA_OK: its connection has been taken over. */
static enum ga_status pending_conn_admit(struct backend *backend, struct pending_conn *pending,
                                         const struct wire_header *header,
                                         const struct handshake_data_hello *hello)
{
    if (hello->kind == HANDSHAKE_SIDE) {
        if (backend->side_open) {
            pending_conn_refuse(pending, header->sequence, CUDA_ERROR_NOT_PERMITTED,
                                "there is a side connection already");
            return GA_DENIED;
        }
        frame_drop(&pending->reader);
        return side_welcome(backend, pending, header->sequence);
    }
    if (hello->kind == HANDSHAKE_BULK) {
        return bulk_admit(backend, pending, header, hello->device);
    }
    /* Either the client breaks the protocol, or its first connection has failed and it is quicker
     * to try again than this process is to notice, and to end: no program may see another error
     * than that there is no device for it. */
    if (backend->conn != NULL) {
        pending_conn_refuse(pending, header->sequence, CUDA_ERROR_DEVICE_UNAVAILABLE,
                            "there is or was a data connection: open further devices on it");
        return GA_DENIED;
    }
    GA_TRY(conn_start(&backend->conn, &backend->driver, &backend->host, &pending->conn,
                      &pending->reader, &backend->setup, hello, header->sequence));
    backend->conn_since_ns = ga_clock_ns();
    return GA_OK;
}

/* Whether this is a hello of another protocol major, whose rest may have another shape. */
static bool major_differs(const uint8_t *values, uint32_t size, uint32_t *major)
{
    struct ga_reader reader = ga_reader_of(values, size);
    uint32_t magic = ga_read_u32(&reader);
    *major = ga_read_u32(&reader);
    return !reader.failed && magic == WIRE_MAGIC && *major != WIRE_MAJOR;
}

/* GA_AGAIN: it has not said all. GA_OK: taken over. Everything else: to be closed. */
static enum ga_status pending_conn_turn(struct backend *backend, struct pending_conn *pending)
{
    struct wire_header header;
    const uint8_t *values;
    enum ga_status status = frame_next(&pending->reader, &header, &values);
    if (status == GA_AGAIN) {
        status = frame_fill(&pending->reader, &pending->conn);
        if (status == GA_OK) {
            status = frame_next(&pending->reader, &header, &values);
        }
    }
    if (status == GA_AGAIN && ga_clock_ns() > pending->deadline_ns) {
        pending_conn_warn(pending, "has not said who it is in time", "");
        return GA_TIMEOUT;
    }
    if (status == GA_LOST && transport_error_text(&pending->conn) != NULL) {
        pending_conn_warn(pending, "was refused: ", transport_error_text(&pending->conn));
    }
    GA_TRY(status);
    uint32_t major;
    if (header.opcode == WIRE_DATA_HELLO && major_differs(values, header.length, &major)) {
        char reason[200];
        snprintf(reason, sizeof reason,
                 "protocol %u of the client does not go with protocol %u of the server (gpuaas "
                 "%s)",
                 major, WIRE_MAJOR, GPUAAS_VERSION);
        pending_conn_refuse(pending, header.sequence, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, reason);
        return GA_DENIED;
    }
    struct ga_reader reader = ga_reader_of(values, header.length);
    struct handshake_data_hello hello;
    if (header.opcode != WIRE_DATA_HELLO || handshake_data_hello_read(&reader, &hello) != GA_OK) {
        pending_conn_warn(pending, "was refused: ", "its bytes are no gpuaas protocol");
        return GA_INVALID;
    }
    (void)GA_FAILPOINT("backend: hello read");
    const char *why;
    if (host_ticket(backend, &hello, &why) != GA_OK) {
        pending_conn_refuse(pending, header.sequence, CUDA_ERROR_NOT_PERMITTED, why);
        return GA_DENIED;
    }
    return pending_conn_admit(backend, pending, &header, &hello);
}

static void pending_conns_turn(struct backend *backend)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < backend->pending_conn_count; i++) {
        struct pending_conn pending = backend->pending_conns[i];
        enum ga_status status = pending_conn_turn(backend, &pending);
        if (status == GA_AGAIN) {
            backend->pending_conns[kept++] = pending;
        } else if (status != GA_OK) {
            pending.conn.ops->close(&pending.conn);
            frame_reader_fini(&pending.reader);
        }
    }
    backend->pending_conn_count = kept;
}

/* ---- who is still here */

static void idle_tell(struct backend *backend)
{
    uint64_t now = ga_clock_ns();
    if (backend->conn != NULL || now < backend->idle_at_ns) {
        return;
    }
    pthread_mutex_lock(&backend->ticket_lock);
    bool any = tickets_any(&backend->tickets, now);
    const struct channel_idle idle = {.kind = CHANNEL_IDLE, .tickets = backend->tickets.arrived};
    pthread_mutex_unlock(&backend->ticket_lock);
    if (!any) {
        (void)!channel_send(CHANNEL_FD, &idle, sizeof idle); /* gpuaasd closes the channel */
    }
    backend->idle_at_ns = now + GA_NS_PER_S;
}

/* A client that has nothing to give back need not be asked. */
static void trim(struct backend *backend)
{
    const struct channel_exchange done = {.kind = CHANNEL_EXCHANGE, .verb = CHANNEL_TRIMMED};
    bool asked = backend->conn != NULL && backend->conn->takes_trim && backend->side_open &&
                 transport_side_send(&backend->side, WIRE_TRIM, 0, NULL, 0) == GA_OK;
    if (!asked) {
        (void)!channel_send(CHANNEL_FD, &done, sizeof done);
    }
}

const char *admission_turn(struct backend *backend)
{
    eventfd_t count;
    (void)!eventfd_read(backend->wake_fd, &count);
    if (atomic_load(&backend->gpuaasd_gone)) {
        return "gpuaasd has closed the channel";
    }
    pending_conns_turn(backend);
    if (atomic_load(&backend->conn_ended)) {
        ga_info("session ended: %s", backend->conn_why);
        return "its application is gone";
    }
    const char *why = backend->side_open ? side_turn(backend) : NULL;
    if (why != NULL) {
        return why;
    }
    if (atomic_exchange(&backend->trim_wanted, false)) {
        trim(backend);
    }
    if (backend->conn != NULL && !backend->side_open &&
        ga_clock_ns() - backend->conn_since_ns > ticket_ns(backend)) {
        ga_warn("session ended: the client has opened no side connection in time");
        return "no side connection";
    }
    idle_tell(backend);
    return NULL;
}

int admission_timeout_ms(const struct backend *backend)
{
    uint64_t beat_ms = transport_side_interval_ns(&backend->side) / GA_NS_PER_MS;
    return backend->side_open && beat_ms < TURN_MS ? (int)beat_ms : TURN_MS;
}
