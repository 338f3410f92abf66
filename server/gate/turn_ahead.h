/* SPDX-License-Identifier: Apache-2.0 */
/* How much work a session has submitted ahead of a GPU, by time. A work is expected to take as long
 * as the last ones of its kind: of the same kernel or graph, or of the same engine. Kinds have a
 * place in a small table; those that share one share what is expected of them.
 *
 * Works are submitted in batches, of which one has to be done before the next begins. A batch is
 * full when its works fill half of the horizon. A work longer than the horizon begins when nothing
 * else is in flight, and so does the first one of its kind.
 *
 * Submit thread only. */
#ifndef SERVER_GATE_TURN_AHEAD_H
#define SERVER_GATE_TURN_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "api/call_info.h"
#include "server/app/gate_state.h"

#define TURN_AHEAD_UNKNOWN UINT32_MAX

void turn_ahead_init(struct turn_ahead *ahead);

/* The kind of a work for the engine; `what`: the handle of the function or graph, 0: neither. */
static inline unsigned turn_ahead_kind(enum api_engine engine, uint64_t what)
{
    const unsigned functions = TURN_AHEAD_KINDS - API_ENGINE_BOTH - 1;
    return what != 0 ? (uint32_t)what % functions : functions + (unsigned)engine;
}

/* Whether a work fits into this batch, and is one of its works thereby. */
static inline bool turn_ahead_fits(struct turn_ahead *ahead, unsigned kind)
{
    if (ahead->expected_ns[kind] > ahead->left_ns) {
        return false;
    }
    ahead->left_ns -= ahead->expected_ns[kind];
    ahead->works[ahead->side][kind]++;
    return true;
}

/* Whether a batch may begin with such a work; `in_flight`: works of each side are not done. */
bool turn_ahead_may_begin(const struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns,
                          const bool in_flight[2]);
/* It begins, with this work, at the other side. The GPU has worked for so long; see `busy_ns`. */
void turn_ahead_begin(struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns,
                      const bool in_flight[2], uint64_t busy_ns);
/* The batch is full. */
void turn_ahead_end(struct turn_ahead *ahead);
/* The batch has room again, and takes this work: nobody knows when works end. The first ones of
 * their kind are expected to take a quarter of it. */
void turn_ahead_go_on(struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns);
/* The batch has room without bounds, and takes this work: nobody asks for turns. */
void turn_ahead_free(struct turn_ahead *ahead, unsigned kind);

#endif
