/* SPDX-License-Identifier: Apache-2.0 */
/* Applications and their backend processes. */
#include "server/control/application.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/access/audit.h"
#include "server/control/claims.h"
#include "server/control/client_open.h"
#include "server/control/client_state.h"
#include "server/control/control.h"
#include "server/control/dismiss.h"
#include "server/control/seat.h"
#include "server/control/tenant_applications.h"
#include "server/tenants/member.h"

/* ---- life */

/* The host of an address "tcp://host:port", without the brackets of IPv6; a client through shared
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

struct control_application *control_application_make(struct control *control,
                                                     const struct handshake_hello *hello,
                                                     const struct transport_conn *conn,
                                                     const char *address, bool tls)
{
    struct control_application *made = calloc(1, sizeof *made);
    char url[320] = "";
    if (made == NULL) {
        return NULL;
    }
    *made = (struct control_application){.control = control,
                                         .owner = owner_of(conn, hello->application),
                                         .tls = tls,
                                         .way = tls               ? "tls"
                                                : address[0] == 0 ? "shm"
                                                                  : "tcp",
                                         .since_ns = ga_clock_ns(),
                                         .observer = (hello->takes & HANDSHAKE_HELLO_OBSERVER) != 0,
                                         .users = 1};
    memcpy(made->id, hello->application, sizeof made->id);
    snprintf(made->address, sizeof made->address, "%s", address);
    snprintf(made->program, sizeof made->program, "%.64s",
             hello->program[0] != 0 ? hello->program : "a client");
    snprintf(made->label, sizeof made->label, "%s (pid %u)", made->program, hello->pid);
    (void)!conn->ops->local_address(conn->fd, url, sizeof url);
    host_of(url, made->host);
    ga_list_init(&made->clients);
    ga_list_init(&made->fellow);
    return made;
}

/* Ids are random: the beginning is a number that finds one among very many. */
static uint64_t application_number(const uint8_t *id)
{
    uint64_t number;
    memcpy(&number, id, sizeof number);
    return number;
}

struct control_application *control_application_find(struct control *control, const uint8_t id[16])
{
    const struct ga_number_node *node =
        ga_number_map_find(&control->applications_by_number, application_number(id));
    struct control_application *found =
        node != NULL ? ga_container(node, struct control_application, known) : NULL;
    return found != NULL && memcmp(found->id, id, sizeof found->id) == 0 ? found : NULL;
}

bool control_application_admit(struct control_application *application, struct tenant *tenant)
{
    struct control *control = application->control;
    if (!application->observer) { /* which may become another application of the same id */
        if (control_application_find(control, application->id) != NULL) {
            return false;
        }
        ga_number_map_add(&control->applications_by_number, &application->known,
                          application_number(application->id));
    }
    ga_list_append(&control->applications, &application->link);
    tenant_join(tenant, application);
    application->admitted = true;
    return true;
}

void control_application_keep(struct control_application *application)
{
    application->users++;
}

/* Not inline: a caller that drops it twice has it twice, which compilers do not see. */
__attribute__((noinline)) void control_application_drop(struct control_application *application)
{
    if (--application->users == 0) {
        member_drop(application->member);
        if (application->tenant != NULL) {
            tenant_drop(application->tenant);
        }
        free(application->grant);
        free(application->gpus);
        free(application);
    }
}

static void application_not_alone(struct control_application *application)
{
    if (application->alone) {
        application->alone = false;
        application->control->alone_count--;
        control_application_drop(application);
    }
}

/* Reads what its processes have sent already: that it has opened a device, perhaps. */
static void application_hear(struct control_application *application)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        if (seat != NULL && !application->session) {
            backend_process_hear(seat->process);
        }
    }
}

static struct audit_program audit_program_of(const struct control_application *application)
{
    return (struct audit_program){.id = application->id,
                                  .tenant = control_application_tenant(application),
                                  .user = application->user,
                                  .label = application->label,
                                  .address = application->address,
                                  .transport = application->way};
}

static void application_audit_close(const struct control_application *application)
{
    const struct audit_program program = audit_program_of(application);
    audit_closes(&application->control->access.audit, &program,
                 ga_clock_ns() - application->began_ns,
                 application->dismissed_ns != 0 ? application->dismissed_why : "ended");
}

void control_application_end(struct control_application *application)
{
    control_application_keep(application);
    application_hear(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->seats[i] != NULL) {
            control_application_abandon(application, application->seats[i]);
        }
    }
    if (application->admitted) {
        if (!application->observer) {
            ga_number_map_remove(&application->control->applications_by_number,
                                 &application->known);
        }
        ga_list_remove(&application->link);
        if (application->session) {
            application_audit_close(application);
            application->control->closed[application->closes]++;
        }
        tenant_leave(application);
        application->admitted = false;
        if (!owner_lasts(&application->owner)) {
            images_forget(&application->control->processes.images, &application->owner);
        }
    }
    application_not_alone(application);
    control_application_drop(application); /* the last: it may have been the last use */
}

