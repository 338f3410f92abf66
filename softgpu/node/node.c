/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and devices of a node, and how much of a device's memory each process holds. */
#include "softgpu/node/node.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "softgpu/node/node_lock.h"
#include "softgpu/node/time_slices.h"

_Static_assert(SG_NODE_PROCESSES <= UINT16_MAX, "a line holds 16 bits for each");

#define NO_SLOT UINT32_MAX

static struct {
    struct sg_node *node;
    uint32_t slot;
    pthread_t keeper;
    sem_t claimed, end;
} self;

/* Repairs the state after a process was killed at any instruction. The chunks that each process
 * holds are right by themselves, and their sum is what all hold. A queue may have lost a process,
 * which will enter it again. Timelines begin anew: work under way may then be timed as if it had
 * the device for itself. */
static void repair(struct sg_node *node)
{
    for (uint32_t d = 0; d < node->devices; d++) {
        struct sg_node_device *device = &node->device[d];
        device->used = 0;
        device->opened = 0;
        memset(&device->timeline, 0, sizeof device->timeline);
        for (uint32_t s = 0; s < node->slots; s++) {
            device->used += device->process[s].held;
            device->opened += device->process[s].open != 0;
        }
    }
}

void sg_node_lock(void)
{
    if (sg_node_lock_take(self.node) == EOWNERDEAD) {
        repair(self.node);
        pthread_mutex_consistent(&self.node->lock);
    }
}

void sg_node_unlock(void)
{
    pthread_mutex_unlock(&self.node->lock);
}

uint32_t sg_node_self(void)
{
    return self.slot;
}

const struct sg_node_slot *sg_node_slot_at(uint32_t slot)
{
    return slot < SG_NODE_PROCESSES ? &self.node->slot[slot] : NULL;
}

uint64_t sg_node_id(void)
{
    return self.node->id;
}

uint64_t sg_node_process(void)
{
    return (uint64_t)self.node->slot[self.slot].generation << 32 | self.slot;
}

bool sg_node_process_lives(uint64_t process)
{
    uint32_t slot = (uint32_t)process;
    return sg_node_lives(slot) && self.node->slot[slot].generation == process >> 32;
}

struct sg_node_slot *sg_node_own_slot(void)
{
    return &self.node->slot[self.slot];
}

static struct sg_node_event *event_place(struct sg_node *node)
{
    for (uint32_t i = 0; i < SG_NODE_EVENTS; i++) {
        if (atomic_load(&node->event[i].id) == 0) {
            return &node->event[i];
        }
    }
    return NULL;
}

struct sg_node_event *sg_node_event_make(void)
{
    struct sg_node *node = self.node;
    assert(node != NULL); /* the node is open */
    struct sg_node_event *event = event_place(node);
    if (event == NULL) {
        for (uint32_t s = 0; s < node->slots; s++) {
            (void)sg_node_lives(s); /* frees the events of dead processes */
        }
        event = event_place(node);
    }
    if (event != NULL) {
        atomic_store(&event->recorded, 0);
        atomic_store(&event->done, 0);
        event->owner = self.slot;
        atomic_store(&event->id, ++node->last_event);
    }
    return event;
}

struct sg_node_event *sg_node_event_at(uint32_t index, uint64_t id)
{
    struct sg_node_event *event = index < SG_NODE_EVENTS ? &self.node->event[index] : NULL;
    return event != NULL && id != 0 && atomic_load(&event->id) == id ? event : NULL;
}

uint32_t sg_node_event_index(const struct sg_node_event *event)
{
    return (uint32_t)(event - self.node->event);
}

static void device_leave(struct sg_node_device *device, uint32_t slot)
{
    if (device->process[slot].open == 0) {
        return;
    }
    device->used -= device->process[slot].held;
    device->process[slot].held = 0;
    device->process[slot].open = 0;
    device->opened--;
    for (unsigned i = 0; i < SG_NODE_ENGINES; i++) {
        sg_turn_drop(&device->engines[i], slot);
    }
}

static void slot_reap(struct sg_node *node, uint32_t slot)
{
    for (uint32_t d = 0; d < node->devices; d++) {
        device_leave(&node->device[d], slot);
    }
    for (uint32_t i = 0; i < SG_NODE_EVENTS; i++) {
        if (node->event[i].owner == slot) {
            atomic_store(&node->event[i].id, 0);
        }
    }
}

/* True: the calling thread holds `life` now. */
static bool life_take(struct sg_node *node, uint32_t slot)
{
    pthread_mutex_t *life = &node->slot[slot].life;
    int rc = pthread_mutex_trylock(life);
    if (rc == EOWNERDEAD) {
        slot_reap(node, slot);
        pthread_mutex_consistent(life);
    }
    return rc == 0 || rc == EOWNERDEAD;
}

bool sg_node_lives(uint32_t slot)
{
    if (slot >= self.node->slots) {
        return false;
    }
    if (slot != self.slot && life_take(self.node, slot)) {
        pthread_mutex_unlock(&self.node->slot[slot].life);
        return false;
    }
    return true;
}

/* ---- this process's slot ---- */

static uint32_t slot_claim(struct sg_node *node)
{
    for (uint32_t slot = 0; slot < SG_NODE_PROCESSES; slot++) {
        if (slot == node->slots) {
            sg_node_mutex_init(&node->slot[slot].life);
            node->slots++;
        }
        if (life_take(node, slot)) {
            node->slot[slot].pid = getpid();
            node->slot[slot].generation++;
            node->slot[slot].memory_fd = -1;
            node->slot[slot].exports_fd = -1;
            return slot;
        }
    }
    return NO_SLOT;
}

