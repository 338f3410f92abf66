/* SPDX-License-Identifier: Apache-2.0 */
/* Time slices of processes on an engine. Alone, a process takes and releases the engine with one
 * atomic exchange each. If others want it they enter a queue, and the process that has the turn
 * gives way when its slice is over (kernels do so between instructions) or when it has nothing more
 * to run there. A process that does not give way, because it is stopped, dead or within something
 * that cannot be interrupted, loses its turn. */
#include "softgpu/node/time_slices.h"

#include "softgpu/node/node.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "softgpu/spin.h"

#define SLICE_NS   (2 * GA_NS_PER_MS)
#define OVERDUE_NS (50 * GA_NS_PER_MS)

static uint32_t owner_self(void)
{
    return sg_node_self() + 1;
}

static bool slice_over(const struct sg_node_engine *engine)
{
    return ga_clock_ns() - atomic_load(&engine->since_ns) >= SLICE_NS;
}

bool sg_turn_begin(struct sg_node_engine *engine)
{
    if (atomic_load(&engine->waiting) != 0) {
        return false;
    }
    uint32_t owner = 0;
    return atomic_compare_exchange_strong(&engine->owner, &owner, owner_self()) ||
           owner == owner_self();
}

/* ---- the line; with the node's lock ---- */

/* How long the line can be, whatever the segment says. */
static uint32_t line_length(const struct sg_node_engine *engine)
{
    uint32_t count = atomic_load(&engine->waiting);
    return count < SG_NODE_PROCESSES ? count : SG_NODE_PROCESSES;
}

static uint32_t slices_line_find(const struct sg_node_engine *engine, uint32_t slot)
{
    uint32_t at = 0, count = line_length(engine);
    while (at < count && engine->line[at] != slot) {
        at++;
    }
    return at;
}

static void line_enter(struct sg_node_engine *engine, uint32_t slot)
{
    uint32_t count = line_length(engine);
    if (count < SG_NODE_PROCESSES && slices_line_find(engine, slot) == count) {
        if (count == 0) { /* the process that has the turn has one slice from now on */
            atomic_store(&engine->since_ns, ga_clock_ns());
        }
        engine->line[count] = (uint16_t)slot;
        atomic_store(&engine->waiting, count + 1);
    }
}

static void line_leave(struct sg_node_engine *engine, uint32_t slot)
{
    uint32_t count = line_length(engine), kept = 0;
    if (slices_line_find(engine, slot) == count) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint16_t at = engine->line[i];
        engine->line[kept] = at;
        kept += at != slot;
    }
    atomic_store(&engine->waiting, kept);
}

/* Passes the turn from `owner`, which may be nobody, to the first in the queue, and skips dead
 * processes. Does nothing if another process was faster. */
static void pass_on(struct sg_node_engine *engine, uint32_t owner)
{
    uint32_t next = 0, length = line_length(engine);
    for (uint32_t i = 0; i < length && next == 0 && atomic_load(&engine->waiting) != 0; i++) {
        uint32_t slot = engine->line[0];
        if (sg_node_lives(slot)) {
            next = slot + 1;
        } else {
            line_leave(engine, slot);
        }
    }
    atomic_store(&engine->since_ns, ga_clock_ns());
    if (!atomic_compare_exchange_strong(&engine->owner, &owner, next)) {
        return;
    }
    if (next != 0) {
        line_leave(engine, next - 1); /* after it has the turn: see sg_turn_end */
    }
    (void)syscall(SYS_futex, &engine->owner, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void sg_turn_drop(struct sg_node_engine *engine, uint32_t slot)
{
    line_leave(engine, slot);
    uint32_t owner = slot + 1;
    (void)atomic_compare_exchange_strong(&engine->owner, &owner, 0);
}

/* ---- waiting ---- */

/* Whether the process that has the turn has lost it. */
static bool owner_lost(const struct sg_node_engine *engine, uint32_t owner)
{
    return owner == 0 || !sg_node_lives(owner - 1) ||
           ga_clock_ns() - atomic_load(&engine->since_ns) >= OVERDUE_NS;
}

/* Enters the queue and keeps it moving. True: this process has the turn. */
static bool line_stand(struct sg_node_engine *engine)
{
    sg_node_lock();
    uint32_t owner = atomic_load(&engine->owner);
    if (owner == owner_self() && atomic_load(&engine->waiting) != 0 && slice_over(engine)) {
        line_enter(engine, sg_node_self());
        pass_on(engine, owner);
    } else if (owner != owner_self()) {
        line_enter(engine, sg_node_self());
        if (owner_lost(engine, owner)) {
            pass_on(engine, atomic_load(&engine->owner)); /* releases the turn of a dead process */
        }
    }
    bool mine = atomic_load(&engine->owner) == owner_self();
    sg_node_unlock();
    return mine;
}

void sg_turn_wait(struct sg_node_engine *engine, const _Atomic int *stop)
{
    static struct sg_spin spin;
    const struct timespec slice = {.tv_nsec = (long)SLICE_NS};
    if (atomic_load(&engine->owner) == owner_self() &&
        (atomic_load(&engine->waiting) == 0 || !slice_over(engine))) {
        return;
    }
    while (!line_stand(engine) && atomic_load(stop) == 0) {
        uint32_t owner = atomic_load(&engine->owner);
        if (owner == owner_self() || sg_spin_while(&spin, &engine->owner, owner)) {
            continue;
        }
        (void)syscall(SYS_futex, &engine->owner, FUTEX_WAIT, owner, &slice, NULL, 0);
    }
}

void sg_turn_end(struct sg_node_engine *engine)
{
    uint32_t owner = owner_self();
    (void)atomic_compare_exchange_strong(&engine->owner, &owner, 0);
    if (atomic_load(&engine->waiting) == 0 && atomic_load(&engine->owner) != owner_self()) {
        return;
    }
    sg_node_lock();
    line_leave(engine, sg_node_self()); /* it was told to stop while it was in the queue */
    owner = atomic_load(&engine->owner);
    if (owner == 0 || owner == owner_self()) {
        pass_on(engine, owner);
    }
    sg_node_unlock();
}
