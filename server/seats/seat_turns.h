/* SPDX-License-Identifier: Apache-2.0 */
/* The seat of an application, as far as its sessions take turns on the GPUs. `gpu` is an index into
 * the list that clients see. */
#ifndef SERVER_SEATS_SEAT_TURNS_H
#define SERVER_SEATS_SEAT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct scheduler_session;
struct seat;

/* Its application may open this GPU: a session on it needs turns, if there is a policy. */
GA_CHECKED enum ga_status seat_session_begin(struct seat *seat, uint32_t gpu);
/* Reads the scheduler's facts about it there. False: it takes no turns. */
bool seat_turns_look(const struct seat *seat, uint32_t gpu, struct scheduler_session *session);

#endif
