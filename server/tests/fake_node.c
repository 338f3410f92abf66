/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tests/fake_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/processes/processes.h"
#include "server/seats/claims.h"
#include "server/tenants/member.h"

#define PROCESSES 16u
#define CLIENTS   32u
#define PROGRAMS  32u

struct fake_node node;

static struct figures_page pages[PROCESSES];
static struct fake_process processes[PROCESSES];
static unsigned process_count;
static struct fake_client clients[CLIENTS];
static unsigned client_count;
static struct control_application *programs[PROGRAMS];
static unsigned program_count;

/* ---- in the place of processes/backend_process.c */

static struct fake_process *fake(struct backend_process *process)
{
    return ga_container(process, struct fake_process, process);
}

static void remember(struct fake_process *of, const void *packet, size_t size)
{
    cr_assert_lt(of->told_count, FAKE_TOLD);
    cr_assert_leq(size, sizeof *of->told);
    memcpy(&of->told[of->told_count++], packet, size);
}

static struct fake_process *process_make(enum conf_driver driver)
{
    cr_assert_lt(process_count, PROCESSES);
    struct fake_process *made = &processes[process_count];
    made->process = (struct backend_process){.room = &node.gpuaasd.processes,
                                             .driver = driver,
                                             .number = 1000 + process_count,
                                             .started_ns = node.still.now_ns,
                                             .seat_limit = node.gpuaasd.processes.seats,
                                             .outlives = node.gpuaasd.processes.outlives,
                                             .figures = &pages[process_count],
                                             .fd = 77};
    made->process.child.pid = (int)(5000 + process_count);
    process_count++;
    ga_list_append(&node.gpuaasd.processes.processes, &made->process.link);
    node.gpuaasd.processes.count++;
    return made;
}

enum ga_status backend_process_start(struct processes *room, const struct channel_setup *setup,
                                     char *const *env, unsigned timeout_s,
                                     const struct backend_process_events *events, void *owner,
                                     struct backend_process **out, char *why, size_t why_size)
{
    cr_assert_eq(room, &node.gpuaasd.processes);
    cr_assert_not_null(env);
    cr_assert_eq(timeout_s, node.conf.server.open_timeout_s);
    if (node.starts == 0) {
        snprintf(why, why_size, "no process can be started");
        return GA_LOST;
    }
    node.starts--;
    struct fake_process *made = process_make(setup->driver);
    made->setup = *setup;
    made->process.events = events;
    made->process.owner = owner;
    *out = &made->process;
    return GA_OK;
}

enum ga_status backend_process_send(struct backend_process *process, const void *packet,
                                    size_t size)
{
    if (process->fd < 0) {
        return GA_LOST;
    }
    if (fake(process)->full) {
        return GA_AGAIN;
    }
    remember(fake(process), packet, size);
    return GA_OK;
}

enum ga_status backend_process_tell(struct backend_process *process, const void *packet,
                                    size_t size, int passed)
{
    (void)passed;
    if (process->fd < 0) {
        return GA_LOST;
    }
    remember(fake(process), packet, size);
    return GA_OK;
}

void backend_process_hear(struct backend_process *process)
{
    union channel_packet packet = fake(process)->unread;
    fake(process)->unread.kind = 0;
    for (unsigned i = 0; packet.kind != 0 && i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->packet(process->seats[i], &packet);
        }
    }
}

void backend_process_end(struct backend_process *process)
{
    fake(process)->ends++;
    process->ending = true;
    process->owner = NULL;
    process->fd = -1;
}

void backend_process_kill(struct backend_process *process)
{
    fake(process)->kills++;
}

/* ---- the node */

static void hook_status(struct applications *room, const char *line)
{
    cr_assert_eq(room, &node.gpuaasd.applications);
    snprintf(node.line, sizeof node.line, "%s", line);
}

static void hook_goes_on(struct applications *room, uint64_t usec)
{
    cr_assert_eq(room, &node.gpuaasd.applications);
    node.goes_on_us = usec;
}

static void hook_emptied(struct applications *room)
{
    cr_assert_eq(room, &node.gpuaasd.applications);
    node.emptied++;
}

static void complain(void *user, const char *line)
{
    (void)user;
    cr_assert_fail("%s", line);
}

