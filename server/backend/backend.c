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
#include <sys/resource.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "server/backend/admission.h"
#include "server/backend/privileges.h"
#include "server/backend/sandbox.h"
#include "server/backend/seats.h"
#include "server/driver/probe.h"
#include "server/grants.h"

/* Connections, the driver, its files. */
#define DESCRIPTORS_OF_OURS 512u

static struct backend backend;

uint64_t backend_ticket_ns(const struct backend *of)
{
    return of->setup.conf.ticket_s * GA_NS_PER_S;
}

/* The end: with a line why, unless it is the usual one. */
_Noreturn static void backend_leave(const char *why)
{
    ga_debug("backend process ends: %s", why);
    outbox_finish(&backend);
    ga_log_end();
    (void)GA_FAILPOINT("backend: before leaving");
    _exit(0);
}

_Noreturn static void backend_fail(int32_t result, const char *reason)
{
    struct channel_failed failed = {
        .kind = CHANNEL_FAILED, .seat = CHANNEL_SEATS, .result = result};
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

/* Raises the limit of descriptors to what applications may share, whatever gpuaasd itself needs. An
 * event takes two: that of a software GPU and that of exports.h. */
static void descriptors_raise(void)
{
    const rlim_t wanted = 2 * CHANNEL_SHARES_MAX + DESCRIPTORS_OF_OURS;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
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

/* A process has one bell, and as many submit threads as applications. */
static void bell_rang(void *user)
{
    (void)user;
    atomic_store(&backend.rang, true);
    (void)!eventfd_write(backend.wake_fd, 1);
}

/* gpuaasd has made them; no policy may hold yet. */
static void grants_map(void)
{
    if (backend.setup.probe != 0) {
        return;
    }
    atomic_store(&backend.turns, backend.setup.turns != 0);
    backend.requests = ga_shared_memory_map(GRANTS_REQUEST_FD, sizeof(struct grant_requests), NULL);
    backend.grants = ga_shared_memory_map_published(GRANTS_FD, sizeof(struct grants));
    if (backend.requests == NULL || backend.grants == NULL) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no memory");
    }
    backend.bell = (struct gate_bell){.fd = GRANTS_BELL_FD,
                                      .rang = backend.setup.seats > 1 ? bell_rang : NULL};
    close(GRANTS_REQUEST_FD);
    close(GRANTS_FD);
}

/* Gives back what applications hold, if the process does that; what cannot be ended, the end of the
 * process ends. */
static void applications_end(void)
{
    pending_conns_end(&backend);
    bool clean = seats_end(&backend);
#ifdef __SANITIZE_ADDRESS__
    if (clean && backend.setup.outlives != 0) {
        __lsan_do_leak_check();
    }
#else
    (void)clean;
#endif
}

/* Everything that main waits for: for each seat, its listeners and its side connection. */
#define SEAT_POLL_MAX (2 + TRANSPORT_POLL_MAX)

static struct transport_listener *listener_at(unsigned index)
{
    struct application *application = &backend.applications[index / 2];
    return index % 2 < application->listener_count ? &application->listeners[index % 2] : NULL;
}

static void backend_turn(void)
{
    struct pollfd fds[2 + CHANNEL_SEATS * SEAT_POLL_MAX + PENDING_CONNS_POLLS];
    nfds_t count = 0;
    int timeout_ms = seats_timeout_ms(&backend);
    const short wanted = outbox_turn(&backend) ? POLLIN | POLLOUT : POLLIN;
    fds[count++] = (struct pollfd){.fd = CHANNEL_FD, .events = wanted};
    fds[count++] = (struct pollfd){.fd = backend.wake_fd, .events = POLLIN};
    const nfds_t first = count; /* more entries than descriptors are allowed, and poll fails */
    unsigned listeners[2 * CHANNEL_SEATS];
    for (unsigned i = 0; i < 2 * CHANNEL_SEATS && pending_conns_accepts(&backend); i++) {
        const struct transport_listener *listener = listener_at(i);
        if (listener != NULL) {
            listeners[count - first] = i;
            fds[count++] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
        }
    }
    const nfds_t listened = count - first;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        struct application *application = &backend.applications[i];
        if (application->side_open) {
            unsigned more = transport_side_poll_prepare(&application->side, fds + count);
            timeout_ms = more != 0 ? timeout_ms : 0;
            count += more;
        }
    }
    timeout_ms = pending_conns_poll(&backend, fds + count) ? timeout_ms : 0;
    count += PENDING_CONNS_POLLS;
    (void)poll(fds, count, timeout_ms);
    eventfd_t woken;
    (void)!eventfd_read(backend.wake_fd, &woken);
    admission_read(&backend);
    for (nfds_t i = 0; i < listened; i++) {
        if ((fds[first + i].revents & POLLIN) != 0) {
            unsigned at = listeners[i];
            pending_conns_accept(&backend, listener_at(at),
                                 at % 2 == 0 && backend.applications[at / 2].identity.tls);
        }
    }
    pending_conns_turn(&backend);
    admission_turn(&backend);
}

