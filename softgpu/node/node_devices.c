/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a node, and how much of a device's memory each process holds. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "softgpu/node/node_internal.h"
#include "softgpu/node/shared_chunks.h"
#include "softgpu/node/time_slices.h"

/* How much memory it has, and what this process holds of it, the process knows by itself. */
struct sg_node_own *sg_node_own_of(const struct sg_node_device *device)
{
    return &sg_node_state.own[device - sg_node_state.node->device];
}

/* No process can hold more than there is. */
static uint64_t device_held(const struct sg_node_device *device, uint32_t slot)
{
    uint64_t held = device->process[slot].held, all = device->key.chunks;
    return device->process[slot].open == 0 ? 0 : held < all ? held : all;
}

void sg_node_device_count(const struct sg_node *node, struct sg_node_device *device)
{
    device->used = sg_shared_chunks_count(node, device);
    device->opened = 0;
    for (uint32_t s = 0; s < sg_node_slots(node); s++) {
        device->used += device_held(device, s);
        device->opened += device->process[s].open != 0;
    }
}

static bool work_of_slot(const void *slot, uint64_t id)
{
    return id >> SG_NODE_WORK_BITS == *(const uint32_t *)slot + UINT64_C(1);
}

static void work_forget(struct sg_node_device *device, uint32_t slot)
{
    union {
        struct model_flow flow;
        struct model_ledger ledger;
    } of;
    uint64_t now_ns = ga_clock_ns();
    model_flow_copy(&of.flow, &device->flow, now_ns);
    model_flow_forget(&of.flow, work_of_slot, &slot);
    model_flow_write(&device->flow, &of.flow);
    model_ledger_copy(&of.ledger, &device->ledger, now_ns);
    model_ledger_forget(&of.ledger, work_of_slot, &slot);
    model_ledger_write(&device->ledger, &of.ledger);
    device->departures++;
}

/* The slot whose process has given a piece of work this number. */
static uint32_t slot_of_work(uint64_t id)
{
    return (uint32_t)(id >> SG_NODE_WORK_BITS) - 1;
}

uint32_t sg_node_work_look(struct sg_node_device *device)
{
    uint32_t slots[MODEL_LEDGER_WORKS + MODEL_FLOW_WORKS], count = 0;
    for (uint32_t i = 0; i < device->ledger.count && i < MODEL_LEDGER_WORKS; i++) {
        slots[count++] = slot_of_work(device->ledger.works[i].id);
    }
    for (uint32_t i = 0; i < device->flow.count && i < MODEL_FLOW_WORKS; i++) {
        slots[count++] = slot_of_work(device->flow.works[i].id);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i] != sg_node_state.slot && (i == 0 || slots[i] != slots[i - 1])) {
            (void)sg_node_lives(slots[i]); /* one that does not loses what it has */
        }
    }
    return device->departures;
}

bool sg_node_work_is_mine(uint64_t id)
{
    return slot_of_work(id) == sg_node_state.slot;
}

void sg_node_device_leave(struct sg_node_device *device, uint32_t slot)
{
    sg_shared_chunks_reap(sg_node_state.node, device, slot);
    if (device->process[slot].open == 0) {
        return;
    }
    device->process[slot].held = 0;
    device->process[slot].open = 0;
    sg_node_device_count(sg_node_state.node, device);
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        sg_turn_drop(&device->engines[i], slot);
    }
    work_forget(device, slot);
}

static struct sg_node_device *device_find(struct sg_node *node, const struct sg_node_key *key)
{
    for (uint32_t d = 0; d < sg_node_devices(node); d++) {
        struct sg_node_device *device = &node->device[d];
        uint64_t mine = sg_node_state.own[d].chunks; /* if it says so still */
        if (device->opened != 0 && memcmp(&device->key, key, sizeof *key) == 0 &&
            (mine == 0 || mine == key->chunks)) {
            return device;
        }
    }
    return NULL;
}

/* A free place. One that this process has open is none, whatever the segment says. */
static struct sg_node_device *device_place_find(struct sg_node *node)
{
    for (uint32_t d = 0; d < sg_node_devices(node); d++) {
        if (node->device[d].opened == 0 && sg_node_state.own[d].chunks == 0) {
            return &node->device[d];
        }
    }
    for (uint32_t d = sg_node_devices(node); d < SG_NODE_DEVICES; d++) {
        if (sg_node_state.own[d].chunks == 0) {
            node->devices = d + 1;
            return &node->device[d];
        }
    }
    return NULL;
}

