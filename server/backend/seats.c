/* SPDX-License-Identifier: Apache-2.0 */
#include "server/backend/seats.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "api/driver_places.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/backend/admission.h"
#include "server/backend/backend.h"
#include "server/backend/sandbox.h"
#include "server/driver/driver.h"

#define TURN_MS     500 /* deadlines are seconds */
#define END_TURN_MS 20  /* while applications end: the main thread reads gpuaasd's answers */
/* Before the process leaves: until the submit threads have told what the GPUs have done. One may
 * stand in a call of the driver, which the end of the process ends. */
#define LEAVE_NS (100 * GA_NS_PER_MS)

void seats_init(struct backend *backend)
{
    for (uint32_t i = 0; i < CHANNEL_SEATS; i++) {
        backend->applications[i].seat = i;
        backend->applications[i].backend = backend;
        exports_init(&backend->applications[i].exports);
    }
}

struct quota *seats_quota(struct backend *backend, uint32_t seat)
{
    struct quota *quota = seat < CHANNEL_SEATS ? &backend->applications[seat].quota : NULL;
    return quota != NULL && quota->host.tell != NULL ? quota : NULL;
}

static bool seats_are_free(const struct backend *backend)
{
    bool free = true;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        free = free && backend->applications[i].state == APPLICATION_NONE;
    }
    return free;
}

static const char *seat_begin(struct application *application)
{
    struct backend *backend = application->backend;
    ga_log_set_client(application->identity.client);
    (void)prctl(PR_SET_NAME, "gpuaasd-backend");
    application_init(application, backend);
    if (application_listen(application)) {
        if (backend->setup.outlives == 0) {
            sandbox_listens();
        }
        return NULL;
    }
    if (backend->setup.outlives == 0) {
        return "its application cannot be served";
    }
    application_end(application);
    return NULL;
}

/* Its seat is free again; or the process has done its work. */
static const char *seat_ended(struct application *application)
{
    struct backend *backend = application->backend;
    const struct channel_seat ended = {.kind = CHANNEL_ENDED, .seat = application->seat};
    if (backend->setup.outlives == 0) {
        return "its application has ended";
    }
    ga_log_set_client(NULL);
    application_clear(application);
    if (seats_are_free(backend)) {
        (void)prctl(PR_SET_NAME, "gpuaasd-spare");
    }
    (void)!outbox_send(backend, &ended, sizeof ended, -1); /* gpuaasd is gone: that is seen next */
    return NULL;
}

/* The driver counts for the process, so its sums are those of an application if that has the
 * process for itself. */
static void driver_bytes_tell(const struct application *application)
{
    const struct cuda_driver_places *places = driver_places(&application->backend->driver);
    uint64_t bytes = 0;
    if (places != NULL && !application->host.shares_process &&
        places->host_held(&bytes) == CUDA_SUCCESS) {
        atomic_store_explicit(&application->ledger.figures->driver_bytes, bytes,
                              memory_order_relaxed);
    }
}

static const char *seat_turn(struct application *application)
{
    const struct backend *backend = application->backend;
    const char *why = NULL;
    switch (application->state) {
    case APPLICATION_NONE:
        return atomic_exchange(&application->arrived, false) ? seat_begin(application) : NULL;
    case APPLICATION_SERVED:
        driver_bytes_tell(application);
        why =
            atomic_load(&application->leaving) ? "gpuaasd ends it" : application_turn(application);
        if (why != NULL && backend->setup.outlives == 0) {
            return why;
        }
        if (why != NULL) {
            application_end(application);
        }
        return NULL;
    case APPLICATION_ENDING:
        application_end_turn(application);
        return NULL;
    case APPLICATION_ENDED:
        return seat_ended(application);
    case APPLICATION_REMAINS:
        ga_warn("an application could not be ended: this backend process ends, and with it all "
                "that it serves");
        return "an application cannot be ended";
    }
    return NULL;
}

/* One of the submit threads has heard the bell, which all of them may wait for. */
static void seats_ring(struct backend *backend)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        struct server_conn *conn = backend->applications[i].conn;
        if (conn != NULL) {
            (void)!eventfd_write(conn->wake_fd, 1);
        }
    }
}

/* Connections that begin from here on have gates, and a meter. */
static void seats_take_turns(struct backend *backend)
{
    backend->setup.meter = 1;
    atomic_store(&backend->turns, true);
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        struct server_conn *conn = backend->applications[i].conn;
        if (conn != NULL) {
            conn_take_turns(conn);
        }
    }
}

const char *seats_turn(struct backend *backend)
{
    const char *why = NULL;
    if (atomic_exchange(&backend->turns_begin, false)) {
        seats_take_turns(backend);
    }
    if (atomic_exchange(&backend->rang, false)) {
        seats_ring(backend);
    }
    for (unsigned i = 0; i < CHANNEL_SEATS && why == NULL; i++) {
        why = seat_turn(&backend->applications[i]);
    }
    return why;
}

bool seats_end(struct backend *backend)
{
    const uint64_t until = backend->winds_up ? UINT64_MAX : ga_clock_ns() + LEAVE_NS;
    bool ending = true, clean = true;
    while (ending && ga_clock_ns() < until) {
        ending = false;
        clean = backend->winds_up;
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            struct application *application = &backend->applications[i];
            if (application->state != APPLICATION_NONE) {
                application_end(application);
            }
            ending = ending || application->state == APPLICATION_ENDING;
            clean = clean && application->state != APPLICATION_REMAINS;
        }
        struct pollfd woken = {.fd = backend->wake_fd, .events = POLLIN};
        if (ending && poll(&woken, 1, END_TURN_MS) > 0) {
            eventfd_t count;
            (void)!eventfd_read(backend->wake_fd, &count);
        }
        admission_read(backend);
        (void)outbox_turn(backend);
    }
    return clean;
}

int seats_timeout_ms(const struct backend *backend)
{
    uint64_t timeout_ms = TURN_MS;
    if (seats_are_free(backend)) {
        return -1; /* a spare waits for gpuaasd alone */
    }
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        const struct application *application = &backend->applications[i];
        if (application->state == APPLICATION_ENDED || application->state == APPLICATION_REMAINS) {
            return 0;
        }
        if (application->side_open) {
            uint64_t heartbeat_ms = transport_side_interval_ns(&application->side) / GA_NS_PER_MS;
            timeout_ms = heartbeat_ms < timeout_ms ? heartbeat_ms : timeout_ms;
        }
    }
    return (int)timeout_ms;
}