void control_applications_end(struct control *control)
{
    ga_list_each (at, next, &control->applications) {
        control_application_end(ga_container(at, struct control_application, link));
    }
}

void control_application_lost(struct control_application *application,
                              enum application_closes closes)
{
    if (application->closes == APPLICATION_LEAVES || application->closes == APPLICATION_RESET) {
        application->closes = closes;
    }
}

/* Perhaps: that its connections are open may be on its way to us. The process is asked. */
static bool seat_goes_on(const struct seat *seat)
{
    return seat != NULL && (seat->served_ns != 0 || seat->tickets_sent != 0) && !seat->left;
}

void control_application_left(struct control_application *application)
{
    struct control *control = application->control;
    bool alone = false;
    application_hear(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        alone = alone || seat_goes_on(application->seats[i]);
    }
    if (!alone || control->stopping || !application->admitted) {
        control_application_end(application);
        return;
    }
    application->alone = true;
    application->alone_told = false;
    control->alone_count++;
    control_application_keep(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        if (seat_goes_on(seat)) {
            seat_watch(seat);
        } else if (seat != NULL) {
            control_application_abandon(application, seat);
        }
    }
}

bool control_application_has_seat(const struct control_application *application)
{
    bool has = false;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        has = has || application->seats[i] != NULL;
    }
    return has;
}

bool control_application_uses(const struct control_application *application, uint32_t gpu)
{
    bool uses = false;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        const struct seat *seat = application->seats[i];
        uses = uses ||
               (seat != NULL && (gpu_set_has(seat->gpus, gpu) || gpu_set_has(seat->claimed, gpu)));
    }
    return uses;
}

/* The application has lost a seat. */
static void application_alone_look(struct control_application *application)
{
    if (application->alone && !control_application_has_seat(application)) {
        control_application_end(application);
    }
}

struct control_application *
control_application_rejoin(const struct control_application *application,
                           const struct tenant *tenant)
{
    struct control_application *known =
        control_application_find(application->control, application->id);
    if (known == NULL || !known->alone || known->tls != application->tls ||
        known->tenant != tenant || !owner_same(&known->owner, &application->owner)) {
        return NULL;
    }
    control_application_keep(known);
    application_not_alone(known);
    if (known->closes == APPLICATION_RESET || known->closes == APPLICATION_SILENT) {
        known->closes = APPLICATION_LEAVES; /* it is here again */
    }
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (known->seats[i] != NULL) {
            seat_watch_end(known->seats[i]);
        }
    }
    return known;
}

/* ---- its seats */

static void seat_forget(struct control_application *application, const struct seat *seat)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->seats[i] == seat) {
            application->seats[i] = NULL;
        }
    }
    drain_look(application->control);
}

void control_application_abandon(struct control_application *application, struct seat *seat)
{
    seat_forget(application, seat);
    seat_leave(seat);
}

/* Whether any open of it waits for this seat; for any, if that is NULL. */
static bool is_waited_for(const struct control_application *application, const struct seat *seat)
{
    bool waits = false;
    ga_list_each (at, next, &application->clients) {
        waits =
            waits || control_client_waits(ga_container(at, struct control_client, beside), seat);
    }
    return waits;
}

/* Answers the opens that waited for this seat; `reason` NULL: it is ready. */
static void clients_answer(struct control_application *application, struct seat *seat,
                           int32_t result, const char *reason)
{
    ga_list_each (at, next, &application->clients) {
        control_client_answer(ga_container(at, struct control_client, beside), seat, result,
                              reason);
    }
}

/* Any of them may be closed by it, and the application end with the last one. */
static void clients_flush(struct control_application *application)
{
    control_application_keep(application);
    ga_list_each (at, next, &application->clients) {
        (void)control_client_flush(ga_container(at, struct control_client, beside));
    }
    control_application_drop(application);
}