static void node_wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static void *keeper_main(void *unused)
{
    (void)unused;
    sg_node_lock();
    self.slot = slot_claim(self.node);
    sg_node_unlock();
    sem_post(&self.claimed);
    node_wait_for(&self.end);
    if (self.slot != NO_SLOT) {
        sg_node_lock();
        slot_reap(self.node, self.slot);
        pthread_mutex_unlock(&self.node->slot[self.slot].life);
        sg_node_unlock();
    }
    return NULL;
}

static enum ga_status keeper_start(void)
{
    sem_init(&self.claimed, 0, 0);
    sem_init(&self.end, 0, 0);
    GA_TRY(ga_thread_start(&self.keeper, keeper_main, NULL));
    node_wait_for(&self.claimed);
    return GA_OK;
}

static enum ga_status node_join(const char *name)
{
    const char *why = "";
    if (name != NULL && strlen(name) >= SG_NODE_NAME_BYTES) {
        ga_error("softgpu: SOFTGPU_NODE is longer than %d bytes", SG_NODE_NAME_BYTES - 1);
        return GA_INVALID;
    }
    bool own = name != NULL && strcmp(name, SG_NODE_SELF) == 0;
    if (!own && sg_node_attach(name != NULL ? name : "", &self.node, &why) != GA_OK) {
        ga_warn("softgpu: %s: other processes have devices of their own", why);
        own = true;
    }
    if (own && sg_node_make_own(&self.node, &why) != GA_OK) {
        ga_error("softgpu: the state of the devices: %s", why);
        return GA_NO_MEMORY;
    }
    return GA_OK;
}

enum ga_status sg_node_open(const char *name)
{
    GA_TRY(node_join(name));
    if (keeper_start() != GA_OK) {
        ga_error("softgpu: cannot start a thread");
        sg_node_detach(self.node);
        self.node = NULL;
        return GA_NO_MEMORY;
    }
    if (self.slot == NO_SLOT) {
        ga_error("softgpu: %d processes use the GPUs of this node already, and there can be no "
                 "more; SOFTGPU_NODE chooses another node",
                 SG_NODE_PROCESSES);
        sg_node_close();
        return GA_NO_MEMORY;
    }
    return GA_OK;
}

void sg_node_close(void)
{
    if (self.node != NULL) {
        sem_post(&self.end);
        pthread_join(self.keeper, NULL);
        sem_destroy(&self.end);
        sem_destroy(&self.claimed);
        sg_node_detach(self.node);
        self.node = NULL;
    }
}

/* ---- devices ---- */

static struct sg_node_device *device_find(struct sg_node *node, const struct sg_node_key *key)
{
    for (uint32_t d = 0; d < node->devices; d++) {
        struct sg_node_device *device = &node->device[d];
        if (device->opened != 0 && memcmp(&device->key, key, sizeof *key) == 0) {
            return device;
        }
    }
    return NULL;
}

/* A zeroed free place; if there seems to be none, dead processes are looked for first. */
static struct sg_node_device *device_place(struct sg_node *node)
{
    for (int look = 0; look < 2; look++) {
        for (uint32_t d = 0; d < node->devices; d++) {
            if (node->device[d].opened == 0) {
                memset(&node->device[d], 0, sizeof node->device[d]);
                return &node->device[d];
            }
        }
        if (node->devices < SG_NODE_DEVICES) {
            return &node->device[node->devices++];
        }
        for (uint32_t s = 0; s < node->slots; s++) {
            (void)sg_node_lives(s);
        }
    }
    return NULL;
}

enum ga_status sg_node_device_open(const struct sg_node_key *key, struct sg_node_device **device)
{
    struct sg_node *node = self.node;
    sg_node_lock();
    struct sg_node_device *found = device_find(node, key);
    if (found == NULL) {
        found = device_place(node);
        if (found != NULL) {
            found->key = *key;
        }
    }
    if (found != NULL && found->process[self.slot].open == 0) {
        found->process[self.slot].open = 1;
        found->opened++;
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
    device_leave(device, self.slot);
    sg_node_unlock();
}

/* Gives back the chunks of dead processes. With the lock. */
static void device_sweep(const struct sg_node_device *device)
{
    for (uint32_t s = 0; s < self.node->slots; s++) {
        if (device->process[s].open != 0) {
            (void)sg_node_lives(s);
        }
    }
}

static uint64_t device_free(const struct sg_node_device *device)
{
    return device->key.chunks - device->used;
}

enum ga_status sg_node_take(struct sg_node_device *device, uint64_t chunks)
{
    sg_node_lock();
    if (chunks > device_free(device)) {
        device_sweep(device);
    }
    bool room = chunks <= device_free(device);
    if (room) {
        device->process[self.slot].held += (uint32_t)chunks; /* before `used`: see repair() */
        device->used += chunks;
    }
    sg_node_unlock();
    return room ? GA_OK : GA_NO_MEMORY;
}

void sg_node_give(struct sg_node_device *device, uint64_t chunks)
{
    sg_node_lock();
    assert(device->process[self.slot].held >= chunks);
    device->process[self.slot].held -= (uint32_t)chunks;
    device->used -= chunks;
    sg_node_unlock();
}

uint64_t sg_node_free(struct sg_node_device *device)
{
    sg_node_lock();
    device_sweep(device);
    uint64_t chunks = device_free(device);
    sg_node_unlock();
    return chunks;
}
