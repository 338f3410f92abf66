/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/drain.h"

#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/control/dismiss.h"
#include "server/control/notify.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"

#define NOTIFY_MS 5000 /* systemd waits on, as long as it hears */

static void drain_turn(uv_timer_t *timer);

/* The subject of a drain, for people. */
static const char *subject(const struct control *control, uint32_t gpu, char *text, size_t size)
{
    if (gpu == DRAIN_NODE) {
        return "this server";
    }
    snprintf(text, size, "GPU %u of this server",
             devices_visible(&control->processes.devices, gpu)->gpu->number);
    return text;
}

static struct drain *drain_at(struct control *control, uint32_t gpu)
{
    return gpu == DRAIN_NODE
               ? &control->drain
               : &control->processes.devices.all[control->processes.devices.visible[gpu]].drain;
}

const struct drain *drain_of(const struct control *control, uint32_t gpu)
{
    return gpu == DRAIN_NODE ? &control->drain
                             : &devices_visible(&control->processes.devices, gpu)->drain;
}

static bool drain_uses(const struct control_application *application, uint32_t gpu)
{
    return gpu == DRAIN_NODE ? control_application_has_seat(application)
                             : control_application_uses(application, gpu);
}

static uint32_t drain_users(const struct control *control, uint32_t gpu)
{
    uint32_t users = 0;
    ga_list_each (at, next, &control->applications) {
        users += drain_uses(ga_container(at, struct control_application, link), gpu);
    }
    return users;
}

/* ---- what programs are told */

static void deadline_words(const struct drain *drain, char *text, size_t size)
{
    uint64_t now_ns = ga_clock_ns();
    uint64_t left_s = drain->deadline_ns > now_ns
                          ? (drain->deadline_ns - now_ns + GA_NS_PER_S - 1) / GA_NS_PER_S
                          : 0;
    if (drain->deadline_ns == 0) {
        snprintf(text, size, "it may go on to its end");
    } else {
        snprintf(text, size, "it may go on for %llu s", (unsigned long long)left_s);
    }
}

static void drain_announce(const struct control *control, uint32_t gpu)
{
    const struct drain *drain = drain_of(control, gpu);
    char name[40], rest[60], text[400];
    deadline_words(drain, rest, sizeof rest);
    snprintf(text, sizeof text, "%s takes no new programs (%s); this program uses it: %s",
             subject(control, gpu, name, sizeof name), drain->reason, rest);
    ga_list_each (at, next, &control->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, gpu)) {
            dismiss_note(application, text);
        }
    }
}

static void drain_expire(const struct control *control, uint32_t gpu)
{
    const struct drain *drain = drain_of(control, gpu);
    char name[40], text[400];
    snprintf(text, sizeof text, "%s is taken out of service (%s), and the time to end is up",
             subject(control, gpu, name, sizeof name), drain->reason);
    ga_list_each (at, next, &control->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, gpu)) {
            dismiss_application(application, APPLICATION_DRAINED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                                text);
        }
    }
}

bool drain_refuses(const struct control *control, uint32_t gpu, struct refusal *refusal)
{
    const struct drain *drain = drain_of(control, gpu);
    char name[40];
    if (drain->state == DRAIN_NONE) {
        return false;
    }
    return !refusal_set(refusal, REFUSAL_DRAIN,
                        gpu == DRAIN_NODE ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_DEVICE_UNAVAILABLE,
                        "%s takes no new programs: %s", subject(control, gpu, name, sizeof name),
                        drain->reason);
}

/* ---- going on */

