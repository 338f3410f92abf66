/* SPDX-License-Identifier: Apache-2.0 */
/* The timers of the rooms, on the loop of gpuaasd and the clock of the machine. A timer of libuv
 * wakes the loop for the one that is due next; those that are due are called when the loop has
 * called all whose sockets and processes have something, since libuv would call timers first. None
 * of the three handles keeps the loop. */
#ifndef SERVER_GPUAASD_LOOP_TIMERS_H
#define SERVER_GPUAASD_LOOP_TIMERS_H

#include <uv.h>

#include "server/timers.h"

struct loop_timers {
    struct server_timers timers;
    uv_timer_t next;
    uv_idle_t at_once; /* the loop does not wait */
    uv_check_t turn;
};

void loop_timers_init(struct loop_timers *loop_timers, uv_loop_t *loop);
/* Calls those that are due a last time. */
void loop_timers_fini(struct loop_timers *loop_timers);

#endif
