/* SPDX-License-Identifier: Apache-2.0 */
/* The life of gpuaasd: listen, probe the drivers, serve, stop. */
#include "server/control/control.h"
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
#include "server/control/identity.h"
#include "server/control/listener.h"
#include "server/control/reload.h"
#include "server/processes/backend_process.h"
#include "server/storage/storage.h"
#include "server/turns/scheduling.h"

#define OOM_SCORE (-500) /* in thousandths of the machine's memory */

void control_end(struct control *control, int exit_status)
{
    bool again = control->stopping;
    control->stopping = true;
    control->applications.stopping = true;
    control->exit_status = again ? control->exit_status : exit_status;
    notify_stopping(&control->notify);
    control_listeners_close(control);
    if (!again && control->administration != NULL) {
        control->administration->stop(control);
    }
    clients_close(&control->clients);
    control_applications_end(&control->applications);
    processes_end(&control->processes, again);
    if (control->processes.count == 0 || again) {
        uv_stop(&control->loop);
    }
}

static void control_emptied(struct processes *processes)
{
    struct control *control = ga_container(processes, struct control, processes);
    if (control->stopping) {
        uv_stop(&control->loop);
    }
}

static void control_signalled(uv_signal_t *signal, int number)
{
    struct control *control = signal->data;
    char note[900];
    if (number == SIGUSR1) {
        monitoring_log(&control->monitoring);
        return;
    }
    if (number == SIGHUP) {
        (void)!reload(control, false, note, sizeof note); /* it has been logged */
        return;
    }
    uint32_t drain_s = number == SIGTERM ? control->conf->server.drain_s : 0;
    if (control->processes.serving && !control->stopping &&
        !control->applications.drains.node.ends) {
        if (drain_s != 0) {
            ga_info("%s: applications may go on for %u s", strsignal(number), drain_s);
        } else {
            ga_info("%s: ending", strsignal(number));
        }
        notify_stopping(&control->notify);
        drain_and_stop(&control->applications, "the server is being stopped", drain_s);
        return;
    }
    ga_info("%s: %s", strsignal(number), control->stopping ? "ending at once" : "ending");
    control_end(control, 0);
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

static void control_serve(struct control *control)
{
    devices_publish(&control->processes.devices);
    identity_note(&control->processes.identity);
    for (uint32_t i = 0; i < control->processes.devices.count; i++) {
        const struct device *device = &control->processes.devices.all[i];
        if (device->known) {
            ga_info_each(NULL, "[gpu.%u] %s, %llu MiB", device->gpu->number, device->facts.name,
                         (unsigned long long)(device->facts.memory_bytes >> 20));
        } else {
            ga_log_write(NULL, GA_LOG_ERROR, NULL,
                         "[gpu.%u]: its driver does not show it; it is left out",
                         device->gpu->number);
        }
    }
    if (control->processes.devices.visible_count == 0) {
        ga_error("there is no GPU to serve");
        control_end(control, 1);
        return;
    }
    if (scheduling_start(&control->processes) != GA_OK) {
        ga_error("no memory or descriptors for scheduling");
        control_end(control, 1);
        return;
    }
    if (accounting_begin(&control->usage) != GA_OK) {
        control_end(control, 1);
        return;
    }
    processes_begin(&control->processes);
    control_accept_start(control);
    notify_ready(&control->notify);
}

static void probe_packet(struct backend_process *process, const union channel_packet *packet)
{
    struct control *control = process->owner;
    if (packet->kind == CHANNEL_FACTS) {
        (void)devices_learn(&control->processes.devices, &packet->facts);
    } else if (packet->kind == CHANNEL_FAILED) {
        ga_error("%s", packet->failed.reason);
    }
}

static void probe_ended(struct backend_process *process, const char *why)
{
    struct control *control = process->owner;
    bool last = true;
    (void)why;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (control->probes[i] == process) {
            control->probes[i] = NULL;
        }
        last = last && control->probes[i] == NULL;
    }
    if (last && !control->stopping) {
        control_serve(control);
    }
}

static const struct backend_process_events probe_events = {.packet = probe_packet,
                                                           .ended = probe_ended};

static enum ga_status control_start(struct control *control)
{
    GA_TRY(storage_start(&control->storage));
    GA_TRY(accounting_start(&control->usage));
    GA_TRY(access_open(&control->access));
    GA_TRY(audit_start(&control->access.audit, &control->loop));
    GA_TRY(control_listen(control));
    GA_TRY(monitoring_start(&control->monitoring));
    if (control->administration != NULL) {
        GA_TRY(control->administration->start(control));
    }
    for (unsigned driver = 0; driver < DEVICES_DRIVERS; driver++) {
        if (devices_have(&control->processes.devices, (enum conf_driver)driver)) {
            GA_TRY(health_probe(&control->processes, (enum conf_driver)driver, CHANNEL_PROBE_FACTS,
                                &probe_events, control, &control->probes[driver]));
        }
    }
    return GA_OK;
}

