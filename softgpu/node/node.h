/* SPDX-License-Identifier: Apache-2.0 */
/* A node: the software GPUs of a machine as all processes that load softgpu see them. Processes of
 * one user that name the same node (SOFTGPU_NODE) and describe a device in the same way share that
 * device: its memory, its engines, its clock (CLOCK_MONOTONIC). The contents of its memory stay
 * each process's own.
 *
 * The state is a segment of shared memory that disappears with the last process, however that ends.
 *
 * Note: processes may die without a word. The slot of each has the number of a thread of it that
 * never ends; the kernel knows whether that is there, and any process that needs something of a
 * dead one takes it back then.
 *
 * Note: any process of the node may write anything there at any time, by its own fault or that of
 * who has taken it over. Others may be slowed then, or refused memory; they do not crash and do not
 * compute wrongly. Therefore nothing in the segment is trusted: numbers are checked where they are
 * used, what a process knows of itself it keeps elsewhere (node_internal.h), and there are no
 * pointers in it and no locks of libc, which have pointers. */
#ifndef SOFTGPU_NODE_NODE_H
#define SOFTGPU_NODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/soft_device.h"
#include "base/gpu_engine.h"
#include "base/status.h"
#include "model/flow.h"
#include "model/ledger.h"

#define SG_NODE_PROCESSES  SOFT_PROCESSES_MAX /* at the same time */
#define SG_NODE_DEVICES    1024
#define SG_NODE_HOLDS      2048 /* of a process, on chunks that others have, too */
#define SG_NODE_NAME_BYTES 64
#define SG_NODE_WORK_BITS                                                                          \
    48                      /* of a number of a piece of work, below the slot + 1 of its process   \
                             */
#define SG_NODE_SELF "self" /* the name of a node that no other process joins */

/* One engine of one device. All atomic fields may be read by anyone at any time; a process that is
 * killed leaves them as they were. */
struct sg_node_engine {
    /* The process that has the turn: its slot + 1; 0: none. With `waiting` 0 any process that finds
     * 0 may take it; otherwise it goes to the first in the queue. A futex. */
    _Atomic uint32_t owner;
    _Atomic uint32_t waiting; /* processes in the queue */
    _Atomic uint64_t
        since_ns; /* when the turn began, or when the first process entered the queue for it */
    uint16_t line[SG_NODE_PROCESSES]; /* the queue: slots, the first one first; under the lock */
};

/* Two devices with the same key are the same device. */
struct sg_node_key {
    uint8_t uuid[16];
    uint64_t chunks; /* of SG_CHUNK_BYTES */
    uint64_t sms;
};

struct sg_node_device {
    struct sg_node_key key; /* all below are under the lock, unless atomic */
    uint64_t used;          /* chunks of all processes together */
    uint32_t opened;        /* living processes that have opened it; 0: the place is free */
    struct {
        uint32_t open;            /* it has the device */
        uint32_t held;            /* chunks that it does not share (shared_chunks.h) */
    } process[SG_NODE_PROCESSES]; /* by slot */
    struct sg_node_engine engines[GPU_ENGINES];
    /* By the timing model: when the engines are busy. One of the two: without slices, with them. */
    struct model_ledger ledger;
    struct model_flow flow;
    uint32_t departures; /* changes when work of a process has been taken out of these */
};

/* A hold of a process on chunks that several processes use (shared_chunks.h). */
struct sg_node_hold {
    uint64_t id; /* of the chunks */
    uint32_t chunks;
    uint16_t device; /* its number + 1; 0: this is none */
    uint8_t counts;  /* the chunks count with this hold, and with no other one */
    uint8_t lingers; /* who joins takes it over */
};

/* A process. */
struct sg_node_slot {
    _Atomic uint32_t keeper; /* its thread that never ends while it lives; 0: the slot is free */
    uint64_t born;           /* when that thread began, as the kernel counts; 0: not known */
    int32_t pid;
    uint32_t holds; /* places for holds from here on are free */
};

/* Joins the node `name`, or makes it; NULL or "": the default node of the user on this machine.
 * Starts a thread. Logs its errors. Once per process, and again after sg_node_close. */
GA_CHECKED enum ga_status sg_node_open(const char *name);

/* No device may be in use. */
void sg_node_close(void);

/* The device with that description, made if no process has it. GA_NO_MEMORY: too many devices. The
 * process keeps it until it ends or calls sg_node_device_close. */
GA_CHECKED enum ga_status sg_node_device_open(const struct sg_node_key *key,
                                              struct sg_node_device **device);
void sg_node_device_close(struct sg_node_device *device);

/* GA_NO_MEMORY: all processes together hold too much; nothing is taken. */
GA_CHECKED enum ga_status sg_node_take(struct sg_node_device *device, uint64_t chunks);
void sg_node_give(struct sg_node_device *device, uint64_t chunks);

/* Chunks that no living process holds; that this process has taken, shared or not. */
uint64_t sg_node_free(struct sg_node_device *device);
uint64_t sg_node_held(struct sg_node_device *device);

/* ---- for whoever shares more than this ---- */

/* The lock of the segment: held for microseconds, never across a call that waits. */
void sg_node_lock(void);
void sg_node_unlock(void);

/* This process's slot. */
uint32_t sg_node_self(void);

/* A random number, unique to the node. */
uint64_t sg_node_id(void);

/* A number for a piece of work of this process, unique among those under way. With the lock. */
uint64_t sg_node_work_id(void);

/* Whether this process has given this number. */
bool sg_node_work_is_mine(uint64_t id);
/* Looks whether the processes live that have work on the device, and takes out the work of dead
 * ones. Returns a number that changes whenever that happens, whoever has looked. With the lock. */
uint32_t sg_node_work_look(struct sg_node_device *device);

/* Whether the process in the slot lives. Takes back the resources of a dead one. With the lock. */
bool sg_node_lives(uint32_t slot);

#endif
