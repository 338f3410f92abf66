/* SPDX-License-Identifier: Apache-2.0 */
/* The life of gpuaasd: listen, probe the drivers, serve, stop. */
#include "server/gpuaasd/gpuaasd.h"
#include "server/usage/accounting.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "server/applications/application.h"
#include "server/gpuaasd/identity.h"
#include "server/gpuaasd/listener.h"
#include "server/gpuaasd/reload.h"
#include "server/processes/backend_process.h"
#include "server/storage/storage.h"
#include "server/turns/scheduling.h"

#define OOM_SCORE (-500) /* in thousandths of the machine's memory */

void gpuaasd_end(struct gpuaasd *gpuaasd, int exit_status)
{
    bool again = gpuaasd->applications.stopping;
    gpuaasd->applications.stopping = true;
    gpuaasd->exit_status = again ? gpuaasd->exit_status : exit_status;
    notify_stopping(&gpuaasd->notify);
    listeners_close(gpuaasd);
    if (!again && gpuaasd->administration != NULL) {
        gpuaasd->administration->stop(gpuaasd);
    }
    clients_close(&gpuaasd->clients);
    control_applications_end(&gpuaasd->applications);
    processes_end(&gpuaasd->processes, again);
    if (gpuaasd->processes.count == 0 || again) {
        uv_stop(&gpuaasd->loop);
    }
}

static void gpuaasd_emptied(struct processes *processes)
{
    struct gpuaasd *gpuaasd = ga_container(processes, struct gpuaasd, processes);
    if (gpuaasd->applications.stopping) {
        uv_stop(&gpuaasd->loop);
    }
}

static void gpuaasd_signalled(uv_signal_t *signal, int number)
{
    struct gpuaasd *gpuaasd = signal->data;
    char note[900];
    if (number == SIGUSR1) {
        monitoring_log(&gpuaasd->monitoring);
        return;
    }
    if (number == SIGHUP) {
        (void)!reload(gpuaasd, false, note, sizeof note); /* it has been logged */
        return;
    }
    uint32_t drain_s = number == SIGTERM ? gpuaasd->conf->server.drain_s : 0;
    if (gpuaasd->processes.serving && !gpuaasd->applications.stopping &&
        !gpuaasd->applications.drains.node.ends) {
        if (drain_s != 0) {
            ga_info("%s: applications may go on for %u s", strsignal(number), drain_s);
        } else {
            ga_info("%s: ending", strsignal(number));
        }
        notify_stopping(&gpuaasd->notify);
        drain_and_stop(&gpuaasd->applications, "the server is being stopped", drain_s);
        return;
    }
    ga_info("%s: %s", strsignal(number),
            gpuaasd->applications.stopping ? "ending at once" : "ending");
    gpuaasd_end(gpuaasd, 0);
}

/* ---- the probes */

static void identity_note(const struct channel_identity *identity)
{
    if (identity->change != 0 && identity->uid == 0) {
        ga_warn("backend processes run as root: whoever takes one over can change files of this "
                "machine ([server] backend_user prevents that)");
    } else if (identity->change != 0) {
        ga_info("backend processes run as user %u, group %u", identity->uid, identity->gid);
    }
}

static void gpuaasd_serve(struct gpuaasd *gpuaasd)
{
    devices_publish(&gpuaasd->processes.devices);
    identity_note(&gpuaasd->processes.identity);
    for (uint32_t i = 0; i < gpuaasd->processes.devices.count; i++) {
        const struct device *device = &gpuaasd->processes.devices.all[i];
        if (device->known) {
            ga_info_each(NULL, "[gpu.%u] %s, %llu MiB", device->gpu->number, device->facts.name,
                         (unsigned long long)(device->facts.memory_bytes >> 20));
        } else {
            ga_log_write(NULL, GA_LOG_ERROR, NULL,
                         "[gpu.%u]: its driver does not show it; it is left out",
                         device->gpu->number);
        }
    }
    if (gpuaasd->processes.devices.visible_count == 0) {
        ga_error("there is no GPU to serve");
        gpuaasd_end(gpuaasd, 1);
        return;
    }
    if (scheduling_start(&gpuaasd->processes) != GA_OK) {
        ga_error("no memory or descriptors for scheduling");
        gpuaasd_end(gpuaasd, 1);
        return;
    }
    if (accounting_begin(&gpuaasd->usage) != GA_OK) {
        gpuaasd_end(gpuaasd, 1);
        return;
    }
    processes_begin(&gpuaasd->processes);
    listeners_start(gpuaasd);
    notify_ready(&gpuaasd->notify);
}

