/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/node.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/applications/application.h"
#include "server/usage/accounting.h"
#include "tests/world/process.h"

#define PENDING_MAX   64u
#define CONTEXT_BYTES (UINT64_C(300) << 20)

/* ---- its clock */

static struct world_node *node_timed(const struct server_timers *timers)
{
    return ga_container(timers, struct world_node, timers);
}

static uint64_t node_now(const struct server_timers *timers)
{
    return node_timed(timers)->world->now_ns;
}

static uint64_t node_wall(const struct server_timers *timers)
{
    return timers_wall_ns(&node_timed(timers)->world->events);
}

static void node_next(struct server_timers *timers, uint64_t at_ns)
{
    node_timed(timers)->next_ns = at_ns;
}

static const struct timers_host node_host = {
    .now_ns = node_now, .wall_ns = node_wall, .next = node_next};

void node_turn(struct world_node *node)
{
    timers_run(&node->timers);
    loop_closes(&node->loop);
    processes_bury(node);
}

/* ---- life */

static void complain(void *user, const char *line)
{
    (void)user;
    cr_assert_fail("%s", line);
}

static void node_configure(struct world_node *node)
{
    static const char server[] = "[server]\nlisten = tcp://127.0.0.1:0\nspare_backends = 1\n"
                                 "handshake_timeout_s = 10\nhealth_check_s = 60\n";
    static const char gpu[] = "[gpu.%u]\ndriver = soft\n";
    char text[1000];
    size_t length =
        (size_t)snprintf(text, sizeof text, "%snode = n%u\npool = world\n", server, node->number);
    for (unsigned i = 0; i < WORLD_GPUS; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, gpu, i);
    }
    cr_assert_eq(conf_read_text("node", text, &node->conf, complain, NULL), GA_OK);
    node->conf.server.auth = true; /* with a store in memory, which no file of a node could have */
    snprintf(node->conf.server.store, sizeof node->conf.server.store, "%s-%u", node->world->store,
             node->number);
}

static void node_devices(struct world_node *node)
{
    struct devices *devices = &node->processes.devices;
    cr_assert_eq(devices_init(devices, &node->conf), GA_OK);
    for (uint32_t i = 0; i < WORLD_GPUS; i++) {
        struct channel_facts facts = {.device = i,
                                      .name = "World",
                                      .memory_bytes = NODE_GPU_BYTES,
                                      .context_bytes = CONTEXT_BYTES};
        facts.uuid[0] = (uint8_t)(1 + node->number);
        facts.uuid[1] = (uint8_t)i;
        cr_assert(devices_learn(devices, &facts));
        gpu_init(&node->gpus[i], node->world, node->number);
    }
    devices_publish(devices);
}

struct world_node *node_start(struct world *world, unsigned number)
{
    struct world_node *node = calloc(1, sizeof *node);
    char why[600] = "";
    cr_assert_not_null(node);
    node->world = world;
    node->number = number;
    node->next_ns = UINT64_MAX;
    ga_list_init(&node->buried);
    timers_init(&node->timers, &node_host);
    node_configure(node);
    node_devices(node);
    processes_init(&node->processes, &node->loop.uv, &node->timers, &node->conf);
    node->processes.seats = 1;
    node->storage.conf = &node->conf;
    cr_assert_eq(store_open(storage_path(&node->storage), &node->storage.store, why, sizeof why),
                 GA_OK, "%s", why);
    access_init(&node->access, &node->loop.uv, &node->timers, &node->conf, &node->storage);
    usage_init(&node->usage, &node->processes, &node->storage);
    applications_init(&node->applications, &node->processes, &node->usage, &node->access, NULL);
    cr_assert_eq(clients_init(&node->clients, &node->applications, PENDING_MAX, NULL), GA_OK);
    cr_assert_eq(accounting_start(&node->usage), GA_OK);
    cr_assert_eq(access_open(&node->access), GA_OK);
    cr_assert_eq(accounting_begin(&node->usage), GA_OK);
    processes_begin(&node->processes);
    return node;
}

bool node_is_quiet(const struct world_node *node)
{
    unsigned seats = 0;
    ga_list_each (at, next, &node->processes.processes) {
        seats += backend_process_seats(ga_container(at, const struct backend_process, link));
    }
    return seats == 0 && ga_list_empty(&node->clients.all) &&
           ga_list_empty(&node->applications.all);
}

void node_stop(struct world_node *node)
{
    node->applications.stopping = true;
    clients_close(&node->clients);
    control_applications_end(&node->applications);
    processes_end(&node->processes, false);
}

void node_stopped(struct world_node *node)
{
    cr_assert_eq(node->processes.count, 0);
    cr_assert(ga_list_empty(&node->applications.tenants.all), "a tenant is left");
    access_close(&node->access);
    clients_fini(&node->clients);
    applications_fini(&node->applications);
    processes_fini(&node->processes);
    accounting_stop(&node->usage);
    usage_fini(&node->usage);
    store_close(node->storage.store);
    free(node->processes.devices.all);
    free(node->processes.devices.visible);
    loop_closes(&node->loop);
    cr_assert_null(node->timers.first, "a timer is left");
}

void node_free(struct world_node *node)
{
    free(node);
}
