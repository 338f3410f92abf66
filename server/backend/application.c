/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of an application's connections to the process, and whether the program is still
 * there. */
#include "server/backend/application.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/backend/admission.h"
#include "server/backend/backend.h"
#include "server/backend/control_request.h"
#include "server/backend/data_ports.h"
#include "server/backend/side_connection.h"
#include "server/calls/objects_end.h"
#include "server/conn/reply.h"
#include "server/gate/turn_gate.h"
#include "server/grants.h"
#include "server/objects/app_life.h"
#include "server/rebuild/rebuild_trigger.h"

#define END_NS (1500 * GA_NS_PER_MS) /* gpuaasd kills a process that has not ended in 2 s */

/* ---- what it and its data connection ask of the process */

static enum ga_status host_ticket(void *user, const struct handshake_data_hello *hello,
                                  const char **why)
{
    return admission_ticket(user, hello, why);
}

static unsigned host_bulk_tickets(void *user, const struct transport_conn *conn,
                                  struct channel_ticket made[WIRE_BULKS_MAX])
{
    struct application *application = user;
    struct backend *backend = application->backend;
    uint64_t now = ga_clock_ns(), expires = now + backend_ticket_ns(backend);
    unsigned wanted = bulk_wanted(conn, backend->setup.conf.bulk_connections), count = 0;
    pthread_mutex_lock(&backend->ticket_lock);
    while (count < wanted &&
           tickets_make(&application->tickets, count, &made[count], expires, now)) {
        count++;
    }
    pthread_mutex_unlock(&backend->ticket_lock);
    return count;
}

static bool host_compresses(void *user)
{
    return ((const struct application *)user)->backend->setup.conf.compression;
}

static int host_ordinal(void *user, const struct handshake_data_hello *hello)
{
    struct application *application = user;
    const struct channel_setup *setup = &application->backend->setup;
    uint32_t gpu;
    pthread_mutex_lock(&application->backend->ticket_lock);
    bool known = tickets_gpu(&application->tickets, hello->id, &gpu);
    pthread_mutex_unlock(&application->backend->ticket_lock);
    for (uint32_t i = 0; known && i < setup->device_count; i++) {
        if (setup->devices[i].device == gpu) {
            return (int)setup->devices[i].ordinal;
        }
    }
    return -1;
}

static void host_ended(void *user, const char *why, bool clean)
{
    struct application *application = user;
    application->conn_clean = clean;
    rebuild_trigger_report(application->rebuild);
    snprintf(application->conn_why, sizeof application->conn_why, "%s", why);
    atomic_store(&application->conn_ended, true);
    (void)!eventfd_write(application->backend->wake_fd, 1);
}

static void host_between_frames(void *user, struct server_app *app)
{
    const struct application *application = user;
    rebuild_trigger_boundary(application->rebuild, app);
}

/* The descriptor stays here; gpuaasd gets it when somebody opens what it stands for. */
static enum ga_status application_share(struct application *application,
                                        struct channel_request *packet, int *fd)
{
    struct backend *backend = application->backend;
    struct export_entry *entry = *fd >= 0 ? export_make(*fd) : NULL;
    if (*fd >= 0 && entry == NULL) {
        packet->result = CUDA_ERROR_OUT_OF_MEMORY;
        *fd = -1;
        ga_warn("no memory or descriptors left for what it lets others use");
        return GA_OK;
    }
    *fd = -1;
    enum ga_status status = control_request_ask(backend, packet, fd);
    if (status == GA_OK && packet->result == CUDA_SUCCESS && entry != NULL) {
        pthread_mutex_lock(&backend->ticket_lock);
        exports_add(&application->exports, entry, packet);
        pthread_mutex_unlock(&backend->ticket_lock);
        return status;
    }
    export_free(entry);
    if (status == GA_OK && packet->result == CUDA_ERROR_OUT_OF_MEMORY) {
        ga_warn("it lets others use %u allocations and events, which is the most",
                CHANNEL_SHARES_MAX);
    }
    return status;
}

