/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/drain.h"

#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/terminate.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"

#define NOTIFY_MS 5000 /* systemd waits on, as long as it hears */

static void drain_turn(struct server_timer *timer);

/* The subject of a drain, for people. */
static const char *subject(const struct applications *room, uint32_t gpu, char *text, size_t size)
{
    if (gpu == DRAIN_NODE) {
        return "this server";
    }
    snprintf(text, size, "GPU %u of this server",
             devices_visible(&room->processes->devices, gpu)->gpu->number);
    return text;
}

static struct drain *drain_at(struct applications *room, uint32_t gpu)
{
    return gpu == DRAIN_NODE
               ? &room->drains.node
               : &room->processes->devices.all[room->processes->devices.visible[gpu]].drain;
}

const struct drain *drain_of(const struct applications *room, uint32_t gpu)
{
    return gpu == DRAIN_NODE ? &room->drains.node
                             : &devices_visible(&room->processes->devices, gpu)->drain;
}

static bool drain_uses(const struct control_application *application, uint32_t gpu)
{
    return gpu == DRAIN_NODE ? control_application_has_seat(application)
                             : control_application_uses(application, gpu);
}

static uint32_t drain_users(const struct applications *room, uint32_t gpu)
{
    uint32_t users = 0;
    ga_list_each (at, next, &room->all) {
        users += drain_uses(ga_container(at, struct control_application, link), gpu);
    }
    return users;
}

/* ---- what programs are told */

static void deadline_words(const struct drain *drain, uint64_t now_ns, char *text, size_t size)
{
    uint64_t left_s = drain->deadline_ns > now_ns
                          ? (drain->deadline_ns - now_ns + GA_NS_PER_S - 1) / GA_NS_PER_S
                          : 0;
    if (drain->deadline_ns == 0) {
        snprintf(text, size, "it may go on to its end");
    } else {
        snprintf(text, size, "it may go on for %llu s", (unsigned long long)left_s);
    }
}

static void drain_announce(const struct applications *room, uint32_t gpu)
{
    const struct drain *drain = drain_of(room, gpu);
    char name[40], rest[60], text[400];
    deadline_words(drain, timers_now(room->timers), rest, sizeof rest);
    snprintf(text, sizeof text, "%s takes no new programs (%s); this program uses it: %s",
             subject(room, gpu, name, sizeof name), drain->reason, rest);
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, gpu)) {
            application_notice(application, text);
        }
    }
}

static void drain_expire(const struct applications *room, uint32_t gpu)
{
    const struct drain *drain = drain_of(room, gpu);
    char name[40], text[400];
    snprintf(text, sizeof text, "%s is taken out of service (%s), and the time to end is up",
             subject(room, gpu, name, sizeof name), drain->reason);
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, gpu)) {
            terminate_application(application, APPLICATION_DRAINED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                                  text);
        }
    }
}

bool drain_refuses(const struct applications *room, uint32_t gpu, struct refusal *refusal)
{
    const struct drain *drain = drain_of(room, gpu);
    char name[40];
    if (drain->state == DRAIN_NONE) {
        return false;
    }
    return !refusal_set(refusal, REFUSAL_DRAIN,
                        gpu == DRAIN_NODE ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_DEVICE_UNAVAILABLE,
                        "%s takes no new programs: %s", subject(room, gpu, name, sizeof name),
                        drain->reason);
}

/* ---- going on */

static void drain_status(struct applications *room, const char *line)
{
    if (room->drains.hooks != NULL) {
        room->drains.hooks->status(room, line);
    }
}

static void drain_step(struct applications *room, uint32_t gpu, uint64_t now_ns)
{
    struct drain *drain = drain_at(room, gpu);
    char name[40], line[DRAIN_REASON_BYTES + 120];
    if (drain->state != DRAIN_GOING) {
        return;
    }
    if (drain_users(room, gpu) == 0) {
        drain->state = DRAIN_DONE;
        snprintf(line, sizeof line, "%s is drained: no program uses it (%s)",
                 subject(room, gpu, name, sizeof name), drain->reason);
        ga_info("%s", line);
        drain_status(room, line);
        if (drain->ends && room->drains.hooks != NULL) {
            room->drains.hooks->emptied(room);
        }
    } else if (drain->deadline_ns != 0 && now_ns >= drain->deadline_ns) {
        drain_expire(room, gpu); /* they are gone soon */
    }
}

