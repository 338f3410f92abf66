/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, keeping and giving away processes that belong to nobody yet. */
#include "server/processes/warm_pool.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"

#define REFILL_MS     200u
#define REFILL_MS_MAX 30000u
#define YOUNG_NS      (10 * GA_NS_PER_S) /* a process that dies before may have a lasting cause */

#define SICK_DEATHS 3u /* young spares in succession; their driver may be the cause */

static void spare_ended(struct backend_process *process, const char *why);

/* Logs a failure; backend_process.c handles the other packets of a spare. */
static void spare_packet(struct backend_process *process, const union channel_packet *packet)
{
    if (packet->kind == CHANNEL_FAILED) {
        ga_error("backend process %d: %s", process->child.pid, packet->failed.reason);
    }
}

static const struct backend_process_events spare_events = {.packet = spare_packet,
                                                           .ended = spare_ended};

static bool listens_with_tls(const struct conf_server *server)
{
    const char scheme[] = "tls://";
    bool any = false;
    for (unsigned i = 0; i < server->listen_count; i++) {
        any = any || strncmp(server->listen[i].url, scheme, strlen(scheme)) == 0;
    }
    return any;
}

static enum ga_status spare_start(struct warm_pool *pool, struct backend_process **process,
                                  char *why, size_t why_size)
{
    struct processes *room = pool->room;
    const struct conf_server *server = &room->conf->server;
    struct channel_setup setup = {
        .kind = CHANNEL_SETUP,
        .conf = server->backend,
        .tls = listens_with_tls(server),
        .meter = server->ledger_interval_s != 0 || room->scheduler != NULL,
        .turns = room->scheduler != NULL,
        .identity = room->identity,
        .seats = room->seats,
        .outlives = room->outlives,
    };
    devices_setup(&room->devices, pool->driver, CHANNEL_SERVES, &setup);
    char **env = devices_env(&room->devices, room->conf, pool->driver);
    if (env == NULL) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = backend_process_start(room, &setup, env, server->open_timeout_s,
                                                  &spare_events, pool, process, why, why_size);
    devices_env_free(env);
    return status;
}

static void refill(struct server_timer *timer);

static void refill_later(struct warm_pool *pool)
{
    uint64_t delay_ms = REFILL_MS;
    for (unsigned i = 0; i < pool->deaths && delay_ms < REFILL_MS_MAX; i++) {
        delay_ms *= 2;
    }
    delay_ms = delay_ms < REFILL_MS_MAX ? delay_ms : REFILL_MS_MAX;
    if (pool->count < pool->wanted && !pool->refill.runs) {
        timers_start(pool->room->timers, &pool->refill, refill, delay_ms, 0);
    }
}

static void spare_died(struct warm_pool *pool, bool young)
{
    pool->deaths = young ? pool->deaths + 1 : 0;
    if (pool->deaths >= SICK_DEATHS) {
        health_suspect(pool->room, pool->driver);
    }
    refill_later(pool);
}

static void refill(struct server_timer *timer)
{
    struct warm_pool *pool = ga_container(timer, struct warm_pool, refill);
    while (pool->count < pool->wanted) {
        char why[300];
        struct backend_process *process;
        if (spare_start(pool, &process, why, sizeof why) != GA_OK) {
            ga_warn("%s", why);
            spare_died(pool, true);
            return;
        }
        pool->processes[pool->count++] = process;
    }
}

static void warm_pool_forget(struct warm_pool *pool, unsigned index)
{
    pool->count--;
    for (unsigned i = index; i < pool->count; i++) {
        pool->processes[i] = pool->processes[i + 1];
    }
}

static void spare_ended(struct backend_process *process, const char *why)
{
    struct warm_pool *pool = process->owner;
    (void)why; /* logged in backend_process.c */
    for (unsigned i = 0; i < pool->count; i++) {
        if (pool->processes[i] == process) {
            warm_pool_forget(pool, i);
            spare_died(pool, timers_now(pool->room->timers) - process->started_ns < YOUNG_NS);
            return;
        }
    }
}

void warm_pool_start(struct warm_pool *pool, struct processes *room, enum conf_driver driver)
{
    uint32_t wanted = room->conf->server.spare_backends;
    *pool = (struct warm_pool){.room = room, .driver = driver};
    if (devices_seen(&room->devices, driver)) {
        pool->wanted = wanted < WARM_POOL_MAX ? wanted : WARM_POOL_MAX;
        refill(&pool->refill);
    }
}

void warm_pool_renew(struct warm_pool *pool)
{
    if (pool->room == NULL || !devices_seen(&pool->room->devices, pool->driver)) {
        return;
    }
    uint32_t wanted = pool->room->conf->server.spare_backends;
    pool->wanted = wanted < WARM_POOL_MAX ? wanted : WARM_POOL_MAX;
    while (pool->count != 0) {
        struct backend_process *process = pool->processes[0];
        warm_pool_forget(pool, 0);
        backend_process_end(process);
    }
    refill_later(pool);
}

void warm_pool_stop(struct warm_pool *pool)
{
    pool->wanted = 0;
    if (pool->room != NULL) {
        timers_stop(pool->room->timers, &pool->refill);
    }
}

enum ga_status warm_pool_take(struct warm_pool *pool, struct backend_process **process, char *why,
                              size_t why_size)
{
    *process = backend_process_with_room(pool->room, pool->driver);
    if (*process != NULL) {
        return GA_OK;
    }
    if (pool->count == 0) {
        GA_TRY(spare_start(pool, process, why, why_size));
    } else {
        *process = pool->processes[0];
        warm_pool_forget(pool, 0);
        pool->deaths = (*process)->warm ? 0 : pool->deaths;
        refill_later(pool);
    }
    (*process)->owner = NULL; /* its events are those of its seats from now on */
    return GA_OK;
}
