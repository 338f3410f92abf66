/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process: opens the driver, waits for its application, listens, and lives for it.
 *
 * The main thread watches the channel to gpuaasd, new connections, and the side connection; the
 * data connection has threads of its own (conn.h). Where a process serves one application, its end
 * may be the clean-up: it leaves by _exit, and the kernel and the driver take everything back.
 * Builds for tests end the application first all the same, as processes of several must. */
#include "server/backend/backend.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "server/backend/admission.h"
#include "server/backend/data_ports.h"
#include "server/driver/probe.h"

#define TURN_MS 20 /* at the end: gpuaasd's answers do not wake the main thread */

static struct backend backend;

uint64_t backend_ticket_ns(const struct backend *of)
{
    return of->setup.ticket_s * GA_NS_PER_S;
}

/* Whether all that the process holds is what it needs for itself. */
static bool backend_is_empty(void)
{
    bool empty = true;
    for (unsigned i = 0; i < backend.application_count; i++) {
        empty = empty && backend.applications[i].state == APPLICATION_ENDED;
    }
    return empty;
}

/* The end: with a line why, unless it is the usual one. */
_Noreturn static void backend_leave(const char *why)
{
    ga_debug("backend process ends: %s", why);
    ga_log_end();
#ifdef __SANITIZE_ADDRESS__
    if (backend.winds_up && backend_is_empty()) {
        __lsan_do_leak_check();
    }
#endif
    (void)GA_FAILPOINT("backend: before leaving");
    _exit(0);
}

_Noreturn static void backend_fail(int32_t result, const char *reason)
{
    struct channel_failed failed = {.kind = CHANNEL_FAILED, .result = result};
    snprintf(failed.reason, sizeof failed.reason, "%s", reason);
    (void)!channel_send(CHANNEL_FD, &failed, sizeof failed); /* gpuaasd logs it */
    _exit(1);
}

/* Waits for the next packet. */
static enum ga_status packet_wait(union channel_packet *packet)
{
    struct pollfd channel = {.fd = CHANNEL_FD, .events = POLLIN};
    enum ga_status status;
    while ((status = channel_receive(CHANNEL_FD, packet)) == GA_AGAIN) {
        (void)poll(&channel, 1, -1);
    }
    return status;
}

static void setup_receive(struct channel_setup *setup)
{
    union channel_packet packet;
    if (packet_wait(&packet) != GA_OK || packet.kind != CHANNEL_SETUP) {
        ga_error("--backend is for gpuaasd itself; use --config");
        _exit(2);
    }
    *setup = packet.setup;
}

/* gpuaasd has made them. */
static void figures_map(void)
{
    backend.figures = ga_shared_memory_map(FIGURES_FD, FIGURES_BYTES, NULL);
    if (backend.figures == NULL) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no memory");
    }
    close(FIGURES_FD);
}

/* Until gpuaasd says for whom, this is a spare. */
static void application_receive(struct channel_application *application)
{
    union channel_packet packet;
    const struct channel_warm warm = {.kind = CHANNEL_WARM};
    (void)prctl(PR_SET_NAME, "gpuaasd-spare");
    if (channel_send(CHANNEL_FD, &warm, sizeof warm) != GA_OK || packet_wait(&packet) != GA_OK ||
        packet.kind != CHANNEL_APPLICATION) {
        backend_leave("gpuaasd has closed the channel");
    }
    *application = packet.application;
    ga_log_set_client(application->client);
    (void)prctl(PR_SET_NAME, "gpuaasd-backend");
}

/* Gives back what applications hold, if the process does that. What cannot be ended, the end of
 * the process ends. */
static void applications_end(void)
{
    bool ending = backend.winds_up;
    while (ending) {
        ending = false;
        for (unsigned i = 0; i < backend.application_count; i++) {
            struct application *application = &backend.applications[i];
            application_end(application);
            ending = ending || application->state == APPLICATION_ENDING;
        }
        struct pollfd ended = {.fd = backend.wake_fd, .events = POLLIN};
        if (ending && poll(&ended, 1, TURN_MS) > 0) {
            eventfd_t count;
            (void)!eventfd_read(backend.wake_fd, &count);
        }
        admission_read(&backend); /* gpuaasd answers what threads ask at their end */
    }
}

