/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a node. */
#include "softgpu/node/node.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "softgpu/node/node_internal.h"

_Static_assert(SG_NODE_PROCESSES <= UINT16_MAX, "a line holds 16 bits for each");

struct sg_node_state sg_node_state;

static struct {
    pthread_t thread;
    sem_t claimed, end;
} keeper;

/* Repairs the state after a process was killed at any instruction. The chunks that each process
 * holds are right by themselves, and their sum is what all hold. A queue may have lost a process,
 * which will enter it again. Timelines begin anew: work under way may then be timed as if it had
 * the device for itself. */
static void repair(struct sg_node *node)
{
    for (uint32_t d = 0; d < sg_node_devices(node); d++) {
        sg_node_device_count(node, &node->device[d]);
        memset(&node->device[d].ledger, 0, sizeof node->device[d].ledger);
        memset(&node->device[d].flow, 0, sizeof node->device[d].flow);
        node->device[d].departures++;
    }
}

/* If somebody has made the others believe that this process is not there, it says that it is. */
static void self_tell(struct sg_node *node)
{
    uint32_t slot = sg_node_state.slot;
    if (slot == SG_NODE_NO_SLOT) {
        return;
    }
    if (node->slots <= slot) {
        node->slots = slot + 1;
    }
    uint32_t keeper_said = atomic_load(&node->slot[slot].keeper);
    if (keeper_said != sg_node_state.keeper && !sg_node_thread_lives(keeper_said)) {
        atomic_store(&node->slot[slot].keeper, sg_node_state.keeper);
    }
}

void sg_node_lock(void)
{
    if (!sg_node_lock_take(sg_node_state.node)) {
        repair(sg_node_state.node);
    }
    self_tell(sg_node_state.node);
}

void sg_node_unlock(void)
{
    sg_node_lock_release(sg_node_state.node);
}

uint32_t sg_node_self(void)
{
    return sg_node_state.slot;
}

uint64_t sg_node_id(void)
{
    return sg_node_state.id;
}

uint64_t sg_node_work_id(void)
{
    return (uint64_t)(sg_node_state.slot + 1) << SG_NODE_WORK_BITS |
           (++sg_node_state.works & ((UINT64_C(1) << SG_NODE_WORK_BITS) - 1));
}

/* ---- life and death */

void sg_node_slot_reap(struct sg_node *node, uint32_t slot)
{
    for (uint32_t d = 0; d < sg_node_devices(node); d++) {
        sg_node_device_leave(&node->device[d], slot);
    }
}

/* `thorough`: it is also looked whether the thread is the one that has taken the slot. */
static bool slot_is_dead(const struct sg_node *node, uint32_t slot, bool thorough)
{
    uint32_t thread = atomic_load(&node->slot[slot].keeper);
    if (!sg_node_thread_lives(thread)) {
        return true;
    }
    uint64_t born = thorough ? sg_node_thread_born(thread) : 0;
    return born != 0 && node->slot[slot].born != 0 && node->slot[slot].born != born;
}

/* True: the slot has no process, and nothing of one. With the lock. */
static bool node_slot_free(struct sg_node *node, uint32_t slot, bool thorough)
{
    if (slot == sg_node_state.slot || !slot_is_dead(node, slot, thorough)) {
        return false;
    }
    if (atomic_load(&node->slot[slot].keeper) != 0) {
        sg_node_slot_reap(node, slot); /* first: the process that does it may be killed */
        atomic_store(&node->slot[slot].keeper, 0);
    }
    return true;
}

bool sg_node_lives(uint32_t slot)
{
    struct sg_node *node = sg_node_state.node;
    return slot == sg_node_state.slot ||
           (slot < sg_node_slots(node) && !node_slot_free(node, slot, false));
}

void sg_node_sweep(struct sg_node *node)
{
    for (uint32_t s = 0; s < sg_node_slots(node); s++) {
        (void)node_slot_free(node, s, true);
    }
}

/* ---- this process's slot ---- */

static uint32_t node_slot_find(struct sg_node *node)
{
    uint32_t used = sg_node_slots(node);
    for (unsigned look = 0; look < 2; look++) {
        for (uint32_t slot = 0; slot < used; slot++) {
            if (node_slot_free(node, slot, look != 0)) {
                return slot;
            }
        }
        if (used < SG_NODE_PROCESSES) {
            node->slots = used + 1;
            return used;
        }
    }
    return SG_NODE_NO_SLOT;
}

static uint32_t slot_claim(struct sg_node *node)
{
    uint32_t found = node_slot_find(node), thread = (uint32_t)gettid();
    if (found != SG_NODE_NO_SLOT) {
        struct sg_node_slot *slot = &node->slot[found];
        slot->pid = getpid();
        slot->born = sg_node_thread_born(thread);
        sg_node_state.keeper = thread;
        atomic_store(&slot->keeper, thread);
    }
    return found;
}

static void node_wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static void *keeper_main(void *unused)
{
    (void)unused;
    struct sg_node *node = sg_node_state.node;
    sg_node_lock();
    sg_node_state.slot = slot_claim(node);
    sg_node_unlock();
    sem_post(&keeper.claimed);
    node_wait_for(&keeper.end);
    if (sg_node_state.slot != SG_NODE_NO_SLOT) {
        sg_node_lock();
        sg_node_slot_reap(node, sg_node_state.slot);
        atomic_store(&node->slot[sg_node_state.slot].keeper, 0);
        sg_node_state.slot = SG_NODE_NO_SLOT;
        sg_node_unlock();
    }
    return NULL;
}

static enum ga_status keeper_start(void)
{
    sem_init(&keeper.claimed, 0, 0);
    sem_init(&keeper.end, 0, 0);
    GA_TRY(ga_thread_start(&keeper.thread, keeper_main, NULL));
    node_wait_for(&keeper.claimed);
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
    if (!own && sg_node_attach(name != NULL ? name : "", &sg_node_state.node, &why) != GA_OK) {
        ga_warn("softgpu: %s: other processes have devices of their own", why);
        own = true;
    }
    if (own && sg_node_make_own(&sg_node_state.node, &why) != GA_OK) {
        ga_error("softgpu: the state of the devices: %s", why);
        return GA_NO_MEMORY;
    }
    sg_node_state.id = sg_node_state.node->id;
    sg_node_state.slot = SG_NODE_NO_SLOT;
    memset(sg_node_state.own, 0, sizeof sg_node_state.own);
    return GA_OK;
}

enum ga_status sg_node_open(const char *name)
{
    GA_TRY(node_join(name));
    if (keeper_start() != GA_OK) {
        ga_error("softgpu: cannot start a thread");
        sg_node_detach(sg_node_state.node);
        sg_node_state.node = NULL;
        return GA_NO_MEMORY;
    }
    if (sg_node_state.slot == SG_NODE_NO_SLOT) {
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
    if (sg_node_state.node != NULL) {
        sem_post(&keeper.end);
        pthread_join(keeper.thread, NULL);
        sem_destroy(&keeper.end);
        sem_destroy(&keeper.claimed);
        sg_node_detach(sg_node_state.node);
        sg_node_state.node = NULL;
    }
}
