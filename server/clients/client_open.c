/* SPDX-License-Identifier: Apache-2.0 */
/* An application opens a device: it gets a ticket of the backend process that serves the device's
 * driver; the application gets one when it has none. An OPEN that must wait for it waits in
 * `opens`. */
#include "server/clients/client_open.h"

#include <string.h>
#include <sys/random.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/applications/claims_line.h"
#include "server/applications/gpu_time.h"
#include "server/applications/tenant_applications.h"
#include "server/clients/client_state.h"
#include "server/placement/occupancy.h"
#include "server/placement/placement.h"
#include "server/seats/claims.h"
#include "server/seats/seat.h"
#include "server/seats/seat_lending.h"
#include "server/seats/seat_turns.h"

static void open_refuse_taken(struct control_client *client, const struct control_client_open *open)
{
    struct refusal refusal;
    occupancy_refusal(client->application->tenant, &refusal);
    control_client_refuse(client, open->sequence, &refusal);
}

/* Returns `may`; false: the client has been told. */
static bool open_told(struct control_client *client, const struct control_client_open *open,
                      bool may, struct refusal *refusal)
{
    if (!may) {
        refusal->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
        control_client_refuse(client, open->sequence, refusal);
    }
    return may;
}

/* Whether its tenant's limits let it have the device. False: the client has been told. */
static bool open_is_allowed(struct control_client *client, const struct control_client_open *open)
{
    struct refusal refusal;
    bool may = tenant_may_open(client->application, open->gpu, false, &refusal);
    return open_told(client, open, may, &refusal);
}

/* Checks the GPU time that is left for programs that begin: it may have been used up since the
 * client has greeted. gpu_time_turn looks at what is used up while it waits. */
static bool open_has_time(struct control_client *client, const struct control_client_open *open)
{
    struct refusal refusal;
    const struct control_application *application = client->application;
    bool may =
        application->session || gpu_time_admits(application->tenant, application->member, &refusal);
    return open_told(client, open, may, &refusal);
}

/* The GPU for the device that it opens. False: there is none, and the client has been told. */
static bool open_place(struct control_client *client, struct control_client_open *open)
{
    const struct node_view node =
        occupancy_view(client->room->processes, client->application->tenant);
    const struct control_application *application = client->application;
    uint32_t device =
        open->device < application->gpu_count ? application->gpus[open->device] : PLACEMENT_NONE;
    open->gpu = placement_pick(&node, device);
    if (open->gpu < node.gpu_count &&
        !(open_has_time(client, open) && open_is_allowed(client, open))) {
        return false;
    }
    if (open->gpu == PLACEMENT_TAKEN) {
        open_refuse_taken(client, open);
    } else if (open->gpu == PLACEMENT_NONE) {
        control_client_refuse_as(client, open->sequence, REFUSAL_REQUEST, CUDA_ERROR_INVALID_DEVICE,
                                 "there is no such device");
    }
    return open->gpu < node.gpu_count;
}

/* Whether it may have a ticket now: others may have come while it waited. GA_DENIED: it may not,
 * and the client has been told. GA_AGAIN: it waits for the claims of others. */
static enum ga_status open_decide(struct control_client *client, struct control_client_open *open)
{
    const struct control_application *application = client->application;
    const struct claims_place *place = &client->place;
    if (place->application != NULL && place->gpu == open->gpu && !open->in_line) {
        return GA_AGAIN; /* behind the one that stands there */
    }
    const struct node_view node = occupancy_view(client->room->processes, application->tenant);
    if (!placement_allows(&node, open->gpu)) {
        open_refuse_taken(client, open);
        return GA_DENIED;
    }
    if (!open_is_allowed(client, open)) {
        return GA_DENIED;
    }
    bool waited = place->application != NULL;
    enum ga_status status = claims_ask(application, open->gpu, &client->place);
    open->in_line = open->in_line || (!waited && place->application != NULL);
    if (status == GA_DENIED) {
        control_client_refuse_as(
            client, open->sequence, REFUSAL_TAKEN, CUDA_ERROR_DEVICE_UNAVAILABLE,
            "another program is about to use it: try again, or use another GPU");
    }
    return status;
}

/* A right to connect: the backend process learns it before the client does. Else nothing has been
 * answered. GA_AGAIN: it waits for others' claims, or for room in the channel. GA_LOST: the process
 * is ending. */
static enum ga_status ticket_give(struct control_client *client, struct seat *seat,
                                  struct control_client_open *open)
{
    struct channel_ticket ticket = {
        .kind = CHANNEL_TICKET, .device = open->device, .gpu = open->gpu, .seat = seat->number};
    uint8_t random[sizeof ticket.id + sizeof ticket.key];
    enum ga_status decision = open_decide(client, open);
    if (decision != GA_OK) {
        return decision == GA_DENIED ? GA_OK : decision;
    }
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        control_client_refuse_as(client, open->sequence, REFUSAL_SERVER, CUDA_ERROR_UNKNOWN,
                                 "this machine has no randomness");
        return GA_OK;
    }
    if (claims_room(seat) != GA_OK || seat_session_begin(seat, open->gpu) != GA_OK) {
        control_client_refuse_as(client, open->sequence, REFUSAL_SERVER, CUDA_ERROR_OUT_OF_MEMORY,
                                 "no memory");
        return GA_OK;
    }
    memcpy(ticket.application, client->application->id, sizeof ticket.application);
    memcpy(ticket.id, random, sizeof ticket.id);
    memcpy(ticket.key, random + sizeof ticket.id, sizeof ticket.key);
    enum ga_status status = GA_FAILPOINT("gpuaasd: before a ticket")
                                ? GA_LOST
                                : seat_send(seat, &ticket, sizeof ticket);
    if (status != GA_OK) {
        return status;
    }
    (void)GA_FAILPOINT("gpuaasd: ticket told to the backend process");
    seat->tickets_sent++;
    claims_made(seat, open->gpu);
    tenant_wait(client->application->tenant); /* which looks after claims */
    struct handshake_ticket message = {.address = seat->url,
                                       .local = seat->local,
                                       .process = seat->process->number,
                                       .ways = seat->ways};
    memcpy(message.id, ticket.id, sizeof message.id);
    memcpy(message.key, ticket.key, sizeof message.key);
    struct ga_writer *writer = control_client_out_begin(&client->out);
    handshake_ticket_write(writer, &message);
    control_client_out_end(&client->out, WIRE_TICKET, open->sequence);
    explicit_bzero(&ticket, sizeof ticket);
    seat_offer(seat, open->gpu);
    return GA_OK;
}

