/* SPDX-License-Identifier: Apache-2.0 */
/* Applications and their backend processes. */
#include "server/applications/application.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/access/audit.h"
#include "server/applications/applications.h"
#include "server/applications/tenant_applications.h"
#include "server/applications/terminate.h"
#include "server/seats/claims.h"
#include "server/seats/seat.h"
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

struct control_application *control_application_make(struct applications *room,
                                                     const struct handshake_hello *hello,
                                                     const struct transport_conn *conn,
                                                     const char *address, bool tls)
{
    struct control_application *made = calloc(1, sizeof *made);
    char url[320] = "";
    if (made == NULL) {
        return NULL;
    }
    *made = (struct control_application){.room = room,
                                         .owner = owner_of(conn, hello->application),
                                         .tls = tls,
                                         .way = tls               ? "tls"
                                                : address[0] == 0 ? "shm"
                                                                  : "tcp",
                                         .since_ns = timers_now(room->timers),
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

struct control_application *control_application_find(struct applications *room,
                                                     const uint8_t id[16])
{
    const struct ga_number_node *node =
        ga_number_map_find(&room->by_number, application_number(id));
    struct control_application *found =
        node != NULL ? ga_container(node, struct control_application, known) : NULL;
    return found != NULL && memcmp(found->id, id, sizeof found->id) == 0 ? found : NULL;
}

bool control_application_admit(struct control_application *application, struct tenant *tenant)
{
    struct applications *room = application->room;
    if (!application->observer) { /* which may become another application of the same id */
        if (control_application_find(room, application->id) != NULL) {
            return false;
        }
        ga_number_map_add(&room->by_number, &application->known,
                          application_number(application->id));
    }
    ga_list_append(&room->all, &application->link);
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
        application->room->alone_count--;
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
    audit_closes(&application->room->access->audit, &program,
                 timers_now(application->room->timers) - application->began_ns,
                 application->terminated_there ? application->terminated_why : "ended");
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
            ga_number_map_remove(&application->room->by_number, &application->known);
        }
        ga_list_remove(&application->link);
        if (application->session) {
            application_audit_close(application);
            application->room->closed[application->closes]++;
        }
        tenant_leave(application);
        application->admitted = false;
        if (!owner_lasts(&application->owner)) {
            images_forget(&application->room->processes->images, &application->owner);
        }
    }
    application_not_alone(application);
    control_application_drop(application); /* the last: it may have been the last use */
}

void control_applications_end(struct applications *room)
{
    ga_list_each (at, next, &room->all) {
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
    struct applications *room = application->room;
    bool alone = false;
    application_hear(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        alone = alone || seat_goes_on(application->seats[i]);
    }
    if (!alone || room->stopping || !application->admitted) {
        control_application_end(application);
        return;
    }
    application->alone = true;
    application->alone_told = false;
    room->alone_count++;
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

struct control_application *
control_application_rejoin(const struct control_application *application,
                           const struct tenant *tenant)
{
    struct control_application *known =
        control_application_find(application->room, application->id);
    if (known == NULL || !known->alone || known->tls != application->tls ||
        known->tenant != tenant || !owner_same(&known->owner, &application->owner)) {
        return NULL;
    }
    control_application_keep(known);
    if (control_application_seems_gone(known)) {
        terminate_found(known);
    }
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
        totals_refused(&application->room->usage->totals, control_application_tenant(application),
                       refusal->limit);
    }
    const struct audit_program program = audit_program_of(application);
    audit_turned_away(&application->room->access->audit, &program, refusal);
}

static void session_begin(struct control_application *application)
{
    struct refusal refusal;
    application->session = true;
    tenant_session_begin(application);
    totals_session(&application->room->usage->totals, application->tenant->terms.name);
    const struct audit_program program = audit_program_of(application);
    if (!audit_opens(&application->room->access->audit, &program, &refusal)) {
        application->room->refused[refusal.reason]++;
        terminate_application(application, APPLICATION_KILLED, refusal.result, refusal.why);
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

void control_applications_open_again(struct applications *room)
{
    ga_list_each (at, next, &room->all) {
        (void)control_application_open_again(ga_container(at, struct control_application, link));
    }
}