static uint64_t sooner_of(const struct drain *drain, uint64_t now_ns, uint64_t wait_ms)
{
    if (drain->state == DRAIN_GOING && drain->deadline_ns > now_ns) {
        uint64_t left_ms = (drain->deadline_ns - now_ns) / GA_NS_PER_MS + 1;
        return left_ms < wait_ms ? left_ms : wait_ms;
    }
    return wait_ms;
}

static void drain_turn(struct server_timer *timer)
{
    struct applications *room = ga_container(timer, struct applications, drains.timer);
    uint64_t now_ns = timers_now(room->timers), wait_ms = NOTIFY_MS;
    bool going = false;
    for (uint32_t i = 0; i <= room->processes->devices.visible_count; i++) {
        uint32_t gpu = i < room->processes->devices.visible_count ? i : DRAIN_NODE;
        drain_step(room, gpu, now_ns);
        wait_ms = sooner_of(drain_of(room, gpu), now_ns, wait_ms);
        going = going || drain_of(room, gpu)->state == DRAIN_GOING;
    }
    if (room->stopping) {
        return;
    }
    if (room->drains.node.ends && room->drains.hooks != NULL) {
        room->drains.hooks->goes_on(room, 2000 * (uint64_t)NOTIFY_MS);
    }
    if (going) {
        timers_start(room->timers, timer, drain_turn, wait_ms, 0);
    }
}

void drain_look(struct applications *room)
{
    if (!room->stopping && room->drains.timer.runs) {
        timers_start(room->timers, &room->drains.timer, drain_turn, 0, 0);
    }
}

enum ga_status drain_begin(struct applications *room, uint32_t gpu, const char *reason,
                           uint64_t deadline_s, char *why, size_t why_size)
{
    if (gpu != DRAIN_NODE && gpu >= room->processes->devices.visible_count) {
        snprintf(why, why_size, "there is no such GPU");
        return GA_INVALID;
    }
    if (reason[0] == 0 || strlen(reason) >= DRAIN_REASON_BYTES) {
        snprintf(why, why_size, "a reason for the programs' users is needed, of 1 to %d characters",
                 DRAIN_REASON_BYTES - 1);
        return GA_INVALID;
    }
    struct drain *drain = drain_at(room, gpu);
    char name[40];
    drain->state = DRAIN_GOING;
    drain->deadline_ns = deadline_s != 0 ? timers_now(room->timers) + deadline_s * GA_NS_PER_S : 0;
    snprintf(drain->reason, sizeof drain->reason, "%s", reason);
    ga_info("%s takes no new programs: %s; %u use it", subject(room, gpu, name, sizeof name),
            reason, drain_users(room, gpu));
    drain_status(room, "draining");
    drain_announce(room, gpu);
    timers_start(room->timers, &room->drains.timer, drain_turn, 0, 0);
    return GA_OK;
}

enum ga_status drain_end(struct applications *room, uint32_t gpu, char *why, size_t why_size)
{
    if (gpu != DRAIN_NODE && gpu >= room->processes->devices.visible_count) {
        snprintf(why, why_size, "there is no such GPU");
        return GA_INVALID;
    }
    struct drain *drain = drain_at(room, gpu);
    char name[40];
    if (drain->ends) {
        snprintf(why, why_size, "gpuaasd is ending");
        return GA_CONFLICT;
    }
    if (drain->state != DRAIN_NONE) {
        *drain = (struct drain){.state = DRAIN_NONE};
        ga_info("%s takes programs again", subject(room, gpu, name, sizeof name));
        drain_status(room, "serving");
    }
    return GA_OK;
}

/* Nobody has time left. */
static void drain_terminate(struct applications *room, const char *reason)
{
    room->drains.node.state = DRAIN_GOING;
    snprintf(room->drains.node.reason, sizeof room->drains.node.reason, "%s", reason);
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, DRAIN_NODE)) {
            terminate_application(application, APPLICATION_DRAINED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                                  reason);
        }
    }
    timers_start(room->timers, &room->drains.timer, drain_turn, 0, 0);
}

void drain_and_stop(struct applications *room, const char *reason, uint64_t deadline_s)
{
    char why[200];
    room->drains.node.ends = true;
    if (deadline_s == 0) {
        drain_terminate(room, reason);
        return;
    }
    (void)!drain_begin(room, DRAIN_NODE, reason, deadline_s, why, sizeof why);
}

void drain_init(struct applications *room, const struct drain_hooks *hooks)
{
    room->drains.hooks = hooks;
}

void drain_fini(struct applications *room)
{
    timers_stop(room->timers, &room->drains.timer);
}
