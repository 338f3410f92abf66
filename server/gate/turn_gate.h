/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a session under a policy: its calls go through while it has a turn on the GPU
 * (server/grants.h). It asks for one when a call needs it, and returns it when its time is over, or
 * when it has nothing to do for a while. Before that it waits for the work that it has submitted,
 * so that the next one finds the GPU free. It does not wait for work that stands still, which may
 * wait for a later call of the program.
 *
 * Work is submitted ahead of the GPU for about `horizon_ns` at most (turn_ahead.h).
 *
 * Note: a session in whose turn nobody else waits (GRANT_ALONE) passes with two comparisons. */
#ifndef SERVER_GATE_TURN_GATE_H
#define SERVER_GATE_TURN_GATE_H

#include <stdint.h>

#include "server/app/gate_state.h"
#include "server/grants.h"

/* For a new session. Everything is borrowed; `request` and `grant` may be those of an earlier
 * session of the same place. */
void turn_gate_init(struct turn_gate *gate, struct grant_request *request,
                    const struct grant *grant, const struct gate_bell *bell, uint32_t ordinal);

#endif