/* A name for the pool and the node where the configuration leaves it to us. */
static void control_names(struct conf_server *server)
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
static void control_seats(struct control *control)
{
    const char *seats = getenv("GPUAAS_TEST_SEATS");
    control->processes.seats = 1;
    if (seats != NULL) {
        unsigned long wanted = strtoul(seats, NULL, 10);
        control->processes.seats = wanted == 0              ? 1
                                   : wanted < CHANNEL_SEATS ? (uint32_t)wanted
                                                            : CHANNEL_SEATS;
        control->processes.outlives = true;
        ga_warn("GPUAAS_TEST_SEATS is set, for tests: up to %u applications share a backend "
                "process, and nothing protects them from each other",
                control->processes.seats);
    }
}

/* If memory runs out, those whose applications have used it go first. Only root may, if at all; and
 * who has protected it better knows why. */
static void control_protect(void)
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

/* control_check has found nothing wrong with it, and the machine may have changed since. */
static enum ga_status control_identity(struct control *control)
{
    const char *key;
    char why[300];
    enum ga_status status =
        identity_find(&control->conf->server, &control->processes.identity, &key, why, sizeof why);
    if (status != GA_OK) {
        ga_error("[server] %s: %s", key, why);
    }
    return status;
}

/* ---- draining */

static struct control *control_of(struct applications *room)
{
    return ga_container(room, struct control, applications);
}

static void control_status(struct applications *room, const char *line)
{
    notify_status(&control_of(room)->notify, line);
}

static void control_goes_on(struct applications *room, uint64_t usec)
{
    notify_extend(&control_of(room)->notify, usec);
}

static void control_drained(struct applications *room)
{
    control_end(control_of(room), 0);
}

static const struct drain_hooks control_drain_hooks = {
    .status = control_status, .goes_on = control_goes_on, .emptied = control_drained};

/* ---- the beginning and the end */

static enum ga_status control_rooms_init(struct control *control)
{
    processes_init(&control->processes, &control->loop, control->conf);
    access_init(&control->access, &control->loop, control->conf, &control->storage);
    usage_init(&control->usage, &control->processes, &control->storage);
    applications_init(&control->applications, &control->processes, &control->usage,
                      &control->access, &control_drain_hooks);
    images_bound(&control->processes.images, control->images_most);
    control->processes.emptied = control_emptied;
    (void)uv_check_init(&control->loop, &control->accepts);
    notify_init(&control->notify, &control->loop);
    GA_TRY(clients_init(&control->clients, &control->applications, control->pending_most,
                        control->administration != NULL ? control->administration->network : NULL));
    monitoring_init(&control->monitoring, &control->clients);
    return GA_OK;
}

int control_run(const char *file, struct conf *conf, const struct control_admin *administration)
{
    static struct control control;
    static struct conf_server read;
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
    read = conf->server;
    control = (struct control){.conf = conf,
                               .file = file,
                               .read = &read,
                               .notify.fd = -1,
                               .administration = administration};
    control.storage.conf = conf;
    control_protect();
    control_names(&conf->server);
    control_descriptors(&control);
    control_seats(&control);
    if (control_identity(&control) != GA_OK) {
        return 1;
    }
    if (devices_init(&control.processes.devices, conf) != GA_OK ||
        uv_loop_init(&control.loop) != 0 || control_rooms_init(&control) != GA_OK) {
        ga_error("no memory, or no event loop");
        return 1;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)uv_signal_init(&control.loop, &control.signals[i]);
        control.signals[i].data = &control;
        (void)uv_signal_start(&control.signals[i], control_signalled, numbers[i]);
    }
    if (control_start(&control) != GA_OK) {
        control_end(&control, 1);
    }
    (void)uv_run(&control.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uv_close((uv_handle_t *)&control.signals[i], NULL);
    }
    uv_close((uv_handle_t *)&control.accepts, NULL);
    monitoring_stop(&control.monitoring);
    notify_fini(&control.notify);
    access_close(&control.access);
    clients_fini(&control.clients);
    audit_end(&control.access.audit);
    applications_fini(&control.applications);
    processes_fini(&control.processes);
    accounting_stop(&control.usage);
    usage_fini(&control.usage);
    credential_ends_fini(&control.access.credential_ends);
    storage_end(&control.storage);
    if (control.processes.count == 0) { /* else it is a hurried end: the kernel cleans up */
        scheduling_stop(&control.processes);
        (void)uv_run(&control.loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&control.loop);
    }
    return control.exit_status;
}