/* The device of this ordinal of the driver, in SETUP. */
static uint32_t application_device(const struct channel_setup *setup, uint64_t ordinal)
{
    uint32_t i = 0;
    while (i + 1 < setup->device_count && setup->devices[i].ordinal != ordinal) {
        i++;
    }
    return i;
}

static enum ga_status host_request(void *user, struct channel_request *packet, int *fd)
{
    struct application *application = user;
    struct backend *backend = application->backend;
    packet->seat = application->seat;
    if (packet->verb == CHANNEL_TRIM) {
        packet->address =
            backend->setup.devices[application_device(&backend->setup, packet->address)].device;
    }
    if (packet->verb == CHANNEL_SHARE) {
        return application_share(application, packet, fd);
    }
    if (packet->verb == CHANNEL_WITHDRAW) {
        pthread_mutex_lock(&backend->ticket_lock);
        exports_withdraw(&application->exports, packet);
        pthread_mutex_unlock(&backend->ticket_lock);
    }
    return control_request_ask(backend, packet, fd);
}

void application_fetched(const struct application *application,
                         const struct channel_request *packet)
{
    struct channel_request answer = *packet;
    int fd = exports_find(&application->exports, packet->key);
    answer.result = fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    (void)!outbox_send(application->backend, &answer, sizeof answer, fd); /* else it is gone */
}

static uint32_t host_gpu(void *user, int ordinal, uint64_t *context_bytes)
{
    const struct channel_setup *setup = &((struct application *)user)->backend->setup;
    uint32_t at = application_device(setup, (uint64_t)ordinal);
    *context_bytes = setup->devices[at].context_bytes;
    return setup->devices[at].device;
}

static void host_bound(void *user, uint32_t gpu)
{
    const struct application *application = user;
    const struct channel_claim bound = {
        .kind = CHANNEL_BOUND, .seat = application->seat, .gpu = gpu};
    (void)!outbox_send(application->backend, &bound, sizeof bound, -1); /* else it is gone */
}

static struct gate *host_gate(void *user, struct server_session *session)
{
    const struct application *application = user;
    const struct backend *backend = application->backend;
    if (!atomic_load(&backend->turns)) {
        return NULL;
    }
    turn_gate_init(&session->turn, &backend->requests->of[application->seat][session->gpu],
                   &backend->grants->of[application->seat][session->gpu], &backend->bell,
                   session->ordinal);
    return &session->turn.base;
}

static void host_offer(void *user, struct channel_request *packet, int fd)
{
    const struct application *application = user;
    packet->kind = CHANNEL_REQUEST;
    packet->seat = application->seat;
    outbox_offer(application->backend, packet, sizeof *packet, fd);
}

/* ---- its life */

void application_init(struct application *application, struct backend *backend)
{
    application->backend = backend;
    application->state = APPLICATION_SERVED;
    memcpy(application->tickets.application, application->identity.id,
           sizeof application->tickets.application);
    ledger_init_seat(&application->ledger, backend->figures, application->seat);
    application->ledger.most[FIGURE_HOST_BYTES] = backend->setup.conf.application_host_memory;
    application->ledger.quota = &application->quota;
    application->host = (struct server_host){.user = application,
                                             .client = application->identity.client,
                                             .gpu = host_gpu,
                                             .bound = host_bound,
                                             .request = host_request,
                                             .tell = host_offer,
                                             .gate = host_gate,
                                             .keeps_images = backend->setup.conf.image_store != 0,
                                             .output = &backend->output,
                                             .ledger = &application->ledger,
                                             .shares_process = backend->setup.seats > 1,
                                             .scrubs = backend->setup.outlives != 0,
                                             .objects_free = backend->winds_up ? objects_end : NULL,
                                             .end_ns = END_NS};
    application->conn_host = (struct conn_host){.user = application,
                                                .client_cache = backend->setup.conf.client_cache,
                                                .ticket = host_ticket,
                                                .ordinal = host_ordinal,
                                                .bulk_tickets = host_bulk_tickets,
                                                .compresses = host_compresses,
                                                .ended = host_ended};
    application->idle_at_ns = ga_clock_ns() + backend_ticket_ns(backend);
    application->rebuild = rebuild_trigger_create();
    application->conn_host.between_frames =
        application->rebuild != NULL ? host_between_frames : NULL;
    atomic_store(&application->asked, true);
}

