/* SPDX-License-Identifier: Apache-2.0 */
/* For how long each seat has used each GPU, where several use it at a time: gpuaasd reads when the
 * engines have worked for each (struct figures_times), and divides the time that they have in
 * common (time_shares.h).
 *
 * A time is divided as soon as all that use the GPU have looked what they have done until then, or
 * after 300 ms. A process that has not reported by then is assumed to do what it did at its last
 * report; if it says otherwise later, that is set off against what it uses next. Other work that is
 * told later counts as if it was done later. When a seat ends, all until then is divided; of what
 * it has told late as much counts as there was time that others do not pay for.
 *
 * What a seat tells is a stranger's: no more than there was in all is divided, and a seat that has
 * told of more work than it had pays for it. gpuaasd's loop only. */
#ifndef SERVER_USAGE_GPU_TIMES_H
#define SERVER_USAGE_GPU_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "conf/conf.h"
#include "server/timers.h"
#include "server/usage/time_shares.h"

struct seat_times;
struct usage;
struct usage_seat;

struct gpu_times {
    struct ga_list seats;                     /* struct seat_times */
    struct time_shares shares[CONF_GPUS_MAX]; /* by the index in the list that clients see */
    uint64_t looked_ns;
    struct server_timer timer; /* while there are seats */
};

/* The time of a GPU that a seat has used. */
struct gpu_times_use {
    const struct time_share *share;
    enum gpu_phase phase; /* when that was read */
};

void gpu_times_init(struct usage *usage);
/* There are no seats any more, or it is a hurried end. */
void gpu_times_fini(struct usage *usage);
void gpu_times_seat_taken(struct usage_seat *seat);
/* Its process is dead, or has ended the application: all that it has used until now is divided. */
void gpu_times_seat_ends(struct usage_seat *seat);
void gpu_times_seat_ended(struct usage_seat *seat);
/* Reads what all have told. */
void gpu_times_look(struct usage *usage);
/* As of the last look. False: the row is not used; or with no memory. */
bool gpu_times_of(const struct usage_seat *seat, uint32_t row, struct gpu_times_use *use);

#endif
