/* SPDX-License-Identifier: Apache-2.0 */
/* A world: some nodes, each with a whole control plane of gpuaasd, and the programs that use them,
 * in one process, on one clock. Nothing in it waits: time goes on from one event to the next.
 *
 * Chance comes from a seed alone, so the same seed gives the same events, and the hash over their
 * log says whether it did.
 *
 * Note: ids of tickets and secrets of tokens come from the machine's randomness; they may not
 * decide anything here, nor be logged. */
#ifndef TESTS_WORLD_WORLD_H
#define TESTS_WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "server/timers.h"

#define WORLD_NODES    2u
#define WORLD_GPUS     2u /* of a node */
#define WORLD_TENANTS  4u
#define WORLD_PROGRAMS 12u
#define WORLD_BEGAN_S  INT64_C(1800000000) /* the time of day at the beginning, since 1970 */

struct world_node;
struct world_program;
struct world_tenant;

struct world {
    uint64_t now_ns;
    /* Messages that are on their way, and what programs and GPUs do next. */
    struct server_timers events;
    uint64_t next_ns; /* of those */
    uint64_t chance;  /* the state of the generator */
    uint64_t hash, events_count;
    bool told; /* the log goes to stderr, too */
    char store[40];
    struct world_node *nodes[WORLD_NODES];
    struct world_tenant *tenants;
    struct world_program *programs;
    bool ending; /* programs that end do not begin again */
    struct world_counts {
        uint64_t admitted, refused, sessions, ended, killed, allocations, allocation_refusals,
            terminated, slices, checks;
    } counts;
};

struct world *world_make(uint64_t seed);
/* Lets so much time pass. Invariants are checked after each step. */
void world_run(struct world *world, uint64_t ms);
/* Lets programs end, and stops the nodes: nothing may be left. */
void world_end(struct world *world);
void world_free(struct world *world);

/* A number below `below`. */
uint64_t world_any(struct world *world, uint64_t below);
bool world_chance(struct world *world, unsigned percent);
/* A line of the log of events. */
__attribute__((format(printf, 2, 3))) void world_log(struct world *world, const char *format, ...);
/* The time of day, in seconds. */
int64_t world_wall_s(const struct world *world);

#endif
