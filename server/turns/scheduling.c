/* SPDX-License-Identifier: Apache-2.0 */
#include "server/turns/scheduling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/processes/backend_process.h"
#include "server/turns/backend_turns.h"
#include "server/turns/scheduler.h"

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
static enum ga_status scheduling_begin(struct processes *processes)
{
    uint32_t gpus = processes->devices.visible_count;
    if (processes->scheduler != NULL) {
        return GA_OK;
    }
    struct scheduler_settings *settings = calloc(gpus, sizeof *settings);
    if (settings == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = 0; i < gpus; i++) {
        settings[i] = settings_of(devices_visible(&processes->devices, i));
    }
    processes->turns = &backend_turns_ops;
    enum ga_status status = scheduler_start(&processes->scheduler, settings, gpus);
    free(settings);
    return status;
}

enum ga_status scheduling_begin_late(struct processes *processes)
{
    enum ga_status status = scheduling_begin(processes);
    ga_list_each (at, next, &processes->processes) {
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

enum ga_status scheduling_start(struct processes *processes)
{
    return scheduling_is_wanted(processes->conf) ? scheduling_begin(processes) : GA_OK;
}

void scheduling_stop(struct processes *processes)
{
    if (processes->scheduler != NULL) {
        scheduler_stop(processes->scheduler);
        processes->scheduler = NULL;
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

enum ga_status scheduling_set(struct processes *processes, struct conf *conf, uint32_t gpu,
                              const struct conf_scheduling *scheduling)
{
    struct devices *devices = &processes->devices;
    struct device *device = &devices->all[devices->visible[gpu]];
    struct conf_scheduling *now = &conf->gpus[device->gpu - conf->gpus].scheduling;
    if (scheduling_same(now, scheduling)) {
        return GA_OK;
    }
    if (!policy_is_none(scheduling->policy)) {
        GA_TRY(scheduling_begin_late(processes));
    }
    *now = *scheduling;
    device->policy_generation++;
    if (processes->scheduler != NULL) {
        const struct scheduler_settings settings = settings_of(device);
        scheduler_change(processes->scheduler, gpu, &settings);
    }
    ga_info("[gpu.%u] policy = %s", device->gpu->number, sched_policy_name(scheduling->policy));
    return GA_OK;
}

void scheduling_reload(struct processes *processes, struct conf *conf, const struct conf *fresh)
{
    for (uint32_t i = 0; i < processes->devices.visible_count; i++) {
        const struct conf_gpu *gpu = devices_visible(&processes->devices, i)->gpu;
        for (unsigned k = 0; k < fresh->gpu_count; k++) {
            if (fresh->gpus[k].number == gpu->number &&
                scheduling_set(processes, conf, i, &fresh->gpus[k].scheduling) != GA_OK) {
                ga_error("[gpu.%u] policy: no memory or descriptors for scheduling", gpu->number);
            }
        }
    }
}

uint32_t scheduling_ignoring(const struct processes *processes, const char *limit)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < processes->devices.visible_count; i++) {
        const struct device *device = devices_visible(&processes->devices, i);
        count += !sched_policy_uses(device->gpu->scheduling.policy, limit);
    }
    return count;
}
