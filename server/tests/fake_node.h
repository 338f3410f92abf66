/* SPDX-License-Identifier: Apache-2.0 */
/* A node without processes and sockets: its GPUs, its clock, and applications of tenants. Backend
 * processes are stand-ins, in the place of processes/backend_process.c: they remember what they are
 * told, and say what the test lets them say. */
#ifndef SERVER_TESTS_FAKE_NODE_H
#define SERVER_TESTS_FAKE_NODE_H

#include <criterion/criterion.h>

#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/processes/backend_process.h"
#include "server/seats/seat.h"
#include "server/storage/storage.h"
#include "server/tenants/tenant.h"
#include "server/tests/still_clock.h"

#define FAKE_GPUS 3u  /* "GPU 0" to "GPU 2" for people: [gpu.10] to [gpu.12] */
#define FAKE_TOLD 64u /* packets that a process remembers */

struct fake_process {
    struct backend_process process;
    union channel_packet told[FAKE_TOLD];
    unsigned told_count;
    struct channel_setup setup;  /* of one that was started */
    union channel_packet unread; /* it has said this, and nobody has read it yet; kind 0: nothing */
    bool full;                   /* its channel is */
    unsigned ends, kills;
};

/* A control connection. */
struct fake_client {
    struct application_client base;
    bool waits, waits_for_claims;
    unsigned answers, flushes, closes;
    int32_t result;
    char reason[300]; /* "": the seat is ready */
    const struct seat *seat;
};

struct fake_node {
    struct still_clock still;
    struct conf conf;
    struct gpuaasd gpuaasd; /* its rooms; no loop, no listeners, and no clients */
    struct drain_hooks hooks;
    char line[400]; /* that drain_hooks were told last */
    uint64_t goes_on_us;
    unsigned emptied;
    unsigned starts; /* so many more processes can be started */
};

extern struct fake_node node;

/* A clock that stands, FAKE_GPUS software GPUs, a store in memory, and nobody there. */
void fake_node_start(void);
/* All programs and processes end; nothing of them may be left. */
void fake_node_stop(void);
/* Lets so much time pass, a tenth of a second at a time. */
void fake_node_pass(uint64_t ms);

/* Terms of the tenant of this name, which has the number; without limits. */
struct tenant_terms fake_terms(const char *name, uint64_t number);
/* An application of the tenant, by id; admitted, and without connections. It is there until the
 * node stops, also if it ends. */
struct control_application *fake_application(const struct tenant_terms *terms, uint8_t id);
/* As fake_application, of a user (with these limits, NULL: the tenant's own). */
struct control_application *fake_application_of_user(const struct tenant_terms *terms,
                                                     const char *user, const struct limits *limits,
                                                     uint8_t id);
/* One that has only greeted. */
struct control_application *fake_greeting(uint8_t id, uint32_t takes);
/* One more control connection of it. */
struct fake_client *fake_client(struct control_application *application);

/* Gives it a seat in a process of its own, which has said READY. */
struct seat *fake_seat(struct control_application *application);
/* A spare of software GPUs, for the next that asks. */
struct fake_process *fake_spare(void);
struct fake_process *fake_process_of(const struct seat *seat);
/* A ticket for the GPU has been sent; and the program has used it. */
void fake_ticket(struct seat *seat, uint32_t gpu);
void fake_open(struct seat *seat, uint32_t gpu);
/* The process says a packet about its seat. */
void fake_says(struct seat *seat, const union channel_packet *packet);
void fake_says_kind(struct seat *seat, enum channel_kind kind);
/* The process has ended. */
void fake_dies(struct fake_process *process, const char *why);
/* The process that was started last. */
struct fake_process *fake_started(void);
/* The last packet of this kind that the process was told; NULL: none. */
const union channel_packet *fake_told(const struct fake_process *process, enum channel_kind kind);
/* How many of this kind. */
unsigned fake_told_times(const struct fake_process *process, enum channel_kind kind);

#endif
