/* SPDX-License-Identifier: Apache-2.0 */
/* The seat of an application in a backend process, as far as its usage goes. Rooms above have the
 * whole seat (server/seats/seat.h). */
#ifndef SERVER_USAGE_USAGE_SEAT_H
#define SERVER_USAGE_USAGE_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "conf/conf.h"
#include "server/figures.h"

struct account;
struct seat_times;
struct time_share;
struct usage;
struct usage_seat;

/* `gpu` is an index into the list that clients see. */
struct usage_seat_ops {
    /* Since when its application has a session there; 0: it has none yet. */
    uint64_t (*began_ns)(const struct usage_seat *seat, uint64_t now);
    /* Memory of the GPU that others have made and that is charged to it. */
    const struct figures_memory *(*taken)(const struct usage_seat *seat, uint32_t gpu);
    /* For how long it has waited for turns on the GPU; 0: it takes none there. */
    uint64_t (*waited_ns)(const struct usage_seat *seat, uint32_t gpu);
    /* The seat has had this share of the GPU until now. */
    void (*shared)(const struct usage_seat *seat, uint32_t gpu, const struct time_share *share);
};

/* Texts and pointers are borrowed from its application and its process, which live longer. */
struct usage_seat {
    struct usage *room;
    const struct usage_seat_ops *ops;
    uint64_t tenant_number; /* in the store; 0: its name stands for it */
    const char *tenant;     /* as it is called now */
    const char *user, *program;
    const uint8_t *id; /* 16 bytes, of the application */
    enum isolation isolation;
    bool *counted; /* of the application: an account counts as its session */
    enum conf_driver driver;
    uint64_t taken_ns;    /* when */
    const bool *ready;    /* before, the figures are another application's */
    const uint64_t *gpus; /* GPU_SET_WORDS: that it has opened */
    /* Figures that its process writes: a stranger's. */
    const struct figures *figures;
    const struct figures_memory *memory; /* by GPU */
    const struct figures_times *times;
    /* Members of this room. */
    struct account *account;       /* NULL: there are none */
    struct seat_times *seat_times; /* of gpu_times.h; NULL: no memory */
};

#endif