static bool open_waits(const struct control_client *client, const struct control_client_open *open,
                       const struct seat *seat)
{
    enum conf_driver driver =
        devices_visible(&client->room->processes->devices, open->gpu)->gpu->driver;
    return seat == NULL || client->application->seats[driver] == seat;
}

bool control_client_waits(const struct control_client *client, const struct seat *seat)
{
    bool waits = false;
    for (uint32_t i = 0; i < client->open_count; i++) {
        waits = waits || open_waits(client, &client->opens[i], seat);
    }
    return waits;
}

void control_client_answer(struct control_client *client, struct seat *seat, int32_t result,
                           const char *reason)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < client->open_count; i++) {
        struct control_client_open open = client->opens[i];
        bool waits = open_waits(client, &open, seat);
        enum ga_status status = !waits           ? GA_AGAIN
                                : reason != NULL ? GA_OK
                                                 : ticket_give(client, seat, &open);
        if (status != GA_AGAIN && open.in_line) {
            claims_leave(&client->place);
        }
        if (status == GA_AGAIN) {
            client->opens[kept++] = open;
        } else if (reason != NULL) {
            control_client_refuse_as(client, open.sequence, REFUSAL_SERVER, result, reason);
        } else if (status != GA_OK) {
            control_client_refuse_as(client, open.sequence, REFUSAL_SERVER,
                                     CUDA_ERROR_DEVICE_UNAVAILABLE,
                                     "the backend process does not answer");
        }
    }
    client->open_count = kept;
}

/* Answers an open, at once or when a backend process is ready and has room. One that is ending gets
 * no tickets, though its exit has not been reported yet: another takes its place. */
static void client_open_device(struct control_client *client, enum conf_driver driver,
                               struct control_client_open *wanted)
{
    char why[300];
    struct control_application *application = client->application;
    struct seat *seat = application->seats[driver];
    if (seat != NULL && seat->ready) {
        enum ga_status status = ticket_give(client, seat, wanted);
        if (status == GA_OK) {
            return;
        }
        if (status == GA_LOST) {
            control_application_abandon(application, seat);
        }
    }
    if (application->seats[driver] == NULL &&
        control_application_start(application, driver, why, sizeof why) != GA_OK) {
        control_client_refuse_as(client, wanted->sequence, REFUSAL_SERVER,
                                 CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    } else {
        client->opens[client->open_count++] = *wanted;
    }
}

static bool health_refuses(const struct clients *clients, uint32_t gpu, struct refusal *refusal)
{
    const struct health *health = &devices_visible(&clients->processes->devices, gpu)->health;
    return health->failed &&
           !refusal_set(refusal, REFUSAL_FAILED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                        "GPU %u has failed and takes no programs now: %.200s", gpu, health->reason);
}

/* The tenant was not suspended when the client greeted. */
static bool is_suspended(const struct control_application *application, struct refusal *refusal)
{
    const struct auth_grant *grant = application->grant;
    if (application->session || grant == NULL || !grant->tenant.suspended) {
        return false;
    }
    return !refusal_set(refusal, REFUSAL_ENDED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                        "tenant %s is suspended%s%.128s", grant->tenant.name,
                        grant->tenant.reason[0] != 0 ? ": " : "", grant->tenant.reason);
}

/* Programs that use something here already may use more of it, while others do not come in. */
static bool open_refused(struct control_client *client, const struct control_client_open *wanted)
{
    const struct control_application *application = client->application;
    struct refusal refusal;
    if (application->terminated_ns != 0) {
        control_client_refuse_as(client, wanted->sequence, REFUSAL_ENDED,
                                 application->terminated_result, application->terminated_why);
        return true;
    }
    if (is_suspended(application, &refusal)) {
        control_client_refuse(client, wanted->sequence, &refusal);
        return true;
    }
    bool here = control_application_has_seat(application);
    if ((!here && drain_refuses(client->room->applications, DRAIN_NODE, &refusal)) ||
        (!control_application_uses(application, wanted->gpu) &&
         (drain_refuses(client->room->applications, wanted->gpu, &refusal) ||
          health_refuses(client->room, wanted->gpu, &refusal)))) {
        refusal.result = CUDA_ERROR_DEVICE_UNAVAILABLE;
        control_client_refuse(client, wanted->sequence, &refusal);
        return true;
    }
    return false;
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
    struct control_client_open wanted = {.sequence = header->sequence, .device = open.device};
    if (client->application->observer) {
        control_client_refuse_as(client, wanted.sequence, REFUSAL_REQUEST, CUDA_ERROR_NOT_PERMITTED,
                                 "it has said that it only looks");
    } else if (open_place(client, &wanted) && !open_refused(client, &wanted)) {
        const struct devices *devices = &client->room->processes->devices;
        client_open_device(client, devices_visible(devices, wanted.gpu)->gpu->driver, &wanted);
    }
    return true;
}
