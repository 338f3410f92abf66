/* A device's session: a ticket from its gpuaasd, then the data and side connection to the backend
 * process (or, on a node that this application already uses, a session more on the connection that
 * is there), then the address window that both ends can have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/cancel.h"
#include "client/environment.h"
#include "client/exchange.h"
#include "client/state.h"
#include "client/trace.h"
#include "client/window.h"
#include "front/front.h"

#define LINKS_MOST    256
#define OPEN_NS       (30 * GA_NS_PER_S) /* a backend process may have to be started */
#define READ_BUFFER   (512u << 10)
#define WINDOW_ROUNDS 3

static struct client_link *_Atomic links[LINKS_MOST];
static atomic_uint link_count;

struct opening {
    struct client_device *device;
    uint64_t deadline_ns;
    char why[300];
    CUresult result;
    struct handshake_ticket ticket; /* `address` is in `address` below */
    char address[300];
    struct handshake_window window;
    uint16_t session;
    uint32_t lacking_count; /* calls that the server lacks, and which */
    struct api_op_set lacking;
    uint64_t round_trips;
};

struct client_link *client_link_at_index(unsigned index)
{
    return index < atomic_load(&link_count) ? atomic_load(&links[index]) : NULL;
}

void client_link_add(struct client_link *link)
{
    pthread_mutex_lock(&client_state_lock);
    unsigned at = atomic_load(&link_count);
    if (at < LINKS_MOST) {
        link->index = at;
        atomic_store(&links[at], link);
        atomic_store(&link_count, at + 1);
    }
    client_service_start();
    pthread_mutex_unlock(&client_state_lock);
}

struct client_link *client_link_of_process(const struct client_server *server, uint64_t process)
{
    struct client_link *link;
    for (unsigned i = 0; (link = client_link_at_index(i)) != NULL; i++) {
        if (link->owner == server && link->process == process && atomic_load(&link->dead) == 0) {
            return link;
        }
    }
    return NULL;
}

static void take_refusal(struct opening *opening, struct ga_reader *values)
{
    struct handshake_refused refused;
    opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    snprintf(opening->why, sizeof opening->why, "refused");
    if (handshake_refused_read(values, &refused) == GA_OK) {
        opening->result = refused.result != 0 ? (CUresult)refused.result : opening->result;
        snprintf(opening->why, sizeof opening->why, "%s", refused.reason);
    }
}

/* ---- the ticket */

static enum ga_status ask_ticket(struct opening *opening)
{
    struct client_server *server = opening->device->server;
    struct client_frame frame;
    GA_TRY(client_frame_begin(&frame));
    struct handshake_open open = {.device = opening->device->index};
    handshake_open_write(&frame.writer, &open);
    enum ga_status status =
        client_frame_send(&frame, WIRE_OPEN, 0, ++server->control_sequence, &server->control,
                          opening->deadline_ns, opening->why, sizeof opening->why);
    client_frame_end(&frame);
    while (status == GA_OK) {
        struct wire_header header;
        struct ga_reader values;
        status = client_frame_receive(&server->reader, &server->control, opening->deadline_ns,
                                      &header, &values, opening->why, sizeof opening->why);
        if (status != GA_OK) {
            break;
        }
        bool mine = header.sequence == server->control_sequence;
        if (mine && header.opcode == WIRE_TICKET) {
            status = handshake_ticket_read(&values, &opening->ticket);
            if (status == GA_OK) {
                snprintf(opening->address, sizeof opening->address, "%s", opening->ticket.address);
            }
        } else if (mine) {
            take_refusal(opening, &values);
            status = GA_DENIED;
        }
        frame_drop(&server->reader);
        if (mine) {
            break;
        }
    }
    return status;
}

/* ---- data_hello, and the window's rounds */

static void fill_hello(const struct opening *opening, enum handshake_kind kind,
                       struct handshake_data_hello *hello)
{
    *hello = (struct handshake_data_hello){.magic = WIRE_MAGIC,
                                           .major = WIRE_MAJOR,
                                           .minor = WIRE_MINOR,
                                           .kind = kind,
                                           .device = opening->device->index};
    memcpy(hello->application, client_application, sizeof hello->application);
    memcpy(hello->id, opening->ticket.id, sizeof hello->id);
    memcpy(hello->key, opening->ticket.key, sizeof hello->key);
    if (kind == HANDSHAKE_DATA) {
        hello->window = opening->window;
    }
}

/* Once for each connection: which calls both ends mean the same by. */
static void fill_signatures(struct handshake_data_hello *hello)
{
    hello->signatures = api_signatures;
    hello->signature_count = (uint32_t)api_signature_count;
}

/* The server proposes `theirs` instead of ours: GA_OK with the next window to propose. */
static enum ga_status next_window(struct opening *opening, const struct handshake_window *theirs)
{
    client_window_release(&opening->window);
    opening->window = *theirs;
    if (client_window_reserve(theirs) || client_window_next(&opening->window)) {
        return GA_OK;
    }
    opening->window = (struct handshake_window){0};
    opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    snprintf(opening->why, sizeof opening->why, "no address range is free for device memory");
    return GA_NO_MEMORY;
}

