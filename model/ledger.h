/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline (timeline.h) that remembers what has been placed on it, so that work can be taken out
 * again: of a process that is dead. Work that was placed behind it moves forward. Plain data of a
 * fixed size, all zeros at first, so that processes can share it (the caller holds the lock that
 * guards it).
 *
 * Work that has begun never moves, nor does work whose owner would not ask again when it ends
 * (`moves`). Time is the caller's (ns). */
#ifndef MODEL_LEDGER_H
#define MODEL_LEDGER_H

#include "model/timeline.h"

#define MODEL_LEDGER_WORKS 128

struct model_placed {
    uint64_t id;      /* the caller's, not 0 */
    uint64_t context; /* not 0 */
    uint32_t engine;  /* enum gpu_engine */
    uint32_t moves;   /* 1: it stays here until it is taken out; 0: until it has ended */
    struct model_demand demand;
    uint64_t ready_ns, start_ns, end_ns;
};

struct model_ledger {
    struct model_timeline line;
    uint64_t unlisted_ns; /* work for which there was no room here ends then, at the latest */
    uint32_t count, gaps; /* gaps: not 0: work has been taken out, and nothing moved yet */
    struct model_placed works[MODEL_LEDGER_WORKS]; /* in the order in which they were placed */
};

/* A copy of a ledger that anybody may have written to: it is well-formed, and nothing there lasts
 * longer than MODEL_TIMELINE_AHEAD_NS from now on; else it is a new one. */
void model_ledger_copy(struct model_ledger *to, const struct model_ledger *from, uint64_t now_ns);
/* The other way: only what is used is written. */
void model_ledger_write(struct model_ledger *to, const struct model_ledger *from);

/* Places work (model_timeline_place). Returns its place here; NULL: there was no room, and it does
 * not move. */
struct model_placed *model_ledger_place(struct model_ledger *ledger,
                                        const struct soft_device *device, uint64_t id,
                                        enum gpu_engine engine, uint64_t context,
                                        const struct model_demand *demand, uint64_t ready_ns,
                                        uint64_t now_ns, struct model_period *period);
/* The work with this id; NULL: there is none. */
struct model_placed *model_ledger_find(struct model_ledger *ledger, uint64_t id);
/* Takes a piece of work out that has ended. */
void model_ledger_take(struct model_ledger *ledger, struct model_placed *ended);
/* Forgets all work of which `gone(data, id)` is true, whether it has ended or not. */
void model_ledger_forget(struct model_ledger *ledger, bool (*gone)(const void *data, uint64_t id),
                         const void *data);
/* Moves what has not begun to where it would be without what has been forgotten, but not before
 * now. */
void model_ledger_settle(struct model_ledger *ledger, const struct soft_device *device,
                         uint64_t now_ns);

#endif
