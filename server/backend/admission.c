/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets, and connections that show one. */
#include "server/backend/admission.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/wait.h"
#include "server/backend/application.h"
#include "server/backend/backend.h"
#include "server/backend/control_request.h"
#include "server/backend/seats.h"

/* ---- tickets */

void admission_init(struct backend *backend)
{
    pthread_mutex_init(&backend->ticket_lock, NULL);
    ga_cond_init(&backend->request.answered);
}

/* The application that has the ticket; with the lock. Nobody has it: the first one, which says so.
 */
static struct application *application_of_ticket(struct backend *backend, const uint8_t *id)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (tickets_has(&backend->applications[i].tickets, id)) {
            return &backend->applications[i];
        }
    }
    return &backend->applications[0];
}

/* That which the ticket is for; with the lock. NULL: it has ended. (The application may have
 * another seat here, which it has left and which is not free yet.) */
static struct application *application_of_told(struct backend *backend,
                                               const struct channel_ticket *ticket)
{
    struct application *application =
        ticket->seat < CHANNEL_SEATS ? &backend->applications[ticket->seat] : NULL;
    bool same = application != NULL && memcmp(application->identity.id, ticket->application,
                                              sizeof ticket->application) == 0;
    return same ? application : NULL;
}

enum ga_status admission_ticket(struct application *application,
                                const struct handshake_data_hello *hello, const char **why)
{
    struct backend *backend = application->backend;
    admission_read(backend); /* it may have arrived before main has read it */
    pthread_mutex_lock(&backend->ticket_lock);
    enum ga_status status = tickets_use(&application->tickets, hello, ga_clock_ns(), why);
    pthread_mutex_unlock(&backend->ticket_lock);
    return status;
}

/* The main thread carries out what gpuaasd wants of an application (seats.h). */
static void seat_told(struct backend *backend, const union channel_packet *packet)
{
    bool arrives = packet->kind == CHANNEL_APPLICATION;
    uint32_t seat = arrives ? packet->application.seat : packet->seat.seat;
    if (seat >= CHANNEL_SEATS) {
        return;
    }
    struct application *application = &backend->applications[seat];
    if (arrives) {
        application_told(application, &packet->application);
        /* LEAVE and ALONE may have crossed the last one's end. */
        atomic_store(&application->leaving, false);
        atomic_store(&application->alone, false);
    } else if (packet->kind == CHANNEL_ALONE) {
        atomic_store(&application->alone, true);
    }
    atomic_store(arrives                         ? &application->arrived
                 : packet->kind == CHANNEL_LEAVE ? &application->leaving
                                                 : &application->asked,
                 true);
    (void)!eventfd_write(backend->wake_fd, 1);
}

/* The main thread passes it on: it alone knows the side connection. */
static void notice_told(struct backend *backend, const struct channel_notice *packet)
{
    struct application *application =
        packet->seat < CHANNEL_SEATS ? &backend->applications[packet->seat] : NULL;
    bool ends = application != NULL && atomic_load(&application->notified) &&
                application->notice.notice == WIRE_NOTICE_END;
    if (application != NULL && !ends) { /* why it ends is the last that it hears */
        application->notice = *packet;
        atomic_store(&application->notified, true);
        (void)!eventfd_write(backend->wake_fd, 1);
    }
}

static void void_told(struct backend *backend, const struct channel_claim *packet)
{
    struct channel_claim answer = *packet;
    if (packet->seat < CHANNEL_SEATS) {
        (void)GA_FAILPOINT("backend: before a claim is taken back");
        answer.used = tickets_void(&backend->applications[packet->seat].tickets, packet->gpu);
        (void)!outbox_send(backend, &answer, sizeof answer, -1); /* else it is gone */
        (void)GA_FAILPOINT("backend: claim taken back");
    }
}

static void fetch_told(const struct backend *backend, const struct channel_request *packet, int fd)
{
    if (fd >= 0) {
        close(fd); /* it asks for one, and brings none */
    }
    if (packet->seat < CHANNEL_SEATS) {
        application_fetched(&backend->applications[packet->seat], packet);
    }
}

/* If the application has ended here, gpuaasd is told so next: that answers its recall, too. */
static void quota_told(struct backend *backend, const union channel_packet *packet)
{
    uint32_t seat = packet->kind == CHANNEL_LIMITS ? packet->limits.seat : packet->request.seat;
    struct quota *quota = seats_quota(backend, seat);
    if (quota == NULL) {
        return;
    }
    if (packet->kind == CHANNEL_LIMITS) {
        quota_limit(quota, &packet->limits.limits, packet->limits.own);
    } else {
        quota_recall(quota, &packet->request);
    }
}