static void probe_packet(struct backend_process *process, const union channel_packet *packet)
{
    struct gpuaasd *gpuaasd = process->owner;
    if (packet->kind == CHANNEL_FACTS) {
        (void)devices_learn(&gpuaasd->processes.devices, &packet->facts);
    } else if (packet->kind == CHANNEL_FAILED) {
        ga_error("%s", packet->failed.reason);
    }
}

static void probe_ended(struct backend_process *process, const char *why)
{
    struct gpuaasd *gpuaasd = process->owner;
    bool last = true;
    (void)why;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (gpuaasd->probes[i] == process) {
            gpuaasd->probes[i] = NULL;
        }
        last = last && gpuaasd->probes[i] == NULL;
    }
    if (last && !gpuaasd->applications.stopping) {
        gpuaasd_serve(gpuaasd);
    }
}

static const struct backend_process_events probe_events = {.packet = probe_packet,
                                                           .ended = probe_ended};

static enum ga_status gpuaasd_start(struct gpuaasd *gpuaasd)
{
    GA_TRY(storage_start(&gpuaasd->storage, &gpuaasd->loop));
    GA_TRY(accounting_start(&gpuaasd->usage));
    GA_TRY(access_open(&gpuaasd->access));
    GA_TRY(audit_start(&gpuaasd->access.audit));
    GA_TRY(listeners_open(gpuaasd));
    GA_TRY(monitoring_start(&gpuaasd->monitoring));
    if (gpuaasd->administration != NULL) {
        GA_TRY(gpuaasd->administration->start(gpuaasd));
    }
    for (unsigned driver = 0; driver < DEVICES_DRIVERS; driver++) {
        if (devices_have(&gpuaasd->processes.devices, (enum conf_driver)driver)) {
            GA_TRY(health_probe(&gpuaasd->processes, (enum conf_driver)driver, CHANNEL_PROBE_FACTS,
                                &probe_events, gpuaasd, &gpuaasd->probes[driver]));
        }
    }
    return GA_OK;
}

/* A name for the pool and the node where the configuration leaves it to us. */
static void gpuaasd_names(struct conf_server *server)
{
    uint8_t random[16];
    if (server->pool[0] == 0 && getrandom(random, sizeof random, 0) == (ssize_t)sizeof random) {
        for (size_t i = 0; i < sizeof random; i++) {
            snprintf(server->pool + 2 * i, 3, "%02x", random[i]);
        }
    }
    if (server->node[0] == 0 && gethostname(server->node, 64) != 0) {
        snprintf(server->node, sizeof server->node, "node");
    }
}

/* For tests: several applications in a process, at once or one after the other. */
static void gpuaasd_seats(struct gpuaasd *gpuaasd)
{
    const char *seats = getenv("GPUAAS_TEST_SEATS");
    gpuaasd->processes.seats = 1;
    if (seats != NULL) {
        unsigned long wanted = strtoul(seats, NULL, 10);
        gpuaasd->processes.seats = wanted == 0              ? 1
                                   : wanted < CHANNEL_SEATS ? (uint32_t)wanted
                                                            : CHANNEL_SEATS;
        gpuaasd->processes.outlives = true;
        ga_warn("GPUAAS_TEST_SEATS is set, for tests: up to %u applications share a backend "
                "process, and nothing protects them from each other",
                gpuaasd->processes.seats);
    }
}

/* If memory runs out, those whose applications have used it go first. Only root may, if at all; and
 * who has protected it better knows why. */