void fake_node_start(void)
{
    static const char text[] = "[server]\nlisten = tcp://127.0.0.1:0\nauth = off\nnode = n1\n"
                               "[gpu.10]\ndriver = soft\n[gpu.11]\ndriver = soft\n"
                               "[gpu.12]\ndriver = soft\n";
    memset(&node, 0, sizeof node);
    still_clock_init_at(&node.still, 1000 * GA_NS_PER_S);
    cr_assert_eq(conf_read_text("node", text, &node.conf, complain, NULL), GA_OK);
    cr_assert_eq(devices_init(&node.gpuaasd.processes.devices, &node.conf), GA_OK);
    for (uint32_t i = 0; i < FAKE_GPUS; i++) {
        struct channel_facts facts = {.device = i,
                                      .name = "Soft",
                                      .memory_bytes = UINT64_C(1) << 30,
                                      .context_bytes = 1000 * (i + 1)};
        facts.uuid[0] = (uint8_t)(0xa0 + i);
        cr_assert(devices_learn(&node.gpuaasd.processes.devices, &facts));
    }
    devices_publish(&node.gpuaasd.processes.devices);
    node.gpuaasd.processes.timers = &node.still.timers;
    node.gpuaasd.processes.conf = &node.conf;
    node.gpuaasd.processes.seats = 1;
    ga_list_init(&node.gpuaasd.processes.processes);
    images_init(&node.gpuaasd.processes.images, node.conf.server.backend.image_store);
    health_init(&node.gpuaasd.processes);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        node.gpuaasd.processes.warm_pools[i] =
            (struct warm_pool){.room = &node.gpuaasd.processes, .driver = (enum conf_driver)i};
    }
    node.gpuaasd.storage.conf = &node.conf;
    char why[600] = "";
    cr_assert_eq(store_open(storage_path(&node.gpuaasd.storage), &node.gpuaasd.storage.store, why,
                            sizeof why),
                 GA_OK, "%s", why);
    usage_init(&node.gpuaasd.usage, &node.gpuaasd.processes, &node.gpuaasd.storage);
    access_init(&node.gpuaasd.access, NULL, &node.still.timers, &node.conf, &node.gpuaasd.storage);
    node.hooks = (struct drain_hooks){
        .status = hook_status, .goes_on = hook_goes_on, .emptied = hook_emptied};
    applications_init(&node.gpuaasd.applications, &node.gpuaasd.processes, &node.gpuaasd.usage,
                      &node.gpuaasd.access, &node.hooks);
    node.gpuaasd.conf = &node.conf;
    node.gpuaasd.clients = (struct clients){.conf = &node.conf,
                                            .timers = &node.still.timers,
                                            .processes = &node.gpuaasd.processes,
                                            .applications = &node.gpuaasd.applications,
                                            .access = &node.gpuaasd.access};
    ga_list_init(&node.gpuaasd.clients.all);
    monitoring_init(&node.gpuaasd.monitoring, &node.gpuaasd.clients);
    node.gpuaasd.processes.serving = true;
}

void fake_node_stop(void)
{
    node.gpuaasd.applications.stopping = true;
    health_stop(&node.gpuaasd.processes);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        warm_pool_stop(&node.gpuaasd.processes.warm_pools[i]);
    }
    control_applications_end(&node.gpuaasd.applications);
    ga_list_each (at, next, &node.gpuaasd.processes.processes) {
        fake_dies(ga_container(at, struct fake_process, process.link), "exit status 0");
    }
    still_clock_pass(&node.still, 0);
    while (program_count != 0) {
        struct control_application *last = programs[--program_count];
        cr_assert_eq(last->users, 1, "only the test still uses it");
        control_application_drop(last);
    }
    cr_assert(ga_list_empty(&node.gpuaasd.applications.tenants.all));
    applications_fini(&node.gpuaasd.applications);
    usage_fini(&node.gpuaasd.usage);
    images_fini(&node.gpuaasd.processes.images);
    store_close(node.gpuaasd.storage.store);
    free(node.gpuaasd.processes.devices.all);
    free(node.gpuaasd.processes.devices.visible);
    cr_assert_null(node.still.timers.first, "no timer runs");
}

void fake_node_pass(uint64_t ms)
{
    for (; ms > 100; ms -= 100) {
        still_clock_pass(&node.still, 100);
    }
    still_clock_pass(&node.still, ms);
}

/* ---- applications */

static enum ga_status local_address(int fd, char *url, size_t size)
{
    (void)fd;
    snprintf(url, size, "tcp://127.0.0.9:1234");
    return GA_OK;
}

struct control_application *fake_greeting(uint8_t id, uint32_t takes)
{
    static const struct transport_ops ops = {.local_address = local_address};
    const struct transport_conn conn = {.ops = &ops, .fd = -1};
    struct handshake_hello hello = {.pid = id, .program = "train", .takes = takes};
    memset(hello.application, id, sizeof hello.application);
    struct control_application *made =
        control_application_make(&node.gpuaasd.applications, &hello, &conn, "127.0.0.1:9", false);
    cr_assert_not_null(made);
    cr_assert_lt(program_count, PROGRAMS);
    programs[program_count++] = made;
    return made;
}

struct tenant_terms fake_terms(const char *name, uint64_t number)
{
    struct tenant_terms terms = tenant_default();
    snprintf(terms.name, sizeof terms.name, "%s", name);
    terms.number = number;
    return terms;
}

struct control_application *fake_application_of_user(const struct tenant_terms *terms,
                                                     const char *user, const struct limits *limits,
                                                     uint8_t id)
{
    struct control_application *made = fake_greeting(id, 0);
    struct tenant *tenant = tenant_find(&node.gpuaasd.applications.tenants, terms);
    cr_assert_not_null(tenant);
    if (user != NULL) {
        snprintf(made->user, sizeof made->user, "%s", user);
        made->member = member_find(tenant, user, limits != NULL ? limits : &terms->limits);
        cr_assert_not_null(made->member);
    }
    cr_assert(control_application_admit(made, tenant));
    tenant_drop(tenant);
    return made;
}

