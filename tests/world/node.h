/* SPDX-License-Identifier: Apache-2.0 */
/* A node: its clock, its loop, and the rooms of a gpuaasd, all of them the real ones. */
#ifndef TESTS_WORLD_NODE_H
#define TESTS_WORLD_NODE_H

#include "server/access/access.h"
#include "server/applications/applications.h"
#include "server/clients/clients.h"
#include "server/processes/processes.h"
#include "server/storage/storage.h"
#include "server/usage/usage.h"
#include "tests/world/gpu.h"
#include "tests/world/loop.h"
#include "tests/world/world.h"

#define NODE_GPU_BYTES (UINT64_C(8) << 30) /* memory of a GPU */

struct world_node {
    struct world *world;
    unsigned number;
    struct world_loop loop;
    struct server_timers timers;
    uint64_t next_ns; /* of them */
    struct conf conf;
    struct storage storage;
    struct processes processes;
    struct usage usage;
    struct access access;
    struct applications applications;
    struct clients clients;
    struct world_gpu gpus[WORLD_GPUS];
    struct ga_list buried; /* struct world_process: they have exited */
};

/* It serves at once: its GPUs are known. */
struct world_node *node_start(struct world *world, unsigned number);
/* A turn of its loop, when all that has come has been read. */
void node_turn(struct world_node *node);
/* Whether nobody uses it, but for spares. */
bool node_is_quiet(const struct world_node *node);
/* Ends its processes; and when they have gone, the rest. */
void node_stop(struct world_node *node);
void node_stopped(struct world_node *node);
void node_free(struct world_node *node);

static inline struct world_node *node_of(struct processes *processes)
{
    return ga_container(processes, struct world_node, processes);
}

#endif