static struct sg_node_device *node_device_place(struct sg_node *node)
{
    struct sg_node_device *place = device_place_find(node);
    if (place == NULL) {
        sg_node_sweep(node);
        place = device_place_find(node);
    }
    return place;
}

enum ga_status sg_node_device_open(const struct sg_node_key *key, struct sg_node_device **device)
{
    struct sg_node *node = sg_node_state.node;
    sg_node_lock();
    struct sg_node_device *found = device_find(node, key);
    if (found == NULL) {
        const uint32_t used_before = sg_node_devices(node);
        found = node_device_place(node);
        if (found != NULL && found < &node->device[used_before]) {
            memset(found, 0, sizeof *found); /* else it is new, and takes no memory */
        }
        if (found != NULL) {
            found->key = *key;
        }
    }
    if (found != NULL) {
        found->process[sg_node_state.slot].open = 1;
        sg_node_device_count(node, found);
        sg_node_own_of(found)->chunks = key->chunks;
    }
    sg_node_unlock();
    if (found == NULL) {
        return GA_NO_MEMORY;
    }
    *device = found;
    return GA_OK;
}

void sg_node_device_close(struct sg_node_device *device)
{
    sg_node_lock();
    sg_node_device_leave(device, sg_node_state.slot);
    *sg_node_own_of(device) = (struct sg_node_own){0};
    sg_node_unlock();
}

/* The chunks that nobody holds, as the segment says, but no more than this process does not hold.
 */
static uint64_t device_free(const struct sg_node_device *device)
{
    const struct sg_node_own *own = sg_node_own_of(device);
    uint64_t used = device->used > own->held ? device->used : own->held;
    return used < own->chunks ? own->chunks - used : 0;
}

void sg_node_held_tell(struct sg_node_device *device)
{
    const struct sg_node_own *own = sg_node_own_of(device);
    device->process[sg_node_state.slot].open = 1;
    device->process[sg_node_state.slot].held = (uint32_t)(own->held - own->shared);
}

/* Gives back the chunks of dead processes, and counts anew. With the lock. */
static void device_sweep(struct sg_node_device *device, bool thorough)
{
    if (thorough) {
        sg_node_sweep(sg_node_state.node);
    }
    for (uint32_t s = 0; s < sg_node_slots(sg_node_state.node); s++) {
        if (device->process[s].open != 0) {
            (void)sg_node_lives(s);
        }
    }
    sg_node_held_tell(device);
    sg_node_device_count(sg_node_state.node, device);
}

bool sg_node_has_room(struct sg_node_device *device, uint64_t chunks)
{
    for (unsigned look = 0; look < 2 && chunks > device_free(device); look++) {
        device_sweep(device, look != 0);
    }
    return chunks <= device_free(device);
}

enum ga_status sg_node_take(struct sg_node_device *device, uint64_t chunks)
{
    struct sg_node_own *own = sg_node_own_of(device);
    sg_node_lock();
    bool room = sg_node_has_room(device, chunks);
    if (room) {
        own->held += chunks;
        sg_node_held_tell(device); /* before `used`: see repair() */
        device->used += chunks;
    }
    sg_node_unlock();
    return room ? GA_OK : GA_NO_MEMORY;
}

void sg_node_give(struct sg_node_device *device, uint64_t chunks)
{
    struct sg_node_own *own = sg_node_own_of(device);
    assert(own->held - own->shared >= chunks);
    sg_node_lock();
    own->held -= chunks;
    sg_node_held_tell(device);
    device->used -= device->used < chunks ? device->used : chunks;
    sg_node_unlock();
}

uint64_t sg_node_held(struct sg_node_device *device)
{
    sg_node_lock();
    uint64_t chunks = sg_node_own_of(device)->held;
    sg_node_unlock();
    return chunks;
}

uint64_t sg_node_free(struct sg_node_device *device)
{
    sg_node_lock();
    device_sweep(device, false);
    uint64_t chunks = device_free(device);
    sg_node_unlock();
    return chunks;
}