void admission_read(struct backend *backend)
{
    union channel_packet packet;
    enum ga_status status;
    pthread_mutex_lock(&backend->ticket_lock);
    int fd;
    while ((status = channel_receive_with(CHANNEL_FD, &packet, &fd)) == GA_OK) {
        if (packet.kind == CHANNEL_REQUEST && packet.request.verb == CHANNEL_TRIM &&
            packet.request.number == 0) {
            atomic_store(&backend->trim_wanted, true);
            (void)!eventfd_write(backend->wake_fd, 1); /* the main thread does it */
            continue;
        }
        if (packet.kind == CHANNEL_REQUEST && packet.request.verb == CHANNEL_FETCH) {
            fetch_told(backend, &packet.request, fd);
            continue;
        }
        if (packet.kind == CHANNEL_LIMITS ||
            (packet.kind == CHANNEL_REQUEST && packet.request.verb == CHANNEL_RECALL)) {
            quota_told(backend, &packet);
            continue;
        }
        if (packet.kind == CHANNEL_REQUEST) {
            control_request_answered(backend, &packet.request, fd);
            continue;
        }
        if (packet.kind == CHANNEL_APPLICATION || packet.kind == CHANNEL_LEAVE ||
            packet.kind == CHANNEL_ALONE) {
            seat_told(backend, &packet);
            continue;
        }
        if (packet.kind == CHANNEL_VOID) {
            void_told(backend, &packet.claim);
            continue;
        }
        if (packet.kind == CHANNEL_NOTICE) {
            notice_told(backend, &packet.notice);
            continue;
        }
        if (packet.kind == CHANNEL_TURNS) {
            atomic_store(&backend->turns_begin, true);
            (void)!eventfd_write(backend->wake_fd, 1); /* the main thread does it */
            continue;
        }
        (void)GA_FAILPOINT("backend: ticket read");
        uint64_t now = ga_clock_ns();
        struct application *application =
            packet.kind == CHANNEL_TICKET ? application_of_told(backend, &packet.ticket) : NULL;
        if (application != NULL) {
            atomic_store(&application->alone, false); /* its client is here again */
        }
        if (application != NULL && !tickets_add(&application->tickets, &packet.ticket,
                                                now + backend_ticket_ns(backend), now)) {
            ga_warn("a ticket was dropped: there are too many");
        }
    }
    if (status == GA_LOST) {
        atomic_store(&backend->gpuaasd_gone, true);
        pthread_cond_broadcast(&backend->request.answered);
    }
    pthread_mutex_unlock(&backend->ticket_lock);
}

static struct application *application_of_hello(struct backend *backend,
                                                const struct handshake_data_hello *hello)
{
    admission_read(backend); /* its ticket may have arrived before main has read it */
    pthread_mutex_lock(&backend->ticket_lock);
    struct application *application = application_of_ticket(backend, hello->id);
    pthread_mutex_unlock(&backend->ticket_lock);
    return application;
}

bool admission_key(void *user, const uint8_t *id, uint8_t *key)
{
    struct backend *backend = user;
    const char *why;
    admission_read(backend); /* it may have arrived before main has read it */
    pthread_mutex_lock(&backend->ticket_lock);
    const struct application *application = application_of_ticket(backend, id);
    const uint8_t *found = tickets_key(&application->tickets, id, ga_clock_ns(), &why);
    if (found != NULL) {
        memcpy(key, found, sizeof application->tickets.tickets[0].key);
    }
    pthread_mutex_unlock(&backend->ticket_lock);
    if (found == NULL) {
        ga_warn_of("", "a connection was refused: %s", why); /* whose it is is not known here */
    }
    return found != NULL;
}

/* ---- what pending connections say */

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

/* The client reads there without frames from now on: what it has said behind its hello, it has said
 * too early. */
static enum ga_status bulk_admit(const struct application *application,
                                 struct pending_conn *pending, const struct wire_header *header,
                                 uint32_t number)
{
    _Alignas(16) uint8_t frame[sizeof(struct wire_header) + 64];
    struct ga_writer writer = ga_writer_of(frame + sizeof *header, sizeof frame - sizeof *header);
    const struct handshake_data_welcome welcome = {0};
    frame_drop(&pending->reader);
    if (pending->reader.start != pending->reader.end || application->conn == NULL) {
        return GA_INVALID;
    }
    handshake_data_welcome_write(&writer, &welcome);
    const struct wire_header answer = {
        .length = (uint32_t)writer.at, .opcode = WIRE_DATA_WELCOME, .sequence = header->sequence};
    memcpy(frame, &answer, sizeof answer);
    GA_TRY(bulk_attach(&application->conn->bulk, number, &pending->conn));
    pending_conn_say(pending, frame,
                     sizeof answer + writer.at); /* it is there when the client knows */
    frame_reader_fini(&pending->reader);
    return GA_OK;
}

