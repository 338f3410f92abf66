/* SPDX-License-Identifier: Apache-2.0 */
/* An application opens a device: it gets a ticket of the backend process that serves the device's
 * driver, which is started, or taken from the warm pool, when there is none. An OPEN that must wait
 * for it waits in `opens`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/cuda_names.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/control/client_state.h"
#include "server/control/placement.h"

/* A right to connect: the backend process learns it before the client does. Else nothing has been
 * answered. GA_AGAIN: the process is told later, there is no room now. GA_LOST: it is ending. */
static enum ga_status ticket_give(struct control_client *client, struct backend_process *process,
                                  const struct control_client_open *open)
{
    struct channel_ticket ticket = {
        .kind = CHANNEL_TICKET, .device = open->device, .gpu = open->gpu};
    uint8_t random[sizeof ticket.id + sizeof ticket.key];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        control_client_refuse(client, open->sequence, CUDA_ERROR_UNKNOWN,
                              "this machine has no randomness");
        return GA_OK;
    }
    memcpy(ticket.application, client->application, sizeof ticket.application);
    memcpy(ticket.id, random, sizeof ticket.id);
    memcpy(ticket.key, random + sizeof ticket.id, sizeof ticket.key);
    enum ga_status status = GA_FAILPOINT("gpuaasd: before a ticket")
                                ? GA_LOST
                                : backend_process_send(process, &ticket, sizeof ticket);
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
    struct ga_writer *writer = control_client_out_begin(&client->out);
    handshake_ticket_write(writer, &message);
    control_client_out_end(&client->out, WIRE_TICKET, open->sequence);
    explicit_bzero(&ticket, sizeof ticket);
    return GA_OK;
}

static bool open_waits(const struct control_client *client, const struct control_client_open *open,
                       const struct backend_process *process)
{
    enum conf_driver driver = devices_visible(&client->control->devices, open->gpu)->gpu->driver;
    return client->processes[driver] == process;
}

/* Answers the opens that waited for this process; `reason` NULL: it is ready. */
static void opens_answer(struct control_client *client, struct backend_process *process,
                         int32_t result, const char *reason)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < client->open_count; i++) {
        struct control_client_open open = client->opens[i];
        bool waits = open_waits(client, &open, process);
        enum ga_status status = !waits           ? GA_AGAIN
                                : reason != NULL ? GA_OK
                                                 : ticket_give(client, process, &open);
        if (status == GA_AGAIN) {
            client->opens[kept++] = open;
        } else if (reason != NULL) {
            control_client_refuse(client, open.sequence, result, reason);
        } else if (status != GA_OK) {
            control_client_refuse(client, open.sequence, CUDA_ERROR_DEVICE_UNAVAILABLE,
                                  "the backend process does not answer");
        }
    }
    client->open_count = kept;
}

static void process_packet(struct backend_process *process, const union channel_packet *packet)
{
    struct control_client *client = process->owner;
    switch (packet->kind) {
    case CHANNEL_READY:
        opens_answer(client, process, 0, NULL);
        break;
    case CHANNEL_FAILED:
        opens_answer(client, process, packet->failed.result, packet->failed.reason);
        break;
    case CHANNEL_IDLE:
        if (packet->idle.tickets == process->tickets_sent && client->open_count == 0) {
            for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
                client->processes[i] =
                    client->processes[i] == process ? NULL : client->processes[i];
            }
            backend_process_end(process);
        }
        return;
    default:
        return;
    }
    (void)control_client_flush(client);
}

static void process_room(struct backend_process *process)
{
    opens_answer(process->owner, process, 0, NULL);
    (void)control_client_flush(process->owner);
}

static enum ga_status process_start(struct control_client *client, enum conf_driver driver,
                                    char *why, size_t why_size);

