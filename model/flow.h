/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a device's engines as it flows: like a timeline (timeline.h), but the end of a piece
 * of work moves when other work begins or ends, so that contexts can share the device by slices of
 * time. Plain data of a fixed size, all zeros at first, so that processes can share it (the caller
 * holds the lock that guards it) and a simulator can hold ten thousand of them.
 *
 * Rules. Kernels of the context that owns the device run at the same time; each, in the order in
 * which they were added, takes what those before it leave of each resource, and goes on at that
 * rate. Copies of a direction go one after the other; with one copy engine those of both do. Other
 * contexts wait:
 * - without slices (`context_slice_ns` 0) until all work ended that was added before theirs;
 * - with slices, while the owner's slice lasts, then the next context with work is the owner; the
 *   order is that of the contexts' numbers, around. A copy that has begun is not interrupted.
 * A change of the owner costs `switch_ns`. Copies need the device only if the device has no
 * `overlap_contexts`. Applications that are packed into one context have one number.
 *
 * Time is the caller's (ns), and never goes back. */
#ifndef MODEL_FLOW_H
#define MODEL_FLOW_H

#include "base/status.h"
#include "model/timeline.h"

#define MODEL_FLOW_WORKS 128
#define MODEL_NEVER      UINT64_MAX

enum model_work_state {
    MODEL_WORK_WAITS, /* for the device, an engine, or others' resources */
    MODEL_WORK_RUNS,
    MODEL_WORK_ENDED, /* until it is taken out */
    MODEL_WORK_STATES
};

struct model_work {
    uint64_t id;             /* the caller's, of all work in a flow at a time */
    uint64_t context;        /* not 0 */
    uint32_t engine;         /* enum gpu_engine */
    uint32_t state;          /* enum model_work_state */
    uint32_t begun;          /* 1: it has a start */
    double lead_ns, left_ns; /* what is left of its demand, if it had the device for itself */
    double rate;             /* at which one of them becomes less now; 0: it waits */
    double share[MODEL_RESOURCES];
    uint64_t start_ns, end_ns; /* once it has begun, and ended */
};

struct model_flow {
    uint64_t now_ns;               /* up to which it has flowed */
    uint64_t next_ns;              /* of the next change; MODEL_NEVER: only with new work */
    uint64_t settled_ns;           /* at which what is left of all work was computed */
    uint64_t owner;                /* the context that has the device; 0: none so far */
    uint64_t owner_ns;             /* no work of the owner begins before */
    uint64_t slice_ns;             /* its slice ends then */
    uint64_t busy_ns[GPU_ENGINES]; /* of each engine (enum gpu_engine), until settled_ns */
    uint32_t count, ended;         /* works, and how many of them have ended */
    struct model_work works[MODEL_FLOW_WORKS]; /* in the order in which they were added */
};

/* A copy of a flow that anybody may have written to: it is well-formed, nothing on it lasts longer
 * than MODEL_TIMELINE_AHEAD_NS, and it has flowed in the last MODEL_FLOW_STALE_NS, so that going on
 * takes a bounded time; else it is a new one. */
#define MODEL_FLOW_STALE_NS (60 * UINT64_C(1000000000))
void model_flow_copy(struct model_flow *to, const struct model_flow *from, uint64_t now_ns);

/* The other way: only what is used is written. */
void model_flow_write(struct model_flow *to, const struct model_flow *from);

/* Lets it flow until `now_ns`, which is not before now_ns of before. */
void model_flow_advance(struct model_flow *flow, const struct soft_device *device, uint64_t now_ns);
/* Adds work that is ready now (flow->now_ns). GA_NO_MEMORY: there is no room. */
GA_CHECKED enum ga_status model_flow_add(struct model_flow *flow, const struct soft_device *device,
                                         uint64_t id, uint64_t context, enum gpu_engine engine,
                                         const struct model_demand *demand);
/* Takes a piece of work out that has ended: the one with this id, or (0) the one that was added
 * first. False: there is none. */
bool model_flow_take(struct model_flow *flow, uint64_t id, struct model_work *ended);
/* When the work with this id ends, if none is added before; its start, if it has begun then. It
 * looks ahead only so many changes and so long: work that ends later has an end_ns at which to ask
 * again. False: there is no such work. */
#define MODEL_FLOW_CHANGES  512
#define MODEL_FLOW_AHEAD_NS (10 * UINT64_C(1000000000))
bool model_flow_foresee(const struct model_flow *flow, const struct soft_device *device,
                        uint64_t id, struct model_period *period);
/* Forgets all work of which `gone(data, id)` is true; what waits for it goes on from now_ns. */
void model_flow_forget(struct model_flow *flow, bool (*gone)(const void *data, uint64_t id),
                       const void *data);

#endif
