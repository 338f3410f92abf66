/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/world.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "tests/world/invariants.h"
#include "tests/world/node.h"
#include "tests/world/program.h"
#include "tests/world/tenants.h"

#define END_MS 120000 /* until all that has been asked to end must have */

/* ---- time */

static uint64_t world_now(const struct server_timers *events)
{
    return ga_container(events, const struct world, events)->now_ns;
}

static uint64_t world_wall(const struct server_timers *events)
{
    return (uint64_t)WORLD_BEGAN_S * GA_NS_PER_S + world_now(events);
}

static void world_next(struct server_timers *events, uint64_t at_ns)
{
    ga_container(events, struct world, events)->next_ns = at_ns;
}

static const struct timers_host world_host = {
    .now_ns = world_now, .wall_ns = world_wall, .next = world_next};

int64_t world_wall_s(const struct world *world)
{
    return timers_wall_s(&world->events);
}

/* ---- chance: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */

uint64_t world_any(struct world *world, uint64_t below)
{
    uint64_t mixed = world->chance += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % below;
}

bool world_chance(struct world *world, unsigned percent)
{
    return world_any(world, 100) < percent;
}

/* ---- the log: FNV-1a over its lines */

void world_log(struct world *world, const char *format, ...)
{
    char line[400];
    int length = snprintf(line, sizeof line, "%" PRIu64 " ", world->now_ns / GA_NS_PER_MS);
    va_list args;
    va_start(args, format);
    vsnprintf(line + length, sizeof line - (size_t)length, format, args);
    va_end(args);
    for (const char *at = line; *at != 0; at++) {
        world->hash = (world->hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    world->events_count++;
    if (world->told) {
        fprintf(stderr, "%s\n", line);
    }
}

/* ---- steps */

/* Messages are read before any timer is called, as in gpuaasd's loop. */
static void world_step(struct world *world)
{
    timers_run(&world->events);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        node_turn(world->nodes[i]);
    }
    invariants_check(world);
}

void world_run(struct world *world, uint64_t ms)
{
    uint64_t until_ns = world->now_ns + ms * GA_NS_PER_MS;
    for (;;) {
        uint64_t next_ns = world->next_ns;
        for (unsigned i = 0; i < WORLD_NODES; i++) {
            uint64_t nodes_ns = world->nodes[i]->next_ns;
            next_ns = nodes_ns < next_ns ? nodes_ns : next_ns;
        }
        if (next_ns > until_ns) {
            break;
        }
        world->now_ns = next_ns > world->now_ns ? next_ns : world->now_ns;
        world_step(world);
    }
    world->now_ns = until_ns;
}

/* ---- life */

struct world *world_make(uint64_t seed)
{
    static unsigned made;
    struct world *world = calloc(1, sizeof *world);
    cr_assert_not_null(world);
    world->chance = seed;
    world->hash = UINT64_C(0xcbf29ce484222325);
    world->told = getenv("GPUAAS_WORLD_LOG") != NULL;
    world->now_ns = 1000 * GA_NS_PER_S;
    world->next_ns = UINT64_MAX;
    snprintf(world->store, sizeof world->store, ":memory:world-%u", ++made);
    timers_init(&world->events, &world_host);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        world->nodes[i] = node_start(world, i);
    }
    tenants_make(world);
    programs_make(world);
    return world;
}

static bool is_quiet(const struct world *world)
{
    bool quiet = programs_ended(world);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        quiet = quiet && node_is_quiet(world->nodes[i]);
    }
    return quiet;
}

void world_end(struct world *world)
{
    world->ending = true;
    for (uint64_t ms = 0; !is_quiet(world); ms += 1000) {
        cr_assert_lt(ms, END_MS, "something does not end");
        world_run(world, 1000);
    }
    world_run(world, 2000); /* usage is written */
    invariants_at_end(world);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        node_stop(world->nodes[i]);
    }
    world_run(world, 5000);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        node_stopped(world->nodes[i]);
    }
    cr_assert_null(world->events.first, "something is on its way");
}

void world_free(struct world *world)
{
    programs_free(world);
    tenants_free(world);
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        node_free(world->nodes[i]);
    }
    free(world);
}
