/* SPDX-License-Identifier: Apache-2.0 */
/* Note: what a seat's process says is a stranger's word. A liar can make gpuaasd check, once in
 * health_check_s; the check itself runs in a process that serves nobody. */
#include "server/processes/health.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"

#define HEALTH_FAULTS 3u /* sessions in succession; one that ends well begins anew */

enum ga_status health_probe(struct processes *room, enum conf_driver driver,
                            enum channel_probe probe, const struct backend_process_events *events,
                            void *owner, struct backend_process **out)
{
    struct channel_setup setup = {.kind = CHANNEL_SETUP, .identity = room->identity};
    devices_setup(&room->devices, driver, probe, &setup);
    char **env = devices_env(&room->devices, room->conf, driver);
    if (env == NULL) {
        ga_error("no memory");
        return GA_NO_MEMORY;
    }
    char why[300];
    enum ga_status status = backend_process_start(
        room, &setup, env, room->conf->server.open_timeout_s, events, owner, out, why, sizeof why);
    devices_env_free(env);
    if (status != GA_OK) {
        ga_error("%s", why);
    }
    return status;
}

/* ---- what a check finds */

static void health_set(struct device *device, const char *reason)
{
    struct health *health = &device->health;
    bool failed = reason[0] != 0;
    health->answered = true;
    health->failures += failed;
    if (failed && !health->failed) {
        ga_log_write(NULL, GA_LOG_ERROR, NULL,
                     "[gpu.%u] %s has failed a check (%s): it takes no new programs until it "
                     "passes one",
                     device->gpu->number, device->facts.name, reason);
    } else if (!failed && health->failed) {
        ga_info_each(NULL, "[gpu.%u] %s works again, and takes programs", device->gpu->number,
                     device->facts.name);
    }
    health->failed = failed;
    snprintf(health->reason, sizeof health->reason, "%s", reason);
}

static void check_packet(struct backend_process *process, const union channel_packet *packet)
{
    struct health_check *check = process->owner;
    struct devices *devices = &check->room->devices;
    if (packet->kind == CHANNEL_CHECKED && packet->checked.device < devices->count) {
        health_set(&devices->all[packet->checked.device], packet->checked.reason);
    }
}

static void check_later(struct health_check *check, uint64_t in_ms);

/* A process that has not answered hangs, or its driver does not open. */
static void check_ended(struct backend_process *process, const char *why)
{
    struct health_check *check = process->owner;
    struct processes *room = check->room;
    char reason[CHANNEL_TEXT_MAX];
    bool failed = false;
    snprintf(reason, sizeof reason, "its driver does not answer: %.200s",
             process->why[0] != 0 ? process->why : why);
    check->process = NULL;
    for (uint32_t i = 0; i < room->devices.count; i++) {
        struct device *device = &room->devices.all[i];
        if (device->gpu->driver == process->driver && device->known) {
            if (!device->health.answered) {
                health_set(device, reason);
            }
            failed = failed || device->health.failed;
        }
    }
    if (failed) {
        check_later(check, room->conf->server.health_check_s * 1000u);
    }
}

static const struct backend_process_events check_events = {.packet = check_packet,
                                                           .ended = check_ended};

/* ---- when there is one */

static void check_due(struct server_timer *timer)
{
    struct health_check *check = ga_container(timer, struct health_check, timer);
    struct processes *room = check->room;
    enum conf_driver driver = (enum conf_driver)(check - room->health);
    if (check->process != NULL || !room->serving || room->conf->server.health_check_s == 0) {
        return;
    }
    check->faults = 0;
    check->began_ns = timers_now(room->timers);
    for (uint32_t i = 0; i < room->devices.count; i++) {
        if (room->devices.all[i].gpu->driver == driver) {
            room->devices.all[i].health.answered = false;
        }
    }
    if (health_probe(room, driver, CHANNEL_PROBE_CHECK, &check_events, check, &check->process) !=
        GA_OK) {
        check->process = NULL; /* this machine has no memory or descriptors: not the GPU's fault */
        check_later(check, room->conf->server.health_check_s * 1000u);
    }
}

static void check_later(struct health_check *check, uint64_t in_ms)
{
    if (check->room->serving && check->room->conf->server.health_check_s != 0 &&
        !check->timer.runs) {
        timers_start(check->room->timers, &check->timer, check_due, in_ms, 0);
    }
}

void health_suspect(struct processes *room, enum conf_driver driver)
{
    struct health_check *check = &room->health[driver];
    uint64_t next_ns = check->began_ns + room->conf->server.health_check_s * GA_NS_PER_S;
    uint64_t now_ns = timers_now(room->timers);
    bool soon = check->began_ns != 0 && next_ns > now_ns;
    check_later(check, soon ? (next_ns - now_ns) / GA_NS_PER_MS + 1 : 0);
}

void health_session_ended(struct processes *room, enum conf_driver driver, bool failed)
{
    struct health_check *check = &room->health[driver];
    check->faults = failed ? check->faults + 1 : 0;
    if (check->faults >= HEALTH_FAULTS) {
        health_suspect(room, driver);
    }
}

/* ---- life */

void health_init(struct processes *room)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        room->health[i].room = room;
    }
}

void health_stop(struct processes *room)
{
    room->serving = false;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct health_check *check = &room->health[i];
        timers_stop(room->timers, &check->timer);
        if (check->process != NULL) {
            backend_process_end(check->process);
            check->process = NULL;
        }
    }
}