/* The opens that waited for it wait for another one if it was a spare that has not answered. */
static void process_ended(struct backend_process *process, const char *why)
{
    struct control_client *client = process->owner;
    char none[300];
    bool silent = process->prompt && !process->ready;
    for (uint32_t i = 0; silent && i < client->open_count; i++) {
        if (open_waits(client, &client->opens[i], process)) {
            enum conf_driver driver =
                devices_visible(&client->control->devices, client->opens[i].gpu)->gpu->driver;
            enum ga_status status = process_start(client, driver, none, sizeof none);
            why = status == GA_OK ? why : none;
            break;
        }
    }
    opens_answer(client, process, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        client->processes[i] = client->processes[i] == process ? NULL : client->processes[i];
    }
    (void)control_client_flush(client);
}

static const struct backend_process_events process_events = {
    .packet = process_packet, .room = process_room, .ended = process_ended};

/* The host of an address "tcp://host:port", without the brackets of IPv6; who comes through shared
 * memory is on this machine. Empty: it has none. */
static void host_of(const char *url, char host[CONF_TEXT_MAX])
{
    struct transport_address address;
    char why[600];
    host[0] = 0;
    if (strncmp(url, "shm:", 4) == 0) {
        url = "127.0.0.1";
    }
    if (transport_address_parse(url, WIRE_DEFAULT_PORT, &address, why, sizeof why) == GA_OK &&
        strlen(address.host) < CONF_TEXT_MAX) {
        memcpy(host, address.host, strlen(address.host) + 1);
    }
}

static enum ga_status process_start(struct control_client *client, enum conf_driver driver,
                                    char *why, size_t why_size)
{
    struct control *control = client->control;
    struct channel_application application = {.kind = CHANNEL_APPLICATION, .tls = client->tls};
    char url[320] = "";
    (void)!client->conn.ops->local_address(client->conn.fd, url, sizeof url);
    host_of(url, application.bind_host);
    memcpy(application.id, client->application, sizeof application.id);
    memcpy(application.client, client->address, sizeof application.client);
    struct warm_pool *spares = &control->spares[driver];
    struct backend_process *process;
    enum ga_status status;
    bool last;
    do { /* a spare may be dying: then the next one */
        last = spares->count == 0;
        GA_TRY(warm_pool_take(spares, &process, why, why_size));
        status = backend_process_assign(process, &application, control->conf->server.open_timeout_s,
                                        &process_events, client, client->label);
    } while (status != GA_OK && !last);
    if (status != GA_OK) {
        snprintf(why, why_size, "a backend process died while it was started");
        return status;
    }
    client->processes[driver] = process;
    return GA_OK;
}

/* Answers an open, at once or when a backend process is ready and has room. One that is ending gets
 * no tickets, though its exit has not been reported yet: another takes its place. */
static void client_open_device(struct control_client *client, enum conf_driver driver,
                               const struct control_client_open *wanted)
{
    char why[300];
    struct backend_process *process = client->processes[driver];
    if (process != NULL && process->ready) {
        enum ga_status status = ticket_give(client, process, wanted);
        if (status == GA_OK) {
            return;
        }
        if (status == GA_LOST) {
            client->processes[driver] = NULL;
            backend_process_end(process);
        }
    }
    if (client->processes[driver] == NULL &&
        process_start(client, driver, why, sizeof why) != GA_OK) {
        control_client_refuse(client, wanted->sequence, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    } else {
        client->opens[client->open_count++] = *wanted;
    }
}

bool control_client_open(struct control_client *client, const struct wire_header *header,
                         struct ga_reader *reader)
{
    struct handshake_open open;
    if (header->opcode != WIRE_OPEN || handshake_open_read(reader, &open) != GA_OK ||
        client->open_count == CLIENT_OPENS_MAX) {
        return false;
    }
    (void)GA_FAILPOINT("gpuaasd: open read");
    struct control *control = client->control;
    const struct node_view node = {.gpu_count = control->devices.visible_count};
    struct control_client_open wanted = {.sequence = header->sequence,
                                         .device = open.device,
                                         .gpu = placement_pick(&node, open.device)};
    if (wanted.gpu == PLACEMENT_NONE) {
        control_client_refuse(client, header->sequence, CUDA_ERROR_INVALID_DEVICE,
                              "there is no such device");
        return true;
    }
    enum conf_driver driver = devices_visible(&control->devices, wanted.gpu)->gpu->driver;
    client_open_device(client, driver, &wanted);
    return true;
}
