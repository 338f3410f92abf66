/* SPDX-License-Identifier: Apache-2.0 */
#include "server/turns/scheduling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/control/application.h"
#include "server/turns/backend_turns.h"
#include "server/control/control.h"
#include "server/turns/scheduler.h"
#include "server/control/seat.h"

#define WEIGHT_DEFAULT 100u
#define ALONE          (UINT64_C(1) << 63) /* the store numbers nobody so */

static bool policy_is_none(const struct sched_policy *policy)
{
    return policy == sched_policy_at(0);
}

/* ---- the scheduler */

static struct scheduler_settings settings_of(const struct device *device)
{
    return (struct scheduler_settings){.policy = device->gpu->scheduling.policy,
                                       .values = device->gpu->scheduling.settings,
                                       .gpu = conf_gpu_sched(device->gpu)};
}

/* Starts it, unless it runs. */
static enum ga_status scheduling_begin(struct control *control)
{
    uint32_t gpus = control->processes.devices.visible_count;
    if (control->processes.scheduler != NULL) {
        return GA_OK;
    }
    struct scheduler_settings *settings = calloc(gpus, sizeof *settings);
    if (settings == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = 0; i < gpus; i++) {
        settings[i] = settings_of(devices_visible(&control->processes.devices, i));
    }
    control->processes.turns = &backend_turns_ops;
    enum ga_status status = scheduler_start(&control->processes.scheduler, settings, gpus);
    free(settings);
    return status;
}

/* The same while gpuaasd serves: what runs takes turns, too. A process that could not at the first
 * try is tried again. */
static enum ga_status scheduling_begin_late(struct control *control)
{
    enum ga_status status = scheduling_begin(control);
    ga_list_each (at, next, &control->processes.processes) {
        if (status == GA_OK) {
            status = backend_turns_begin_late(ga_container(at, struct backend_process, link));
        }
    }
    return status;
}

bool scheduling_is_wanted(const struct conf *conf)
{
    bool any = false;
    for (unsigned i = 0; i < conf->gpu_count; i++) {
        any = any || !policy_is_none(conf->gpus[i].scheduling.policy);
    }
    return any;
}

enum ga_status scheduling_start(struct control *control)
{
    return scheduling_is_wanted(control->conf) ? scheduling_begin(control) : GA_OK;
}

void scheduling_stop(struct control *control)
{
    if (control->processes.scheduler != NULL) {
        scheduler_stop(control->processes.scheduler);
        control->processes.scheduler = NULL;
    }
}

/* ---- policies */

enum ga_status scheduling_check(const struct device *device,
                                const struct conf_scheduling *scheduling, char *why,
                                size_t why_size)
{
    const struct sched_gpu gpu = conf_gpu_sched(device->gpu);
    return conf_scheduling_check(scheduling, &gpu, why, why_size);
}

static bool scheduling_same(const struct conf_scheduling *one, const struct conf_scheduling *other)
{
    return one->policy == other->policy &&
           memcmp(&one->settings, &other->settings, sizeof one->settings) == 0; /* NOLINT */
}

enum ga_status scheduling_set(struct control *control, uint32_t gpu,
                              const struct conf_scheduling *scheduling)
{
    struct devices *devices = &control->processes.devices;
    struct device *device = &devices->all[devices->visible[gpu]];
    struct conf_scheduling *now =
        &control->conf->gpus[device->gpu - control->conf->gpus].scheduling;
    if (scheduling_same(now, scheduling)) {
        return GA_OK;
    }
    if (!policy_is_none(scheduling->policy)) {
        GA_TRY(scheduling_begin_late(control));
    }
    *now = *scheduling;
    device->policy_generation++;
    if (control->processes.scheduler != NULL) {
        const struct scheduler_settings settings = settings_of(device);
        scheduler_change(control->processes.scheduler, gpu, &settings);
    }
    ga_info("[gpu.%u] policy = %s", device->gpu->number, sched_policy_name(scheduling->policy));
    return GA_OK;
}

void scheduling_reload(struct control *control, const struct conf *fresh)
{
    for (uint32_t i = 0; i < control->processes.devices.visible_count; i++) {
        const struct conf_gpu *gpu = devices_visible(&control->processes.devices, i)->gpu;
        for (unsigned k = 0; k < fresh->gpu_count; k++) {
            if (fresh->gpus[k].number == gpu->number &&
                scheduling_set(control, i, &fresh->gpus[k].scheduling) != GA_OK) {
                ga_error("[gpu.%u] policy: no memory or descriptors for scheduling", gpu->number);
            }
        }
    }
}

/* ---- tenants */

static bool tenant_is_capped(const struct tenant *tenant)
{
    const uint64_t *limits = tenant->terms.limits.of;
    return limits[LIMIT_COMPUTE_CAP] != LIMIT_NONE || limits[LIMIT_THROTTLE] != LIMIT_NONE;
}

uint32_t scheduling_goalless(const struct control *control)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < control->processes.devices.visible_count; i++) {
        const char *policy = sched_policy_name(
            devices_visible(&control->processes.devices, i)->gpu->scheduling.policy);
        count += strcmp(policy, "latency") != 0 && strcmp(policy, "auto") != 0;
    }
    return count;
}

static uint32_t limit_or(const struct limits *limits, enum limit limit, uint32_t standard)
{
    return limits->of[limit] != LIMIT_NONE ? (uint32_t)limits->of[limit] : standard;
}

static struct scheduler_terms terms_of(const struct tenant *tenant)
{
    const struct limits *limits = &tenant->terms.limits;
    return (struct scheduler_terms){
        .weight = limit_or(limits, LIMIT_SHARE, WEIGHT_DEFAULT),
        .priority = limit_or(limits, LIMIT_PRIORITY, 0),
        .cap_percent = limit_or(limits, LIMIT_COMPUTE_CAP, 0),
        .throttle_percent = tenant->throttled ? limit_or(limits, LIMIT_THROTTLE, 0) : 0,
        .goal_ns = limit_or(limits, LIMIT_LATENCY_GOAL, 0) * GA_NS_PER_MS};
}

uint64_t scheduling_tenant_of(const struct control_application *application)
{
    bool known = application->control->conf->server.auth;
    return known ? application->tenant->terms.number : ALONE | application->alone_number;
}

struct scheduler_terms scheduling_terms_of(const struct control_application *application)
{
    bool known = application->control->conf->server.auth;
    return known ? terms_of(application->tenant)
                 : (struct scheduler_terms){.weight = WEIGHT_DEFAULT};
}

void scheduling_tenant_changed(struct tenant *tenant)
{
    struct control *control = tenant->control;
    const struct scheduler_terms terms = terms_of(tenant);
    if (!control->serving || !control->conf->server.auth) {
        return;
    }
    if (tenant_is_capped(tenant) && scheduling_begin_late(control) != GA_OK) {
        ga_error("tenant %s: no memory or descriptors for scheduling: its caps do not hold",
                 tenant->terms.name);
    }
    if (control->processes.scheduler != NULL) {
        scheduler_terms_change(control->processes.scheduler, tenant->terms.number, &terms);
    }
}

bool scheduling_look(const struct seat *seat, uint32_t gpu, struct scheduler_session *session)
{
    return seat->process->turns != NULL &&
           scheduler_session_look(seat->process->turns, seat->number, gpu, session);
}