/* The pending connection has shown a good ticket. GA_OK: its connection has been taken over. */
static enum ga_status pending_conn_admit(struct application *application,
                                         struct pending_conn *pending,
                                         const struct wire_header *header,
                                         const struct handshake_data_hello *hello)
{
    if (application->state != APPLICATION_SERVED) {
        pending_conn_refuse(pending, header->sequence, CUDA_ERROR_DEVICE_UNAVAILABLE,
                            "its application is ending here");
        return GA_DENIED;
    }
    if (hello->kind == HANDSHAKE_SIDE) {
        if (application->side_open) {
            pending_conn_refuse(pending, header->sequence, CUDA_ERROR_NOT_PERMITTED,
                                "there is a side connection already");
            return GA_DENIED;
        }
        frame_drop(&pending->reader);
        return application_side_open(application, &pending->conn, &pending->reader,
                                     header->sequence);
    }
    if (hello->kind == HANDSHAKE_BULK) {
        return bulk_admit(application, pending, header, hello->device);
    }
    /* Either the client breaks the protocol, or its first connection has failed and it is quicker
     * to try again than this process is to notice, and to end: no program may see another error
     * than that there is no device for it. */
    if (application->conn != NULL) {
        pending_conn_refuse(pending, header->sequence, CUDA_ERROR_DEVICE_UNAVAILABLE,
                            "there is or was a data connection: open further devices on it");
        return GA_DENIED;
    }
    struct frame_reader reader; /* for frames of calls */
    GA_TRY(frame_reader_enlarge(&pending->reader, CONN_BUFFER_BYTES, &reader));
    enum ga_status status =
        application_connect(application, &pending->conn, &reader, hello, header->sequence);
    frame_reader_fini(status == GA_OK ? &pending->reader : &reader);
    return status;
}

/* Whether this is a hello of another protocol major, whose rest may have another shape. */
static bool major_differs(const uint8_t *values, uint32_t size, uint32_t *major)
{
    struct ga_reader reader = ga_reader_of(values, size);
    uint32_t magic = ga_read_u32(&reader);
    *major = ga_read_u32(&reader);
    return !reader.failed && magic == WIRE_MAGIC && *major != WIRE_MAJOR;
}

/* The first message. GA_INVALID: it is too long, which is known before all of it is there. */
static enum ga_status hello_next(struct pending_conn *pending, struct wire_header *header,
                                 const uint8_t **values)
{
    GA_TRY(frame_header(&pending->reader, header));
    return header->length <= WIRE_HELLO_MAX ? frame_next(&pending->reader, header, values)
                                            : GA_INVALID;
}

enum ga_status admission_hear(struct backend *backend, struct pending_conn *pending,
                              enum ga_status received)
{
    struct wire_header header = {0};
    const uint8_t *values = NULL;
    enum ga_status status = received == GA_OK ? hello_next(pending, &header, &values) : received;
    if (status == GA_LOST && transport_error_text(&pending->conn) != NULL) {
        pending_conn_warn(pending, "was refused: ", transport_error_text(&pending->conn));
    }
    if (status == GA_INVALID) {
        pending_conn_warn(pending, "was refused: ", "its bytes are no gpuaas protocol");
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
    struct application *application = application_of_hello(backend, &hello);
    if (admission_ticket(application, &hello, &why) != GA_OK) {
        pending_conn_refuse(pending, header.sequence, CUDA_ERROR_NOT_PERMITTED, why);
        return GA_DENIED;
    }
    pending_conns_unwatch(backend, pending);
    return pending_conn_admit(application, pending, &header, &hello);
}

/* ---- who is still here */

/* Clients that have nothing to give back need not be asked. */
static void admission_reclaim(struct backend *backend)
{
    const struct channel_request done = {.kind = CHANNEL_REQUEST, .verb = CHANNEL_TRIMMED};
    bool asked = false;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        struct application *application = &backend->applications[i];
        asked |= application->state == APPLICATION_SERVED && application_reclaim(application);
    }
    if (!asked) {
        (void)!outbox_send(backend, &done, sizeof done, -1); /* else it is gone */
    }
}

void admission_turn(struct backend *backend)
{
    if (atomic_exchange(&backend->trim_wanted, false)) {
        admission_reclaim(backend);
    }
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        application_notify(&backend->applications[i]);
    }
}
