/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process, in the place of processes/backend_process.c: packets come and go by queues
 * instead of a socket. The process itself, which answers them, is backend.h. */
#ifndef TESTS_WORLD_PROCESS_H
#define TESTS_WORLD_PROCESS_H

#include "server/processes/backend_process.h"
#include "tests/world/backend.h"
#include "tests/world/queue.h"

struct world_process {
    struct backend_process process; /* as gpuaasd knows it */
    struct world_node *node;
    struct figures_page *page;
    struct world_queue to_backend, to_gpuaasd;
    struct world_backend backend;
    struct server_timer exit; /* of the world's events */
    int signal;               /* 0: it exits by itself */
    bool dead;
    struct ga_list grave; /* of the node's */
};

static inline struct world_process *process_of(struct backend_process *process)
{
    return ga_container(process, struct world_process, process);
}

/* The process says a packet. */
void process_say(struct world_process *process, const void *packet, size_t size);
/* The process exits in so many ms; `signal` 0: by itself. */
void process_exit(struct world_process *process, unsigned ms, int signal);
/* That of this number, if it lives; NULL. */
struct world_process *process_find(const struct world_node *node, uint64_t number);
/* Frees those that have exited. */
void processes_bury(struct world_node *node);

#endif