/* Everything that main waits for. */
static void backend_turn(void)
{
    struct pollfd fds[4 + (BACKEND_APPLICATIONS_MAX + PENDING_CONNS_MAX) * TRANSPORT_POLL_MAX];
    nfds_t count = 0;
    int timeout_ms = admission_timeout_ms(&backend);
    fds[count++] = (struct pollfd){.fd = CHANNEL_FD, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = backend.wake_fd, .events = POLLIN};
    for (unsigned i = 0; i < backend.application_count; i++) {
        struct application *application = &backend.applications[i];
        if (application->side_open) {
            unsigned more = transport_side_poll_prepare(&application->side, fds + count);
            timeout_ms = more != 0 ? timeout_ms : 0;
            count += more;
        }
    }
    const nfds_t listeners = count;
    for (unsigned i = 0; i < backend.listener_count; i++) {
        int listener = admission_accepts(&backend) ? backend.listeners[i].fd : -1;
        fds[count++] = (struct pollfd){.fd = listener, .events = POLLIN};
    }
    for (unsigned i = 0; i < backend.pending_conn_count; i++) {
        struct transport_conn *conn = &backend.pending_conns[i].conn;
        unsigned more = conn->ops->poll_prepare(conn, POLLIN, fds + count);
        timeout_ms = more != 0 ? timeout_ms : 0;
        count += more;
    }
    (void)poll(fds, count, timeout_ms);
    admission_read(&backend);
    for (unsigned i = 0; i < backend.listener_count; i++) {
        if ((fds[listeners + i].revents & POLLIN) != 0) {
            admission_accept(&backend, &backend.listeners[i]);
        }
    }
    const char *why = admission_turn(&backend);
    if (why != NULL) {
        applications_end();
        backend_leave(why);
    }
}

/* Besides, for programs on this machine, at a random name that no other process has; who may speak
 * there, too, tickets decide. How many listeners that makes. */
static unsigned local_listen(struct transport_listener *listener, struct channel_ready *ready)
{
    struct transport_address address;
    char why[400];
    if (backend.setup.shm == 0 ||
        transport_address_parse("shm:0", "0", &address, why, sizeof why) != GA_OK) {
        return 0;
    }
    if (address.ops->listen(&address, listener, why, sizeof why) != GA_OK) {
        ga_warn("no shared memory for programs on this machine: %s", why);
        return 0;
    }
    if (listener->ops->local_address(listener->fd, ready->local, sizeof ready->local) != GA_OK) {
        listener->ops->close_listener(listener);
        ready->local[0] = 0;
        return 0;
    }
    return 1;
}

static void backend_serve(void)
{
    char why[400];
    struct channel_ready ready = {.kind = CHANNEL_READY};
    const struct transport_secret secret = {.ticket = admission_key, .user = &backend};
    backend.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (backend.wake_fd < 0 ||
        data_ports_listen(&backend.setup, &backend.applications[0].identity, &secret,
                          &backend.listeners[0], &ready, why, sizeof why) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE,
                     backend.wake_fd < 0 ? "no descriptors left" : why);
    }
    backend.listener_count = 1 + local_listen(&backend.listeners[1], &ready);
    admission_init(&backend);
    application_init(&backend.applications[0], &backend);
    if (GA_FAILPOINT("backend: before ready") ||
        channel_send(CHANNEL_FD, &ready, sizeof ready) != GA_OK) {
        backend_leave("gpuaasd is gone");
    }
    (void)GA_FAILPOINT("backend: ready told");
    for (;;) {
        backend_turn();
    }
}

int backend_main(void)
{
    char why[600];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "gpuaasd-start");
    signal(SIGINT, SIG_IGN); /* of a terminal: gpuaasd decides */
    ga_log_set_name("gpuaasd-backend");
    ga_log_begin(); /* as gpuaasd has it: devices_env() */
#ifdef GPUAAS_FAILPOINTS
    backend.winds_up = true;
#endif
    (void)GA_FAILPOINT("backend: started");
    setup_receive(&backend.setup);
    (void)GA_FAILPOINT("backend: setup read");
    figures_map();
    if (backend.setup.probe == 0 &&
        output_open(&backend.output, backend.setup.driver == CONF_DRIVER_NVIDIA) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no memory or descriptors left");
    }
    if (driver_open(&backend.setup, &backend.driver, why, sizeof why) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
    if (backend.setup.probe != 0) {
        _exit(probe_devices(&backend.setup, &backend.driver, CHANNEL_FD));
    }
    application_receive(&backend.applications[0].identity);
    backend.application_count = 1;
    backend_serve();
    return 0;
}
