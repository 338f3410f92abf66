/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/scheduling.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/control/control.h"
#include "server/control/scheduler.h"

enum ga_status scheduling_start(struct control *control)
{
    uint32_t gpus = control->devices.visible_count;
    const char *name = getenv("GPUAAS_TEST_POLICY");
    if (name == NULL) {
        return GA_OK;
    }
    struct scheduler_settings *settings = calloc(gpus, sizeof *settings);
    if (settings == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = 0; i < gpus; i++) {
        settings[i] = (struct scheduler_settings){.policy = sched_policy_find(name),
                                                  .values = sched_settings_default(),
                                                  .gpu = {.copy_engines = 2}};
    }
    enum ga_status status = scheduler_start(&control->processes.scheduler, settings, gpus);
    free(settings);
    return status;
}

void scheduling_stop(struct control *control)
{
    if (control->processes.scheduler != NULL) {
        scheduler_stop(control->processes.scheduler);
        control->processes.scheduler = NULL;
    }
}
