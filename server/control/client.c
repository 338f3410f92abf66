/* The dialogue with one client: HELLO, then an OPEN for each device it wants to use.
 *
 * Until it has said a good HELLO a peer is nobody: it has handshake_timeout_s, little memory, and
 * one message. An OPEN that must wait for a backend process waits here, in `opens`. */
#include "server/control/client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/cuda_names.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/backend/data_ports.h"
#include "server/control/client_send.h"

#define PEER_BUFFER_BYTES 16384u /* a message of a client is far shorter */
#define PEER_OPENS_MOST   64u    /* at once; our library asks for one after the other */

enum peer_state { PEER_NEW, PEER_GREETED, PEER_LEAVING };

struct peer_open {
    uint64_t sequence;
    uint32_t device;
};

struct peer {
    struct ga_list link;
    struct ga_number_node known; /* once greeted */
    struct control *control;
    struct transport_conn conn;
    bool tls;
    uv_poll_t poll;
    uv_timer_t deadline;
    unsigned handles;
    enum peer_state state;
    struct frame_reader reader;
    struct peer_out out;
    uint8_t application[16];
    char client[TRANSPORT_PEER_BYTES], label[96]; /* for the log: its address, and who it is */
    struct process *processes[DEVICES_DRIVERS];
    struct peer_open opens[PEER_OPENS_MOST];
    uint32_t open_count;
};

static void peer_ready(uv_poll_t *poll, int status, int events);

static void peer_handle_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    if (--peer->handles == 0) {
        frame_reader_fini(&peer->reader);
        peer_out_fini(&peer->out);
        free(peer);
    }
}

static void peer_close(struct peer *peer)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (peer->processes[i] != NULL) {
            process_end(peer->processes[i]);
            peer->processes[i] = NULL;
        }
    }
    if (peer->state != PEER_NEW) {
        ga_info_of(peer->client, "%s: gone", peer->label);
    }
    ga_list_remove(&peer->link);
    ga_number_map_remove(&peer->control->applications, &peer->known);
    peer->control->peer_count--;
    (void)uv_poll_stop(&peer->poll);
    peer->conn.ops->close(&peer->conn);
    uv_close((uv_handle_t *)&peer->poll, peer_handle_closed);
    uv_close((uv_handle_t *)&peer->deadline, peer_handle_closed);
}

void peer_close_all(struct control *control)
{
    ga_list_each (at, next, &control->peers) {
        peer_close(ga_container(at, struct peer, link));
    }
}

void peer_report(const struct control *control)
{
    ga_list_each (at, next, &control->peers) {
        const struct peer *peer = ga_container(at, struct peer, link);
        ga_info_each(peer->client, "report: %s: %s, %u devices waited for", peer->label,
                     peer->state == PEER_GREETED ? "connected" : "not greeted", peer->open_count);
    }
}

static bool peer_read(struct peer *peer);

/* Waits for what may be done next; false: the peer has been closed. */
static bool peer_watch(struct peer *peer, short wanted)
{
    struct pollfd at[TRANSPORT_AWAIT_MOST];
    while (peer->conn.ops->await(&peer->conn, wanted, at) == 0) {
        if (!peer_read(peer)) {
            peer_close(peer);
            return false;
        }
    }
    int events = ((at[0].events & POLLIN) != 0 ? UV_READABLE : 0) |
                 ((at[0].events & POLLOUT) != 0 ? UV_WRITABLE : 0);
    (void)uv_poll_start(&peer->poll, events, peer_ready);
    return true;
}

/* Sends what is queued; false: the peer has been closed. */
static bool peer_flush(struct peer *peer)
{
    (void)GA_FAILPOINT("gpuaasd: before an answer is sent");
    enum ga_status status = peer_out_send(&peer->out, &peer->conn);
    (void)GA_FAILPOINT("gpuaasd: answer sent");
    if (status == GA_LOST || (status == GA_OK && peer->state == PEER_LEAVING)) {
        peer_close(peer);
        return false;
    }
    return peer_watch(peer, status == GA_AGAIN ? POLLIN | POLLOUT : POLLIN);
}

static void peer_refuse(struct peer *peer, uint64_t sequence, int32_t result, const char *reason)
{
    ga_warn_of(peer->client, "%s: refused: %s", peer->label, reason);
    const struct handshake_refused refused = {.result = result, .reason = reason};
    struct ga_writer *writer = peer_out_begin(&peer->out);
    handshake_refused_write(writer, &refused);
    peer_out_end(&peer->out, WIRE_REFUSED, sequence);
}

/* A right to connect: the backend process learns it before the client does. Else nothing has been
 * answered. GA_AGAIN: the process is told later, there is no room now. GA_LOST: it is ending. */