static void drain_step(struct control *control, uint32_t gpu, uint64_t now_ns)
{
    struct drain *drain = drain_at(control, gpu);
    char name[40], line[DRAIN_REASON_BYTES + 120];
    if (drain->state != DRAIN_GOING) {
        return;
    }
    if (drain_users(control, gpu) == 0) {
        drain->state = DRAIN_DONE;
        snprintf(line, sizeof line, "%s is drained: no program uses it (%s)",
                 subject(control, gpu, name, sizeof name), drain->reason);
        ga_info("%s", line);
        notify_status(&control->notify, line);
        if (drain->ends) {
            control_end(control, 0);
        }
    } else if (drain->deadline_ns != 0 && now_ns >= drain->deadline_ns) {
        drain_expire(control, gpu); /* they are gone soon */
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

static void drain_turn(uv_timer_t *timer)
{
    struct control *control = timer->data;
    uint64_t now_ns = ga_clock_ns(), wait_ms = NOTIFY_MS;
    bool going = false;
    for (uint32_t i = 0; i <= control->processes.devices.visible_count; i++) {
        uint32_t gpu = i < control->processes.devices.visible_count ? i : DRAIN_NODE;
        drain_step(control, gpu, now_ns);
        wait_ms = sooner_of(drain_of(control, gpu), now_ns, wait_ms);
        going = going || drain_of(control, gpu)->state == DRAIN_GOING;
    }
    if (control->stopping) {
        return;
    }
    if (control->drain.ends) {
        notify_extend(&control->notify, 2000 * (uint64_t)NOTIFY_MS);
    }
    if (going) {
        (void)uv_timer_start(timer, drain_turn, wait_ms, 0);
    }
}

void drain_look(struct control *control)
{
    if (!control->stopping && uv_is_active((uv_handle_t *)&control->drains)) {
        (void)uv_timer_start(&control->drains, drain_turn, 0, 0);
    }
}

enum ga_status drain_begin(struct control *control, uint32_t gpu, const char *reason,
                           uint64_t deadline_s, char *why, size_t why_size)
{
    if (gpu != DRAIN_NODE && gpu >= control->processes.devices.visible_count) {
        snprintf(why, why_size, "there is no such GPU");
        return GA_INVALID;
    }
    if (reason[0] == 0 || strlen(reason) >= DRAIN_REASON_BYTES) {
        snprintf(why, why_size, "a reason for the programs' users is needed, of 1 to %d characters",
                 DRAIN_REASON_BYTES - 1);
        return GA_INVALID;
    }
    struct drain *drain = drain_at(control, gpu);
    char name[40];
    drain->state = DRAIN_GOING;
    drain->deadline_ns = deadline_s != 0 ? ga_clock_ns() + deadline_s * GA_NS_PER_S : 0;
    snprintf(drain->reason, sizeof drain->reason, "%s", reason);
    ga_info("%s takes no new programs: %s; %u use it", subject(control, gpu, name, sizeof name),
            reason, drain_users(control, gpu));
    notify_status(&control->notify, "draining");
    drain_announce(control, gpu);
    (void)uv_timer_start(&control->drains, drain_turn, 0, 0);
    return GA_OK;
}

enum ga_status drain_end(struct control *control, uint32_t gpu, char *why, size_t why_size)
{
    if (gpu != DRAIN_NODE && gpu >= control->processes.devices.visible_count) {
        snprintf(why, why_size, "there is no such GPU");
        return GA_INVALID;
    }
    struct drain *drain = drain_at(control, gpu);
    char name[40];
    if (drain->ends) {
        snprintf(why, why_size, "gpuaasd is ending");
        return GA_CONFLICT;
    }
    if (drain->state != DRAIN_NONE) {
        *drain = (struct drain){.state = DRAIN_NONE};
        ga_info("%s takes programs again", subject(control, gpu, name, sizeof name));
        notify_status(&control->notify, "serving");
    }
    return GA_OK;
}

/* Nobody has time left. */
static void drain_dismiss(struct control *control, const char *reason)
{
    control->drain.state = DRAIN_GOING;
    snprintf(control->drain.reason, sizeof control->drain.reason, "%s", reason);
    ga_list_each (at, next, &control->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (drain_uses(application, DRAIN_NODE)) {
            dismiss_application(application, APPLICATION_DRAINED, CUDA_ERROR_DEVICE_UNAVAILABLE,
                                reason);
        }
    }
    (void)uv_timer_start(&control->drains, drain_turn, 0, 0);
}

void drain_and_stop(struct control *control, const char *reason, uint64_t deadline_s)
{
    char why[200];
    control->drain.ends = true;
    notify_stopping(&control->notify);
    if (deadline_s == 0) {
        drain_dismiss(control, reason);
        return;
    }
    (void)!drain_begin(control, DRAIN_NODE, reason, deadline_s, why, sizeof why);
}

void drain_init(struct control *control)
{
    control->drains.data = control;
    (void)uv_timer_init(&control->loop, &control->drains);
    uv_unref((uv_handle_t *)&control->drains);
}

void drain_fini(struct control *control)
{
    uv_close((uv_handle_t *)&control->drains, NULL);
}
