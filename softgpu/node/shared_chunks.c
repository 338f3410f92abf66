/* SPDX-License-Identifier: Apache-2.0 */
/* The holds of all processes lie in the segment, one list for each process, so that nobody takes
 * the places of another one. The count of a hold is right at any instant at which a process may be
 * killed, or counts twice until the dead one's holds are taken away. */
#include "softgpu/node/shared_chunks.h"

#include <assert.h>
#include <sys/random.h>

#include "softgpu/node/node_internal.h"

static uint16_t shared_number(const struct sg_node *node, const struct sg_node_device *device)
{
    return (uint16_t)(device - node->device + 1);
}

static uint32_t holds_of(const struct sg_node *node, uint32_t slot)
{
    uint32_t used = node->slot[slot].holds;
    return used < SG_NODE_HOLDS ? used : SG_NODE_HOLDS;
}

/* No chunks are more than there are. */
static uint64_t hold_chunks(const struct sg_node_device *device, const struct sg_node_hold *hold)
{
    return hold->chunks < device->key.chunks ? hold->chunks : device->key.chunks;
}

struct place {
    uint32_t slot, at;
};

static struct sg_node_hold *hold_at(struct sg_node *node, struct place place)
{
    return &node->hold[place.slot][place.at];
}

/* Another hold on the same chunks as `hold`: one that they count with, if there is one. */
static bool shared_hold_find(struct sg_node *node, const struct sg_node_hold *hold,
                             struct place *found)
{
    bool any = false;
    for (uint32_t s = 0; s < sg_node_slots(node); s++) {
        for (uint32_t i = 0; i < holds_of(node, s); i++) {
            const struct sg_node_hold *other = &node->hold[s][i];
            if (other == hold || other->device != hold->device || other->id != hold->id ||
                (any && other->counts == 0)) {
                continue;
            }
            *found = (struct place){s, i};
            if (other->counts != 0) {
                return true;
            }
            any = true;
        }
    }
    return any;
}

static void shared_hold_end(struct sg_node *node, struct sg_node_device *device, struct place place)
{
    struct sg_node_hold *hold = hold_at(node, place);
    struct place next;
    if (hold->counts != 0 && shared_hold_find(node, hold, &next)) {
        hold_at(node, next)->counts = 1; /* first: rather twice than not at all */
    } else if (hold->counts != 0) {
        uint64_t chunks = hold_chunks(device, hold);
        device->used -= device->used < chunks ? device->used : chunks;
    }
    *hold = (struct sg_node_hold){0};
    uint32_t used = holds_of(node, place.slot);
    while (used > 0 && node->hold[place.slot][used - 1].device == 0) {
        used--;
    }
    node->slot[place.slot].holds = used;
}

void sg_shared_chunks_reap(struct sg_node *node, struct sg_node_device *device, uint32_t slot)
{
    for (uint32_t i = holds_of(node, slot); i > 0; i--) {
        if (node->hold[slot][i - 1].device == shared_number(node, device)) {
            shared_hold_end(node, device, (struct place){slot, i - 1});
        }
    }
}

uint64_t sg_shared_chunks_count(const struct sg_node *node, const struct sg_node_device *device)
{
    uint64_t chunks = 0;
    for (uint32_t s = 0; s < sg_node_slots(node); s++) {
        for (uint32_t i = 0; i < holds_of(node, s); i++) {
            const struct sg_node_hold *hold = &node->hold[s][i];
            if (hold->device == shared_number(node, device) && hold->counts != 0) {
                chunks += hold_chunks(device, hold);
            }
        }
    }
    return chunks;
}

/* ---- this process's own */

static enum ga_status hold_begin(struct sg_node *node, const struct sg_node_hold *hold,
                                 struct sg_shared_chunks *shared)
{
    const uint32_t slot = sg_node_state.slot, used = holds_of(node, slot);
    uint32_t at = 0;
    while (at < used && node->hold[slot][at].device != 0) {
        at++;
    }
    if (at == SG_NODE_HOLDS) {
        return GA_NO_MEMORY;
    }
    shared->place = at;
    node->hold[slot][at] = *hold;
    node->slot[slot].holds = at < used ? used : at + 1;
    return GA_OK;
}

enum ga_status sg_shared_chunks_make(struct sg_node_device *device, uint32_t count,
                                     struct sg_shared_chunks *shared)
{
    struct sg_shared_chunks made = {.count = count, .own = true};
    if (getrandom(&made.id, sizeof made.id, 0) != (ssize_t)sizeof made.id) {
        return GA_NO_MEMORY;
    }
    made.id += made.id == 0;
    sg_node_lock();
    struct sg_node_own *own = sg_node_own_of(device);
    assert(own->held - own->shared >= count);
    struct sg_node *node = sg_node_state.node;
    const struct sg_node_hold hold = {
        .id = made.id, .chunks = count, .device = shared_number(node, device), .counts = 1};
    enum ga_status status = hold_begin(node, &hold, &made);
    if (status == GA_OK) {
        own->shared += count;
        sg_node_held_tell(device);
        *shared = made;
    }
    sg_node_unlock();
    return status;
}

enum ga_status sg_shared_chunks_join(struct sg_node_device *device, uint64_t id, uint32_t count,
                                     struct sg_shared_chunks *shared)
{
    struct sg_node *node = sg_node_state.node;
    struct sg_shared_chunks made = {.id = id, .count = count};
    struct sg_node_hold hold = {.id = id, .chunks = count};
    struct place other;
    sg_node_lock();
    hold.device = shared_number(node, device);
    bool others = shared_hold_find(node, &hold, &other);
    enum ga_status status = GA_NO_MEMORY;
    if (id != 0 && (others || sg_node_has_room(device, count))) {
        hold.counts = !others;
        status = hold_begin(node, &hold, &made);
    }
    if (status == GA_OK) {
        device->used += others ? 0 : count;
        *shared = made;
    }
    if (status == GA_OK && others && hold_at(node, other)->lingers != 0) {
        shared_hold_end(node, device, other);
    }
    sg_node_unlock();
    return status;
}

/* Where the hold is; false: somebody has written over it, or taken it over. With the lock. */
static bool own_place(const struct sg_node_device *device, const struct sg_shared_chunks *shared,
                      struct place *place)
{
    struct sg_node *node = sg_node_state.node;
    *place = (struct place){sg_node_state.slot, shared->place};
    const struct sg_node_hold *hold = hold_at(node, *place);
    return hold->id == shared->id && hold->device == shared_number(node, device);
}

void sg_shared_chunks_linger(struct sg_node_device *device, const struct sg_shared_chunks *shared)
{
    struct sg_node *node = sg_node_state.node;
    struct place place, other;
    sg_node_lock();
    if (own_place(device, shared, &place)) {
        struct sg_node_hold *hold = hold_at(node, place);
        if (shared_hold_find(node, hold, &other)) {
            shared_hold_end(node, device, place);
        } else {
            hold->lingers = 1;
        }
    }
    sg_node_unlock();
}

void sg_shared_chunks_leave(struct sg_node_device *device, struct sg_shared_chunks *shared)
{
    struct place place;
    if (shared->id == 0) {
        return;
    }
    sg_node_lock();
    if (own_place(device, shared, &place)) {
        shared_hold_end(sg_node_state.node, device, place);
    }
    if (shared->own) {
        struct sg_node_own *own = sg_node_own_of(device);
        own->held -= shared->count;
        own->shared -= shared->count;
        sg_node_held_tell(device);
    }
    sg_node_unlock();
    *shared = (struct sg_shared_chunks){0};
}