/* The opens that wait for it wait for another one. */
static void seat_replace(struct control_application *application, struct seat *seat)
{
    char why[300];
    if (is_waited_for(application, seat) &&
        control_application_start(application, seat->process->driver, why, sizeof why) != GA_OK) {
        clients_answer(application, seat, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
    control_application_abandon(application, seat);
    application_alone_look(application);
}

static void application_packet(struct seat *seat, const union channel_packet *packet)
{
    struct control_application *application = seat->application;
    switch (packet->kind) {
    case CHANNEL_READY:
        clients_answer(application, seat, 0, NULL);
        break;
    case CHANNEL_FAILED:
        clients_answer(application, seat, packet->failed.result, packet->failed.reason);
        break;
    case CHANNEL_BOUND:
        (void)control_application_began(application, ga_clock_ns());
        return;
    case CHANNEL_VOID:
        if (!claims_doubted(seat)) {
            control_applications_open_again(application->control);
            return;
        }
        seat_replace(application, seat);
        break;
    case CHANNEL_SERVED:
        if (application->alone && !application->alone_told) {
            application->alone_told = true;
            ga_info_of(application->address,
                       "%s: goes on without its control connection, which has ended",
                       application->label);
        }
        return;
    case CHANNEL_IDLE:
        if (packet->idle.tickets == seat->tickets_sent && !is_waited_for(application, NULL)) {
            control_application_abandon(application, seat);
            application_alone_look(application);
            break; /* it may have become idle */
        }
        return;
    default:
        return;
    }
    clients_flush(application);
}

static void application_room(struct seat *seat)
{
    clients_answer(seat->application, seat, 0, NULL);
    clients_flush(seat->application);
}

/* The opens that waited for it wait for another one if it was a spare that has not answered. */
static void application_seat_ended(struct seat *seat, const char *why)
{
    struct control_application *application = seat->application;
    char none[300];
    bool silent = seat->prompt && !seat->ready;
    if (application->dismissed_ns == 0 && !silent && strcmp(why, "exit status 0") != 0) {
        application->closes = APPLICATION_CRASHES;
    } else if (atomic_load(&seat->usage.figures->silent) != 0) {
        control_application_lost(application, APPLICATION_SILENT);
    }
    if (silent && is_waited_for(application, seat)) {
        enum ga_status status =
            control_application_start(application, seat->process->driver, none, sizeof none);
        why = status == GA_OK ? why : none;
    }
    clients_answer(application, seat, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    seat_forget(application, seat);
    clients_flush(application);
    application_alone_look(application);
}

static const struct seat_events application_events = {
    .packet = application_packet, .room = application_room, .ended = application_seat_ended};

enum ga_status control_application_start(struct control_application *application,
                                         enum conf_driver driver, char *why, size_t why_size)
{
    struct control *control = application->control;
    struct warm_pool *pool = &control->processes.warm_pools[driver];
    struct backend_process *process;
    struct seat *seat;
    enum ga_status status;
    bool last;
    do { /* a spare may be dying: then the next one */
        last = pool->count == 0;
        GA_TRY(warm_pool_take(pool, &process, why, why_size));
        status = seat_take(process, application, control->conf->server.open_timeout_s,
                           &application_events, &seat);
        if (status != GA_OK && backend_process_seats(process) == 0) {
            backend_process_end(process); /* it belongs to nobody */
        }
    } while (status != GA_OK && !last);
    if (status != GA_OK) {
        snprintf(why, why_size,
                 status == GA_NO_MEMORY ? "no memory"
                                        : "a backend process died while it was started");
        return status;
    }
    application->seats[driver] = seat;
    return GA_OK;
}

const char *control_application_tenant(const struct control_application *application)
{
    return application->tenant != NULL  ? application->tenant->terms.name
           : application->grant != NULL ? application->grant->tenant.name
                                        : TENANT_DEFAULT;
}

void control_application_refused(const struct control_application *application,
                                 const struct refusal *refusal)
{
    if (refusal->reason == REFUSAL_LIMIT) {
        totals_refused(&application->control->usage.totals, control_application_tenant(application),
                       refusal->limit);
    }
    const struct audit_program program = audit_program_of(application);
    audit_turned_away(&application->control->access.audit, &program, refusal);
}

static void session_begin(struct control_application *application)
{
    struct refusal refusal;
    application->session = true;
    tenant_session_begin(application);
    totals_session(&application->control->usage.totals, application->tenant->terms.name);
    const struct audit_program program = audit_program_of(application);
    if (!audit_opens(&application->control->access.audit, &program, &refusal)) {
        application->control->refused[refusal.reason]++;
        dismiss_application(application, APPLICATION_KILLED, refusal.result, refusal.why);
    }
}

uint64_t control_application_began(struct control_application *application, uint64_t now)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS && application->began_ns == 0; i++) {
        struct seat *seat = application->seats[i];
        application->began_ns = seat != NULL ? seat_began_ns(seat, now) : 0;
    }
    if (application->began_ns != 0 && !application->session && application->admitted) {
        session_begin(application);
    }
    return application->began_ns;
}

bool control_application_open_again(struct control_application *application)
{
    bool waits = false;
    ga_list_each (at, next, &application->clients) {
        waits = waits ||
                control_client_waits_for_claims(ga_container(at, struct control_client, beside));
    }
    if (!waits) {
        return false;
    }
    control_application_keep(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        if (seat != NULL && seat->ready) {
            clients_answer(application, seat, 0, NULL);
        }
    }
    clients_flush(application);
    control_application_drop(application);
    return true;
}

void control_applications_open_again(struct control *control)
{
    ga_list_each (at, next, &control->applications) {
        (void)control_application_open_again(ga_container(at, struct control_application, link));
    }
}