/* Until gpuaasd names an application, this is a spare. */
_Noreturn static void backend_serve(void)
{
    const struct channel_bare warm = {.kind = CHANNEL_WARM};
    (void)prctl(PR_SET_NAME, "gpuaasd-spare");
    const char *why = channel_send(CHANNEL_FD, &warm, sizeof warm) == GA_OK
                          ? NULL
                          : "gpuaasd has closed the channel";
    while (why == NULL) {
        backend_turn();
        why = atomic_load(&backend.gpuaasd_gone) ? "gpuaasd has closed the channel"
                                                 : seats_turn(&backend);
    }
    applications_end();
    backend_leave(why);
}

static bool is_confined(void)
{
    return backend.setup.conf.sandbox && backend.setup.probe == 0;
}

/* The driver is open: from here on the process has no rights that it does not need. */
static void confine(void)
{
    char why[300];
    const struct sandbox_needs needs = {
        .soft = backend.setup.driver == CONF_DRIVER_SOFT,
        .rdma = backend.setup.conf.rdma && transport_is_useful("rdma"),
    };
    if (privileges_drop(&backend.setup, why, sizeof why) != GA_OK ||
        (is_confined() && sandbox_calls(&needs, why, sizeof why) != GA_OK)) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
}

_Noreturn void backend_main(void)
{
    char why[600];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "gpuaasd-start");
    (void)
        setsid(); /* no terminal: neither its signals, which gpuaasd decides about, nor its keys */
    privileges_begin();
    ga_log_set_name("gpuaasd-backend");
    ga_log_begin(); /* as gpuaasd has it: devices_env() */
    (void)GA_FAILPOINT("backend: started");
    setup_receive(&backend.setup);
    descriptors_raise();
#ifdef GPUAAS_FAILPOINTS
    backend.winds_up = true;
#else
    backend.winds_up = backend.setup.outlives != 0;
#endif
    (void)GA_FAILPOINT("backend: setup read");
    figures_map();
    grants_map();
    if (privileges_limit(&backend.setup, why, sizeof why) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
    if (is_confined() && backend.setup.driver == CONF_DRIVER_SOFT) {
        sandbox_files();
    }
    if (backend.setup.probe == 0 &&
        output_open(&backend.output, backend.setup.driver == CONF_DRIVER_NVIDIA) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no memory or descriptors left");
    }
    if (driver_open(&backend.setup, &backend.driver, why, sizeof why) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
    backend.output.context_of = driver_output_context(&backend.driver);
    if (backend.setup.probe == CHANNEL_PROBE_FACTS) {
        _exit(probe_devices(&backend.setup, &backend.driver, CHANNEL_FD));
    }
    if (backend.setup.probe == CHANNEL_PROBE_CHECK) {
        _exit(probe_check(&backend.setup, &backend.driver, CHANNEL_FD));
    }
    backend.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (backend.wake_fd < 0) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no descriptors left");
    }
    if (pending_conns_init(&backend) != GA_OK) {
        backend_fail(CUDA_ERROR_DEVICE_UNAVAILABLE, "no memory or descriptors left");
    }
    if (backend.setup.tls != 0) {
        transport_prepare("tls");
    }
    admission_init(&backend);
    outbox_init(&backend);
    seats_init(&backend);
    confine();
    backend_serve();
}