static void gpuaasd_protect(void)
{
    char text[16] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strtol(text, NULL, 10) > OOM_SCORE) {
        int length = snprintf(text, sizeof text, "%d", OOM_SCORE);
        (void)!pwrite(fd, text, (size_t)length, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* check_configuration has found nothing wrong with it, and the machine may have changed since. */
static enum ga_status gpuaasd_identity(struct gpuaasd *gpuaasd)
{
    const char *key;
    char why[300];
    enum ga_status status =
        identity_find(&gpuaasd->conf->server, &gpuaasd->processes.identity, &key, why, sizeof why);
    if (status != GA_OK) {
        ga_error("[server] %s: %s", key, why);
    }
    return status;
}

/* ---- draining */

static struct gpuaasd *gpuaasd_of(struct applications *room)
{
    return ga_container(room, struct gpuaasd, applications);
}

static void gpuaasd_status(struct applications *room, const char *line)
{
    notify_status(&gpuaasd_of(room)->notify, line);
}

static void gpuaasd_goes_on(struct applications *room, uint64_t usec)
{
    notify_extend(&gpuaasd_of(room)->notify, usec);
}

static void gpuaasd_drained(struct applications *room)
{
    gpuaasd_end(gpuaasd_of(room), 0);
}

static const struct drain_hooks gpuaasd_drain_hooks = {
    .status = gpuaasd_status, .goes_on = gpuaasd_goes_on, .emptied = gpuaasd_drained};

/* ---- the beginning and the end */

static enum ga_status gpuaasd_rooms_init(struct gpuaasd *gpuaasd)
{
    struct server_timers *timers = &gpuaasd->timers.timers;
    loop_timers_init(&gpuaasd->timers, &gpuaasd->loop);
    processes_init(&gpuaasd->processes, &gpuaasd->loop, timers, gpuaasd->conf);
    access_init(&gpuaasd->access, &gpuaasd->loop, timers, gpuaasd->conf, &gpuaasd->storage);
    usage_init(&gpuaasd->usage, &gpuaasd->processes, &gpuaasd->storage);
    applications_init(&gpuaasd->applications, &gpuaasd->processes, &gpuaasd->usage,
                      &gpuaasd->access, &gpuaasd_drain_hooks);
    images_bound(&gpuaasd->processes.images, gpuaasd->images_most);
    gpuaasd->processes.emptied = gpuaasd_emptied;
    (void)uv_check_init(&gpuaasd->loop, &gpuaasd->accepts);
    notify_init(&gpuaasd->notify, &gpuaasd->loop);
    GA_TRY(clients_init(&gpuaasd->clients, &gpuaasd->applications, gpuaasd->pending_most,
                        gpuaasd->administration != NULL ? gpuaasd->administration->network : NULL));
    monitoring_init(&gpuaasd->monitoring, &gpuaasd->clients);
    return GA_OK;
}

int gpuaasd_run(const char *file, struct conf *conf, const struct gpuaasd_admin *administration)
{
    static struct gpuaasd gpuaasd;
    static struct conf_server read;
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
    read = conf->server;
    gpuaasd = (struct gpuaasd){.conf = conf,
                               .file = file,
                               .read = &read,
                               .notify.fd = -1,
                               .administration = administration};
    gpuaasd.storage.conf = conf;
    gpuaasd_protect();
    gpuaasd_names(&conf->server);
    listener_descriptors(&gpuaasd);
    gpuaasd_seats(&gpuaasd);
    if (gpuaasd_identity(&gpuaasd) != GA_OK) {
        return 1;
    }
    if (devices_init(&gpuaasd.processes.devices, conf) != GA_OK ||
        uv_loop_init(&gpuaasd.loop) != 0 || gpuaasd_rooms_init(&gpuaasd) != GA_OK) {
        ga_error("no memory, or no event loop");
        return 1;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)uv_signal_init(&gpuaasd.loop, &gpuaasd.signals[i]);
        gpuaasd.signals[i].data = &gpuaasd;
        (void)uv_signal_start(&gpuaasd.signals[i], gpuaasd_signalled, numbers[i]);
    }
    if (gpuaasd_start(&gpuaasd) != GA_OK) {
        gpuaasd_end(&gpuaasd, 1);
    }
    (void)uv_run(&gpuaasd.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uv_close((uv_handle_t *)&gpuaasd.signals[i], NULL);
    }
    uv_close((uv_handle_t *)&gpuaasd.accepts, NULL);
    monitoring_stop(&gpuaasd.monitoring);
    notify_fini(&gpuaasd.notify);
    access_close(&gpuaasd.access);
    clients_fini(&gpuaasd.clients);
    audit_end(&gpuaasd.access.audit);
    applications_fini(&gpuaasd.applications);
    processes_fini(&gpuaasd.processes);
    accounting_stop(&gpuaasd.usage);
    usage_fini(&gpuaasd.usage);
    credential_ends_fini(&gpuaasd.access.credential_ends);
    storage_end(&gpuaasd.storage);
    if (gpuaasd.processes.count == 0) { /* else it is a hurried end: the kernel cleans up */
        scheduling_stop(&gpuaasd.processes);
        loop_timers_fini(&gpuaasd.timers);
        (void)uv_run(&gpuaasd.loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&gpuaasd.loop);
    }
    return gpuaasd.exit_status;
}