static enum ga_status window_failed(struct opening *opening)
{
    opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    snprintf(opening->why, sizeof opening->why,
             "client and server found no address range that is free in both");
    return GA_INVALID;
}

static bool window_agreed(const struct opening *opening,
                          const struct handshake_data_welcome *welcome)
{
    return welcome->window.base == opening->window.base &&
           welcome->window.bytes == opening->window.bytes;
}

static enum ga_status read_data_welcome(struct opening *opening, uint16_t opcode,
                                        struct ga_reader *values,
                                        struct handshake_data_welcome *welcome)
{
    if (opcode == WIRE_REFUSED) {
        take_refusal(opening, values);
        return GA_DENIED;
    }
    if (opcode != WIRE_DATA_WELCOME || handshake_data_welcome_read(values, welcome) != GA_OK) {
        snprintf(opening->why, sizeof opening->why, "it speaks something else");
        return GA_INVALID;
    }
    for (uint32_t i = 0; i < welcome->lacking_count; i++) {
        api_op_set_add(&opening->lacking, welcome->lacking[i]);
        opening->lacking_count++;
    }
    return GA_OK;
}

/* One frame and its answer on a connection of our own. */
static enum ga_status greet(struct opening *opening, struct transport_conn *conn,
                            struct frame_reader *reader, uint16_t opcode,
                            const struct handshake_data_hello *hello,
                            struct handshake_data_welcome *welcome)
{
    struct client_frame frame;
    GA_TRY(client_frame_begin(&frame));
    if (hello != NULL) {
        handshake_data_hello_write(&frame.writer, hello);
    } else {
        handshake_window_write(&frame.writer, &opening->window);
    }
    enum ga_status status =
        client_frame_send(&frame, opcode, opening->session, 0, conn, opening->deadline_ns,
                          opening->why, sizeof opening->why);
    client_frame_end(&frame);
    GA_TRY(status);
    struct wire_header header;
    struct ga_reader values;
    GA_TRY(client_frame_receive(reader, conn, opening->deadline_ns, &header, &values, opening->why,
                                sizeof opening->why));
    opening->round_trips++;
    status = read_data_welcome(opening, header.opcode, &values, welcome);
    frame_drop(reader);
    return status;
}

static enum ga_status greet_data(struct opening *opening, struct transport_conn *conn,
                                 struct frame_reader *reader)
{
    struct handshake_data_hello hello;
    struct handshake_data_welcome welcome;
    fill_hello(opening, HANDSHAKE_DATA, &hello);
    fill_signatures(&hello);
    GA_TRY(greet(opening, conn, reader, WIRE_DATA_HELLO, &hello, &welcome));
    opening->session = welcome.session;
    for (int round = 0; !window_agreed(opening, &welcome); round++) {
        if (round == WINDOW_ROUNDS) {
            return window_failed(opening);
        }
        GA_TRY(next_window(opening, &welcome.window));
        GA_TRY(greet(opening, conn, reader, WIRE_WINDOW, NULL, &welcome));
    }
    return GA_OK;
}

/* ---- a new connection */

static enum ga_status connect_to(struct opening *opening, struct transport_conn *conn)
{
    struct transport_address address;
    GA_TRY(transport_address_parse(opening->address, WIRE_DEFAULT_PORT, &address, opening->why,
                                   sizeof opening->why));
    uint64_t now = ga_clock_ns();
    int left_ms =
        now < opening->deadline_ns ? (int)((opening->deadline_ns - now) / GA_NS_PER_MS) : 0;
    GA_TRY(transport_connect(&address, left_ms, conn, opening->why, sizeof opening->why));
    opening->round_trips++;
    return GA_OK;
}

static enum ga_status connect_side(struct opening *opening, struct transport_conn *side,
                                   struct frame_reader *reader)
{
    struct handshake_data_hello hello;
    struct handshake_data_welcome welcome;
    GA_TRY(connect_to(opening, side));
    enum ga_status status = frame_reader_init(reader, SIDE_READ_BYTES);
    if (status == GA_OK) {
        fill_hello(opening, HANDSHAKE_SIDE, &hello);
        status = greet(opening, side, reader, WIRE_DATA_HELLO, &hello, &welcome);
        if (status != GA_OK) {
            frame_reader_fini(reader);
        }
    }
    if (status != GA_OK) {
        side->ops->close(side);
    }
    return status;
}

static enum ga_status link_start(struct opening *opening, struct transport_conn data,
                                 struct frame_reader data_reader, struct transport_conn side,
                                 struct frame_reader side_reader, struct client_link **out)
{
    struct client_link *link = calloc(1, sizeof *link);
    if (link == NULL || client_link_init(link, data, data_reader) != GA_OK) {
        free(link);
        return GA_NO_MEMORY;
    }
    transport_side_init(&link->side, &side, &side_reader, client_environment_dead_after_s() * 1000);
    link->owner = opening->device->server;
    link->process = opening->ticket.process;
    link->on_error = client_context_late;
    link->lacks = opening->lacking_count != 0;
    link->lacking = opening->lacking;
    snprintf(link->name, sizeof link->name, "%s", opening->device->server->address);
    client_process_own(data.fd);
    client_process_own(side.fd);
    *out = link;
    return GA_OK;
}