static enum ga_status peer_ticket(struct peer *peer, struct process *process,
                                  const struct peer_open *open)
{
    struct channel_ticket ticket = {.kind = CHANNEL_TICKET, .device = open->device};
    uint8_t random[sizeof ticket.id + sizeof ticket.key];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        peer_refuse(peer, open->sequence, CUDA_ERROR_UNKNOWN, "this machine has no randomness");
        return GA_OK;
    }
    memcpy(ticket.id, random, sizeof ticket.id);
    memcpy(ticket.key, random + sizeof ticket.id, sizeof ticket.key);
    enum ga_status status = GA_FAILPOINT("gpuaasd: before a ticket")
                                ? GA_LOST
                                : process_send(process, &ticket, sizeof ticket);
    if (status != GA_OK) {
        return status;
    }
    (void)GA_FAILPOINT("gpuaasd: ticket told to the backend process");
    process->tickets_sent++;
    struct handshake_ticket message = {.address = process->url,
                                       .local = process->local,
                                       .process = process->number,
                                       .ways = process->ways};
    memcpy(message.id, ticket.id, sizeof message.id);
    memcpy(message.key, ticket.key, sizeof message.key);
    struct ga_writer *writer = peer_out_begin(&peer->out);
    handshake_ticket_write(writer, &message);
    peer_out_end(&peer->out, WIRE_TICKET, open->sequence);
    explicit_bzero(&ticket, sizeof ticket);
    return GA_OK;
}

static bool peer_open_waits(const struct peer *peer, const struct peer_open *open,
                            const struct process *process)
{
    enum conf_driver driver = devices_visible(&peer->control->devices, open->device)->gpu->driver;
    return peer->processes[driver] == process;
}

/* Answers the opens that waited for this process; `reason` NULL: it is ready. */
static void peer_answer_opens(struct peer *peer, struct process *process, int32_t result,
                              const char *reason)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < peer->open_count; i++) {
        struct peer_open open = peer->opens[i];
        bool waits = peer_open_waits(peer, &open, process);
        enum ga_status status = !waits           ? GA_AGAIN
                                : reason != NULL ? GA_OK
                                                 : peer_ticket(peer, process, &open);
        if (status == GA_AGAIN) {
            peer->opens[kept++] = open;
        } else if (reason != NULL) {
            peer_refuse(peer, open.sequence, result, reason);
        } else if (status != GA_OK) {
            peer_refuse(peer, open.sequence, CUDA_ERROR_DEVICE_UNAVAILABLE,
                        "the backend process does not answer");
        }
    }
    peer->open_count = kept;
}

static void peer_process_packet(struct process *process, const union channel_packet *packet)
{
    struct peer *peer = process->owner;
    switch (packet->kind) {
    case CHANNEL_READY:
        peer_answer_opens(peer, process, 0, NULL);
        break;
    case CHANNEL_FAILED:
        peer_answer_opens(peer, process, packet->failed.result, packet->failed.reason);
        break;
    case CHANNEL_IDLE:
        if (packet->idle.tickets == process->tickets_sent && peer->open_count == 0) {
            for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
                peer->processes[i] = peer->processes[i] == process ? NULL : peer->processes[i];
            }
            process_end(process);
        }
        return;
    default:
        return;
    }
    (void)peer_flush(peer);
}

static void peer_process_room(struct process *process)
{
    peer_answer_opens(process->owner, process, 0, NULL);
    (void)peer_flush(process->owner);
}

static enum ga_status peer_process_start(struct peer *peer, enum conf_driver driver, char *why,
                                         size_t why_size);

/* The opens that waited for it wait for another one if it was a spare that has not answered. */
static void peer_process_ended(struct process *process, const char *why)
{
    struct peer *peer = process->owner;
    char none[300];
    bool silent = process->prompt && !process->ready;
    for (uint32_t i = 0; silent && i < peer->open_count; i++) {
        if (peer_open_waits(peer, &peer->opens[i], process)) {
            enum conf_driver driver =
                devices_visible(&peer->control->devices, peer->opens[i].device)->gpu->driver;
            enum ga_status status = peer_process_start(peer, driver, none, sizeof none);
            why = status == GA_OK ? why : none;
            break;
        }
    }
    peer_answer_opens(peer, process, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        peer->processes[i] = peer->processes[i] == process ? NULL : peer->processes[i];
    }
    (void)peer_flush(peer);
}

static const struct process_events peer_process_events = {
    .packet = peer_process_packet, .room = peer_process_room, .ended = peer_process_ended};

