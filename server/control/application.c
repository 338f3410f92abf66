/* SPDX-License-Identifier: Apache-2.0 */
/* Applications and their backend processes. */
#include "server/control/application.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/control/client_open.h"
#include "server/control/client_state.h"
#include "server/control/control.h"

/* ---- life */

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
    *made = (struct control_application){.control = control, .tls = tls, .users = 1};
    memcpy(made->id, hello->application, sizeof made->id);
    snprintf(made->address, sizeof made->address, "%s", address);
    snprintf(made->label, sizeof made->label, "%.64s (pid %u)",
             hello->program[0] != 0 ? hello->program : "a client", hello->pid);
    (void)!conn->ops->local_address(conn->fd, url, sizeof url);
    host_of(url, made->host);
    ga_list_init(&made->clients);
    return made;
}

/* Ids are random: the beginning is a number that finds one among very many. */
static uint64_t application_number(const uint8_t *id)
{
    uint64_t number;
    memcpy(&number, id, sizeof number);
    return number;
}

bool control_application_admit(struct control_application *application)
{
    struct control *control = application->control;
    uint64_t number = application_number(application->id);
    const struct ga_number_node *node =
        ga_number_map_find(&control->applications_by_number, number);
    if (node != NULL && memcmp(ga_container(node, struct control_application, known)->id,
                               application->id, sizeof application->id) == 0) {
        return false;
    }
    ga_number_map_add(&control->applications_by_number, &application->known, number);
    ga_list_append(&control->applications, &application->link);
    application->admitted = true;
    return true;
}

void control_application_keep(struct control_application *application)
{
    application->users++;
}

void control_application_drop(struct control_application *application)
{
    if (--application->users == 0) {
        free(application);
    }
}

void control_application_end(struct control_application *application)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->processes[i] != NULL) {
            control_application_abandon(application, application->processes[i]);
        }
    }
    if (application->admitted) {
        ga_number_map_remove(&application->control->applications_by_number, &application->known);
        ga_list_remove(&application->link);
        application->admitted = false;
    }
}

/* ---- its processes */

static void process_forget(struct control_application *application,
                           const struct backend_process *process)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->processes[i] == process) {
            application->processes[i] = NULL;
        }
    }
}

void control_application_abandon(struct control_application *application,
                                 struct backend_process *process)
{
    process_forget(application, process);
    backend_process_end(process);
}

/* Whether any open of it waits for this process; for any, if that is NULL. */
static bool is_waited_for(const struct control_application *application,
                          const struct backend_process *process)
{
    bool waits = false;
    ga_list_each (at, next, &application->clients) {
        waits =
            waits || control_client_waits(ga_container(at, struct control_client, beside), process);
    }
    return waits;
}

/* Answers the opens that waited for this process; `reason` NULL: it is ready. */
static void clients_answer(struct control_application *application, struct backend_process *process,
                           int32_t result, const char *reason)
{
    ga_list_each (at, next, &application->clients) {
        control_client_answer(ga_container(at, struct control_client, beside), process, result,
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

static void process_packet(struct backend_process *process, const union channel_packet *packet)
{
    struct control_application *application = process->owner;
    switch (packet->kind) {
    case CHANNEL_READY:
        clients_answer(application, process, 0, NULL);
        break;
    case CHANNEL_FAILED:
        clients_answer(application, process, packet->failed.result, packet->failed.reason);
        break;
    case CHANNEL_IDLE:
        if (packet->idle.tickets == process->tickets_sent && !is_waited_for(application, NULL)) {
            control_application_abandon(application, process);
        }
        return;
    default:
        return;
    }
    clients_flush(application);
}

static void process_room(struct backend_process *process)
{
    struct control_application *application = process->owner;
    clients_answer(application, process, 0, NULL);
    clients_flush(application);
}

/* The opens that waited for it wait for another one if it was a spare that has not answered. */
static void process_ended(struct backend_process *process, const char *why)
{
    struct control_application *application = process->owner;
    char none[300];
    bool silent = process->prompt && !process->ready;
    if (silent && is_waited_for(application, process)) {
        enum ga_status status =
            control_application_start(application, process->driver, none, sizeof none);
        why = status == GA_OK ? why : none;
    }
    clients_answer(application, process, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    process_forget(application, process);
    clients_flush(application);
}

static const struct backend_process_events process_events = {
    .packet = process_packet, .room = process_room, .ended = process_ended};

enum ga_status control_application_start(struct control_application *application,
                                         enum conf_driver driver, char *why, size_t why_size)
{
    struct control *control = application->control;
    struct warm_pool *pool = &control->warm_pools[driver];
    struct backend_process *process;
    enum ga_status status;
    bool last;
    do { /* a spare may be dying: then the next one */
        last = pool->count == 0;
        GA_TRY(warm_pool_take(pool, &process, why, why_size));
        status = backend_process_assign(process, application, control->conf->server.open_timeout_s,
                                        &process_events);
    } while (status != GA_OK && !last);
    if (status != GA_OK) {
        snprintf(why, why_size, "a backend process died while it was started");
        return status;
    }
    application->processes[driver] = process;
    return GA_OK;
}

/* ---- status */

static void process_status(const struct backend_process *process, struct status_application *status)
{
    if (process != NULL) {
        status->processes++;
        for (unsigned i = 0; i < FIGURE_COUNT; i++) {
            status->figures[i] +=
                atomic_load_explicit(&process->figures->of[i], memory_order_relaxed);
        }
    }
}

void control_application_status(const struct control *control, const struct status_sink *sink)
{
    ga_list_each (at, next, &control->applications) {
        const struct control_application *application =
            ga_container(at, struct control_application, link);
        struct status_application status = {
            .id = application->id, .address = application->address, .label = application->label};
        ga_list_each (client, after, &application->clients) {
            status.connections++;
        }
        for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
            process_status(application->processes[i], &status);
        }
        sink->application(sink->user, &status);
    }
}
