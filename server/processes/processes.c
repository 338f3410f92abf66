/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/processes.h"

#include <signal.h>

#include "server/processes/backend_process.h"

void processes_init(struct processes *processes, uv_loop_t *loop, struct server_timers *timers,
                    const struct conf *conf)
{
    processes->loop = loop;
    processes->timers = timers;
    processes->conf = conf;
    ga_list_init(&processes->processes);
    images_init(&processes->images, conf->server.backend.image_store);
    health_init(processes);
}

void processes_begin(struct processes *processes)
{
    for (unsigned driver = 0; driver < DEVICES_DRIVERS; driver++) {
        warm_pool_start(&processes->warm_pools[driver], processes, (enum conf_driver)driver);
    }
    processes->serving = true;
}

void processes_end(struct processes *processes, bool at_once)
{
    health_stop(processes);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        warm_pool_stop(&processes->warm_pools[i]);
    }
    ga_list_each (at, next, &processes->processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        backend_process_end(process);
        if (at_once && uv_is_active((uv_handle_t *)&process->child)) {
            (void)uv_process_kill(&process->child, SIGKILL);
        }
    }
}

void processes_fini(struct processes *processes)
{
    images_fini(&processes->images);
}