struct control_application *fake_application(const struct tenant_terms *terms, uint8_t id)
{
    return fake_application_of_user(terms, NULL, NULL, id);
}

static struct fake_client *client_of(struct application_client *base)
{
    return ga_container(base, struct fake_client, base);
}

static bool client_waits(const struct application_client *base, const struct seat *seat)
{
    const struct fake_client *client = ga_container(base, const struct fake_client, base);
    return client->waits && (seat == NULL || client->seat == NULL || client->seat == seat);
}

static bool client_waits_for_claims(const struct application_client *base)
{
    return ga_container(base, const struct fake_client, base)->waits_for_claims;
}

static void client_answer(struct application_client *base, struct seat *seat, int32_t result,
                          const char *reason)
{
    struct fake_client *client = client_of(base);
    client->answers++;
    client->seat = seat;
    client->result = result;
    client->waits = false;
    snprintf(client->reason, sizeof client->reason, "%s", reason != NULL ? reason : "");
}

static void client_flush(struct application_client *base)
{
    client_of(base)->flushes++;
}

static void client_close(struct application_client *base)
{
    client_of(base)->closes++;
    ga_list_remove(&base->beside);
}

struct fake_client *fake_client(struct control_application *application)
{
    static const struct application_client_ops ops = {.waits = client_waits,
                                                      .waits_for_claims = client_waits_for_claims,
                                                      .answer = client_answer,
                                                      .flush = client_flush,
                                                      .close = client_close};
    cr_assert_lt(client_count, CLIENTS);
    struct fake_client *made = &clients[client_count++];
    made->base.ops = &ops;
    ga_list_append(&application->clients, &made->base.beside);
    return made;
}

/* ---- processes */

struct fake_process *fake_spare(void)
{
    struct warm_pool *pool = &node.gpuaasd.processes.warm_pools[CONF_DRIVER_SOFT];
    struct fake_process *made = process_make(CONF_DRIVER_SOFT);
    made->process.warm = true;
    pool->processes[pool->count++] = &made->process;
    return made;
}

struct fake_process *fake_started(void)
{
    cr_assert_neq(process_count, 0);
    return &processes[process_count - 1];
}

struct fake_process *fake_process_of(const struct seat *seat)
{
    return fake(seat->process);
}

struct seat *fake_seat(struct control_application *application)
{
    char why[300] = "";
    (void)fake_spare();
    cr_assert_eq(control_application_start(application, CONF_DRIVER_SOFT, why, sizeof why), GA_OK,
                 "%s", why);
    struct seat *seat = application->seats[CONF_DRIVER_SOFT];
    fake_says_kind(seat, CHANNEL_READY);
    return seat;
}

void fake_ticket(struct seat *seat, uint32_t gpu)
{
    cr_assert_eq(claims_room(seat), GA_OK);
    seat->tickets_sent++;
    claims_made(seat, gpu);
}

void fake_open(struct seat *seat, uint32_t gpu)
{
    const union channel_packet bound = {
        .claim = {.kind = CHANNEL_BOUND, .seat = seat->number, .gpu = gpu}};
    fake_ticket(seat, gpu);
    fake_says(seat, &bound);
}

void fake_says(struct seat *seat, const union channel_packet *packet)
{
    seat->base.ops->packet(&seat->base, packet);
}

void fake_says_kind(struct seat *seat, enum channel_kind kind)
{
    union channel_packet packet = {.seat = {.kind = kind, .seat = seat->number}};
    if (kind == CHANNEL_READY) {
        snprintf(packet.ready.url, sizeof packet.ready.url, "tcp://127.0.0.9:77");
    }
    fake_says(seat, &packet);
}

void fake_dies(struct fake_process *process, const char *why)
{
    process->process.ending = true;
    process->process.fd = -1;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->process.seats[i] != NULL) {
            process->process.seats[i]->ops->closing(process->process.seats[i]);
            process->process.seats[i]->ops->ended(process->process.seats[i], why);
        }
    }
    ga_list_remove(&process->process.link);
    node.gpuaasd.processes.count--;
    if (process->process.owner != NULL) {
        process->process.events->ended(&process->process, why);
    }
    still_clock_pass(&node.still, 0);
}

const union channel_packet *fake_told(const struct fake_process *process, enum channel_kind kind)
{
    for (unsigned i = process->told_count; i-- > 0;) {
        if (process->told[i].kind == kind) {
            return &process->told[i];
        }
    }
    return NULL;
}

unsigned fake_told_times(const struct fake_process *process, enum channel_kind kind)
{
    unsigned times = 0;
    for (unsigned i = 0; i < process->told_count; i++) {
        times += process->told[i].kind == kind;
    }
    return times;
}