static enum ga_status peer_process_start(struct peer *peer, enum conf_driver driver, char *why,
                                         size_t why_size)
{
    struct control *control = peer->control;
    struct channel_application application = {.kind = CHANNEL_APPLICATION, .tls = peer->tls};
    char url[320] = "";
    (void)!peer->conn.ops->local_address(peer->conn.fd, url, sizeof url);
    data_ports_host(url, application.bind_host);
    memcpy(application.id, peer->application, sizeof application.id);
    memcpy(application.client, peer->client, sizeof application.client);
    struct spares *spares = &control->spares[driver];
    struct process *process;
    enum ga_status status;
    bool last;
    do { /* a spare may be dying: then the next one */
        last = spares->count == 0;
        GA_TRY(spares_take(spares, &process, why, why_size));
        status = process_assign(process, &application, control->conf->server.open_timeout_s,
                                &peer_process_events, peer, peer->label);
    } while (status != GA_OK && !last);
    if (status != GA_OK) {
        snprintf(why, why_size, "a backend process died while it was started");
        return status;
    }
    peer->processes[driver] = process;
    return GA_OK;
}

/* Answers an open, at once or when a backend process is ready and has room. One that is ending gets
 * no tickets, though its exit has not been reported yet: another takes its place. */
static void peer_open_device(struct peer *peer, enum conf_driver driver,
                             const struct peer_open *wanted)
{
    char why[300];
    struct process *process = peer->processes[driver];
    if (process != NULL && process->ready) {
        enum ga_status status = peer_ticket(peer, process, wanted);
        if (status == GA_OK) {
            return;
        }
        if (status == GA_LOST) {
            peer->processes[driver] = NULL;
            process_end(process);
        }
    }
    if (peer->processes[driver] == NULL &&
        peer_process_start(peer, driver, why, sizeof why) != GA_OK) {
        peer_refuse(peer, wanted->sequence, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    } else {
        peer->opens[peer->open_count++] = *wanted;
    }
}

static bool peer_open(struct peer *peer, const struct wire_header *header, struct ga_reader *reader)
{
    struct handshake_open open;
    if (header->opcode != WIRE_OPEN || handshake_open_read(reader, &open) != GA_OK ||
        peer->open_count == PEER_OPENS_MOST) {
        return false;
    }
    (void)GA_FAILPOINT("gpuaasd: open read");
    struct control *control = peer->control;
    if (open.device >= control->devices.visible_count) {
        peer_refuse(peer, header->sequence, CUDA_ERROR_INVALID_DEVICE, "there is no such device");
        return true;
    }
    enum conf_driver driver = devices_visible(&control->devices, open.device)->gpu->driver;
    struct peer_open wanted = {.sequence = header->sequence, .device = open.device};
    peer_open_device(peer, driver, &wanted);
    return true;
}

/* Applications have random names: the beginning is a number that finds one among very many. */
static uint64_t application_number(const uint8_t *application)
{
    uint64_t number;
    memcpy(&number, application, sizeof number);
    return number;
}

static bool application_is_known(const struct peer *peer, const uint8_t *application)
{
    const struct ga_number_node *node =
        ga_number_map_find(&peer->control->applications, application_number(application));
    return node != NULL && memcmp(ga_container(node, struct peer, known)->application, application,
                                  sizeof peer->application) == 0;
}

static void peer_welcome(struct peer *peer)
{
    struct control *control = peer->control;
    struct handshake_device room[CONF_GPUS_MOST];
    const struct handshake_welcome welcome = {
        .major = WIRE_MAJOR,
        .minor = WIRE_MINOR,
        .build = GPUAAS_VERSION,
        .pool = control->conf->server.pool,
        .node = control->conf->server.node,
        .driver_version = devices_visible(&control->devices, 0)->facts.driver_version,
        .device_count = devices_welcome(&control->devices, room),
        .devices = room,
    };
    struct ga_writer *writer = peer_out_begin(&peer->out);
    handshake_welcome_write(writer, &welcome);
    peer_out_end(&peer->out, WIRE_WELCOME, 0);
}

static bool peer_hello(struct peer *peer, const struct wire_header *header,
                       struct ga_reader *reader)
{
    struct handshake_hello hello;
    if (header->opcode != WIRE_HELLO || handshake_hello_read(reader, &hello) != GA_OK) {
        return false;
    }
    (void)GA_FAILPOINT("gpuaasd: hello read");
    peer->state = PEER_LEAVING; /* unless the greeting succeeds */
    (void)uv_timer_stop(&peer->deadline);
    snprintf(peer->label, sizeof peer->label, "%.64s (pid %u)",
             hello.program[0] != 0 ? hello.program : "a client", hello.pid);
    if (hello.major != WIRE_MAJOR) {
        char reason[400];
        snprintf(reason, sizeof reason,
                 "protocol %u of the client (gpuaas %.64s) does not go with protocol %u of the "
                 "server (gpuaas %s): upgrade the %s",
                 hello.major, hello.build, WIRE_MAJOR, GPUAAS_VERSION,
                 hello.major < WIRE_MAJOR ? "client" : "server");
        peer_refuse(peer, header->sequence, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, reason);
    } else if (application_is_known(peer, hello.application)) {
        peer_refuse(peer, header->sequence, CUDA_ERROR_NOT_PERMITTED,
                    "this program is connected already: is this server named twice?");
    } else {
        memcpy(peer->application, hello.application, sizeof peer->application);
        ga_number_map_add(&peer->control->applications, &peer->known,
                          application_number(hello.application));
        peer->state = PEER_GREETED;
        ga_info_of(peer->client, "%s: connected", peer->label);
        peer_welcome(peer);
    }
    return true;
}

static void peer_say_lost(const struct peer *peer)
{
    const char *trouble = transport_trouble(&peer->conn);
    if (trouble != NULL) {
        ga_warn_of(peer->client, "%s: %s", peer->label, trouble);
    }
}

/* The first bytes of a TLS connection are a record of its handshake. */
static bool speaks_tls(const struct peer *peer)
{
    const uint8_t *at = peer->reader.buffer + peer->reader.start;
    return peer->state == PEER_NEW && peer->reader.end - peer->reader.start >= 2 && at[0] == 0x16 &&
           at[1] == 3;
}

/* Reads and answers all there is; false: the peer is to be closed. */
static bool peer_read(struct peer *peer)
{
    while (peer->state != PEER_LEAVING) {
        struct wire_header header;
        const uint8_t *values;
        enum ga_status status = frame_next(&peer->reader, &header, &values);
        if (status == GA_AGAIN) {
            status = frame_fill(&peer->reader, &peer->conn);
            if (status == GA_OK) {
                continue;
            }
            if (status != GA_AGAIN) {
                peer_say_lost(peer);
            }
            return status == GA_AGAIN;
        }
        struct ga_reader reader = ga_reader_of(values, header.length);
        if (status != GA_OK || !(peer->state == PEER_NEW ? peer_hello(peer, &header, &reader)
                                                         : peer_open(peer, &header, &reader))) {
            ga_warn_of(peer->client, "%s: %s", peer->label,
                       speaks_tls(peer)
                           ? "it speaks TLS, and this port does not: listen with tls:// "
                             "here, or leave tls:// out there"
                           : "its bytes are no gpuaas protocol");
            return false;
        }
        frame_drop(&peer->reader);
    }
    return true;
}

static void peer_ready(uv_poll_t *poll, int status, int events)
{
    struct peer *peer = poll->data;
    if (status != 0 || ((events & UV_READABLE) != 0 && !peer_read(peer))) {
        peer_close(peer);
        return;
    }
    (void)peer_flush(peer);
}

static void peer_overdue(uv_timer_t *timer)
{
    struct peer *peer = timer->data;
    ga_warn_of(peer->client, "%s: has not said who it is in time", peer->label);
    peer_close(peer);
}

void peer_accept(struct control *control, const struct transport_conn *conn, bool tls)
{
    struct transport_conn taken = *conn;
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL || GA_FAILPOINT("gpuaasd: accepted") ||
        control->peer_count >= control->conf->server.clients ||
        frame_reader_init(&peer->reader, PEER_BUFFER_BYTES) != GA_OK) {
        char client[TRANSPORT_PEER_BYTES];
        transport_peer(&taken, client);
        ga_warn_of(client, "a client was turned away: there are %u already", control->peer_count);
        free(peer);
        taken.ops->close(&taken);
        return;
    }
    peer->control = control;
    peer->conn = taken;
    peer->tls = tls;
    if (taken.ops->set_dead_after(&peer->conn, control->conf->server.dead_after_s * 1000) !=
        GA_OK) {
        ga_debug("a client's connection cannot tell by itself that its machine has gone");
    }
    peer->handles = 2;
    transport_peer(&peer->conn, peer->client);
    snprintf(peer->label, sizeof peer->label, "an unknown client");
    peer->poll.data = peer;
    peer->deadline.data = peer;
    ga_list_append(&control->peers, &peer->link);
    control->peer_count++;
    (void)uv_timer_init(&control->loop, &peer->deadline);
    (void)uv_timer_start(&peer->deadline, peer_overdue,
                         (uint64_t)control->conf->server.handshake_timeout_s * 1000, 0);
    (void)uv_poll_init(&control->loop, &peer->poll, peer->conn.fd);
    (void)uv_poll_start(&peer->poll, UV_READABLE, peer_ready);
}