/* Besides, for programs on this machine, at a random name that no other process has; tickets decide
 * there, too, which connections are served. How many listeners that makes. */
static unsigned local_listen(const struct backend *backend, struct transport_listener *listener,
                             struct channel_ready *ready)
{
    struct transport_address address;
    char why[400];
    if (!backend->setup.conf.shm ||
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

bool application_listen(struct application *application)
{
    struct backend *backend = application->backend;
    struct channel_failed failed = {
        .kind = CHANNEL_FAILED, .seat = application->seat, .result = CUDA_ERROR_DEVICE_UNAVAILABLE};
    struct channel_ready ready = {.kind = CHANNEL_READY, .seat = application->seat};
    const struct transport_secret secret = {.ticket = admission_key, .user = backend};
    if (data_ports_listen(&backend->setup, &application->identity, &secret,
                          &application->listeners[0], &ready, failed.reason,
                          sizeof failed.reason) != GA_OK) {
        (void)!outbox_send(backend, &failed, sizeof failed, -1); /* gpuaasd logs it */
        return false;
    }
    application->listener_count = 1 + local_listen(backend, &application->listeners[1], &ready);
    if (GA_FAILPOINT("backend: before ready") ||
        outbox_send(backend, &ready, sizeof ready, -1) != GA_OK) {
        return false; /* gpuaasd is gone */
    }
    (void)GA_FAILPOINT("backend: ready told");
    return true;
}

enum ga_status application_connect(struct application *application,
                                   const struct transport_conn *conn,
                                   const struct frame_reader *reader,
                                   const struct handshake_data_hello *hello, uint64_t sequence)
{
    struct backend *backend = application->backend;
    struct server_app *app = app_make(&backend->driver, &application->host,
                                      backend->setup.meter != 0, backend->setup.conf.record_phases);
    if (app == NULL) {
        return GA_NO_MEMORY;
    }
    enum ga_status status = conn_start(&application->conn, app, &application->conn_host, conn,
                                       reader, &backend->setup, hello, sequence);
    if (status != GA_OK) {
        app_free(app);
        return status;
    }
    application->app = app;
    application->conn_since_ns = application->heard_ns = ga_clock_ns();
    return GA_OK;
}

enum ga_status application_side_open(struct application *application,
                                     const struct transport_conn *conn,
                                     const struct frame_reader *reader, uint64_t sequence)
{
    _Alignas(16) uint8_t values[128];
    struct ga_writer writer = ga_writer_of(values, sizeof values);
    const struct handshake_data_welcome welcome = {0};
    handshake_data_welcome_write(&writer, &welcome);
    transport_side_init(&application->side, conn, reader,
                        application->backend->setup.conf.dead_after_s * 1000);
    GA_TRY(transport_side_send(&application->side, WIRE_DATA_WELCOME, sequence, values, writer.at));
    application->side_open = true;
    (void)GA_FAILPOINT("backend: side connection open");
    return GA_OK;
}

bool application_reclaim(struct application *application)
{
    return application->conn != NULL && application->conn->takes_trim && application->side_open &&
           transport_side_send(&application->side, WIRE_TRIM, 0, NULL, 0) == GA_OK;
}

void application_notify(struct application *application)
{
    _Alignas(16) uint8_t values[WIRE_NOTICE_MAX + 33];
    struct ga_writer writer = ga_writer_of(values, sizeof values / 16 * 16);
    if (!application->side_open || !atomic_exchange(&application->notified, false)) {
        return;
    }
    pthread_mutex_lock(&application->backend->ticket_lock);
    const struct channel_notice notice = application->notice;
    pthread_mutex_unlock(&application->backend->ticket_lock);
    ga_write_u32(&writer, notice.notice);
    ga_write_string(&writer, notice.text);
    ga_writer_finish(&writer);
    (void)!transport_side_send(&application->side, WIRE_NOTICE, 0, values, writer.at);
    if (notice.notice == WIRE_NOTICE_END && application->conn != NULL) {
        server_end_notice(application->app, notice.text);
    }
}

static void idle_tell(struct application *application)
{
    struct backend *backend = application->backend;
    uint64_t now = ga_clock_ns();
    if (application->conn != NULL ||
        (now < application->idle_at_ns && !atomic_load(&application->alone))) {
        return;
    }
    pthread_mutex_lock(&backend->ticket_lock);
    if (atomic_exchange(&application->alone, false)) {
        tickets_void_all(&application->tickets);
    }
    bool any = tickets_any(&application->tickets, now);
    const struct channel_idle idle = {
        .kind = CHANNEL_IDLE, .seat = application->seat, .tickets = application->tickets.arrived};
    pthread_mutex_unlock(&backend->ticket_lock);
    if (!any) {
        outbox_offer(backend, &idle, sizeof idle, -1); /* gpuaasd closes the channel */
    }
    application->idle_at_ns = now + GA_NS_PER_S;
}

/* Once, and whenever gpuaasd asks. */
static void served_tell(struct application *application)
{
    const struct channel_seat served = {.kind = CHANNEL_SERVED, .seat = application->seat};
    if (application->conn != NULL && application->side_open &&
        atomic_exchange(&application->asked, false)) {
        (void)GA_FAILPOINT("backend: served");
        (void)!outbox_send(application->backend, &served, sizeof served, -1); /* else it is gone */
    }
}

const char *application_turn(struct application *application)
{
    if (atomic_load(&application->conn_ended)) {
        ga_info("session ended: %s", application->conn_why);
        return "its application is gone";
    }
    const char *why = application->side_open ? side_turn(application) : NULL;
    if (why != NULL) {
        return why;
    }
    if (application->conn != NULL && !application->side_open &&
        ga_clock_ns() - application->conn_since_ns > backend_ticket_ns(application->backend)) {
        ga_warn("session ended: the client has opened no side connection in time");
        return "no side connection";
    }
    if (application->conn != NULL && !application->side_open && atomic_load(&application->alone)) {
        return "its client has ended before it was connected";
    }
    idle_tell(application);
    served_tell(application);
    return application->conn != NULL ? application_life_turn(application) : NULL;
}

/* ---- its end */

void application_end(struct application *application)
{
    if (application->state == APPLICATION_SERVED) {
        application->state = APPLICATION_ENDING;
        if (application->conn != NULL) {
            conn_end(application->conn);
        }
        if (application->side_open) {
            application->side_open = false;
            transport_side_fini(&application->side);
        }
        for (unsigned i = 0; i < application->listener_count; i++) {
            application->listeners[i].ops->close_listener(&application->listeners[i]);
        }
        application->listener_count = 0;
    }
    application_end_turn(application);
}

void application_end_turn(struct application *application)
{
    if (application->state != APPLICATION_ENDING ||
        (application->conn != NULL && !atomic_load(&application->conn_ended))) {
        return;
    }
    if (application->conn != NULL && !application->conn_clean) {
        conn_join(application->conn);
        application->state = APPLICATION_REMAINS;
        return;
    }
    if (application->conn != NULL) {
        conn_free(application->conn);
        application->conn = NULL;
        app_free(application->app);
        application->app = NULL;
    }
    rebuild_trigger_destroy(application->rebuild);
    application->rebuild = NULL;
    pthread_mutex_lock(&application->backend->ticket_lock);
    exports_fini(&application->exports);
    pthread_mutex_unlock(&application->backend->ticket_lock);
    ledger_check_empty(&application->ledger);
    application->state = APPLICATION_ENDED;
}

void application_clear(struct application *application)
{
    struct backend *backend = application->backend;
    uint32_t seat = application->seat;
    pthread_mutex_lock(&backend->ticket_lock);
    quota_fini(&application->quota);
    explicit_bzero(application, sizeof *application);
    application->backend = backend;
    application->seat = seat;
    exports_init(&application->exports);
    pthread_mutex_unlock(&backend->ticket_lock);
}
