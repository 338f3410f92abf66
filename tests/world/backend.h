/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process from the inside: it opens its driver, serves an application, and answers
 * gpuaasd. Its program uses it by the functions below. Some processes are slow, hang or die. */
#ifndef TESTS_WORLD_BACKEND_H
#define TESTS_WORLD_BACKEND_H

#include <stdbool.h>

#include "server/channel.h"
#include "tests/world/gpu.h"
#include "tests/world/world.h"

#define BACKEND_TICKETS 8u

struct world_process;

struct backend_ticket {
    uint8_t id[16];
    uint32_t gpu;
    bool shown, void_;
};

/* A process serves one application in its life. */
struct world_backend {
    struct world_process *process;
    struct server_timer timer; /* of the world's events: what it does next */
    bool probe;                /* it checks the GPUs */
    bool hangs;                /* it answers nothing any more */
    bool taken;                /* it has an application */
    struct channel_application application;
    struct backend_ticket tickets[BACKEND_TICKETS];
    uint32_t ticket_count;
    struct world_program *program; /* that is connected; NULL: none */
    bool opened[WORLD_GPUS];
    struct world_session sessions[WORLD_GPUS];
    uint64_t lent[CHANNEL_LENT_KINDS][WORLD_GPUS], charged[WORLD_GPUS];
    uint64_t asks; /* bytes that it asks gpuaasd for; 0: none */
    uint32_t asks_gpu, questions;
    struct server_timer limits; /* looks at the time that its program may have */
    uint64_t opened_ns;
};

void backend_begin(struct world_backend *backend, struct world_process *process,
                   const struct channel_setup *setup);
/* It dies. */
void backend_end(struct world_backend *backend);
/* A packet has come; NULL: its channel is closed. */
void backend_take(struct world_backend *backend, const union channel_packet *packet);

/* ---- for its program */

/* Shows a ticket. False: it is worth nothing. */
bool backend_show(struct world_backend *backend, struct world_program *program,
                  const uint8_t id[16], uint32_t gpu);
/* The program closes its connections. */
void backend_leave(struct world_backend *backend);
/* Allocates memory; program_allocated is called then. One at a time. */
void backend_allocate(struct world_backend *backend, uint32_t gpu, uint64_t bytes);
void backend_free(struct world_backend *backend, uint32_t gpu, uint64_t bytes);

#endif