static enum ga_status connect_new(struct opening *opening, struct client_link **out)
{
    struct transport_conn data, side;
    struct frame_reader reader, side_reader;
    GA_TRY(connect_to(opening, &data));
    enum ga_status status = frame_reader_init(&reader, READ_BUFFER);
    if (status == GA_OK) {
        status = greet_data(opening, &data, &reader);
        if (status == GA_OK) {
            status = connect_side(opening, &side, &side_reader);
            if (status == GA_OK) {
                status = link_start(opening, data, reader, side, side_reader, out);
                if (status == GA_OK) {
                    client_link_add(*out);
                    return GA_OK;
                }
                side.ops->close(&side);
                frame_reader_fini(&side_reader);
            }
        }
        frame_reader_fini(&reader);
    }
    data.ops->close(&data);
    return status;
}

/* ---- one session more on a connection that is there */

static enum ga_status ask_on_link(struct opening *opening, struct client_link *link,
                                  uint16_t opcode, struct handshake_data_welcome *welcome)
{
    struct handshake_data_hello hello;
    fill_hello(opening, HANDSHAKE_DATA, &hello);
    if (client_link_lock(link, 4096) != 0) {
        snprintf(opening->why, sizeof opening->why, "the connection is lost");
        return GA_LOST;
    }
    struct ga_writer writer = ga_writer_of(client_link_at(link) + sizeof(struct wire_header), 4000);
    if (opcode == WIRE_SESSION_OPEN) {
        handshake_data_hello_write(&writer, &hello);
    } else {
        handshake_window_write(&writer, &opening->window);
    }
    uint64_t sequence = client_link_frame(link, opcode, opening->session, writer.at, 0, true);
    struct link_record *record = client_link_expect(link, sequence, true, NULL);
    client_link_unlock(link, true);
    if (record == NULL) {
        return GA_NO_MEMORY;
    }
    client_link_wait(link, record);
    opening->round_trips++;
    struct ga_reader values = ga_reader_of(
        record->results != NULL ? record->results : record->small, record->results_size);
    enum ga_status status = GA_LOST;
    if (record->opcode != 0) {
        status = read_data_welcome(opening, record->opcode, &values, welcome);
    } else {
        snprintf(opening->why, sizeof opening->why, "the connection is lost");
    }
    client_link_release(link, record);
    return status;
}

static enum ga_status session_on_link(struct opening *opening, struct client_link *link)
{
    struct handshake_data_welcome welcome;
    GA_TRY(ask_on_link(opening, link, WIRE_SESSION_OPEN, &welcome));
    opening->session = welcome.session;
    for (int round = 0; !window_agreed(opening, &welcome); round++) {
        if (round == WINDOW_ROUNDS) {
            return window_failed(opening);
        }
        GA_TRY(next_window(opening, &welcome.window));
        GA_TRY(ask_on_link(opening, link, WIRE_WINDOW, &welcome));
    }
    return GA_OK;
}

static enum ga_status open_with_ticket(struct opening *opening, struct client_link **link)
{
    opening->round_trips++;
    if (!client_window_next(&opening->window)) {
        snprintf(opening->why, sizeof opening->why, "no address range is free for device memory");
        return GA_NO_MEMORY;
    }
    *link = client_link_of_process(opening->device->server, opening->ticket.process);
    return *link != NULL ? session_on_link(opening, *link) : connect_new(opening, link);
}

CUresult client_session_open(struct client_device *device, struct client_session **out)
{
    struct client_server *server = device->server;
    struct client_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct opening opening = {.device = device,
                              .deadline_ns = ga_clock_ns() + OPEN_NS,
                              .result = CUDA_ERROR_DEVICE_UNAVAILABLE,
                              .why = "no memory"};
    struct client_link *link = NULL;
    int before = client_cancel_off();
    /* Held over the whole opening: two devices of one process must not both connect. */
    pthread_mutex_lock(&server->control_lock);
    enum ga_status status = atomic_load(&server->lost) ? GA_LOST : ask_ticket(&opening);
    if (status == GA_OK) {
        status = open_with_ticket(&opening, &link);
    } else if (atomic_load(&server->lost)) {
        snprintf(opening.why, sizeof opening.why, "its gpuaasd ended");
    }
    pthread_mutex_unlock(&server->control_lock);
    client_cancel_back(before);
    client_trace_setup(opening.round_trips);
    if (status != GA_OK) {
        ga_error("device %d (%s of %s) cannot be used: %s", device->ordinal, device->name,
                 server->address, opening.why);
        if (opening.window.bytes != 0) {
            client_window_release(&opening.window);
        }
        free(session);
        return opening.result;
    }
    session->link = link;
    session->server = server;
    session->number = opening.session;
    session->window_base = opening.window.base;
    session->window_bytes = opening.window.bytes;
    client_allocator_init(&session->allocator, opening.window.base, opening.window.bytes,
                          device->granularity_bytes);
    *out = session;
    return CUDA_SUCCESS;
}
