/* SPDX-License-Identifier: Apache-2.0 */
/* A node: the software GPUs of a machine as all processes that load softgpu see them. Processes of
 * one user that name the same node (SOFTGPU_NODE) and describe a device in the same way have that
 * device together: its memory, its engines, its clock (CLOCK_MONOTONIC). What lies in its memory
 * stays each process's own.
 *
 * The state is a segment of shared memory that is gone with the last process, however that ends.
 * What a reader would get wrong: nobody can be trusted to say good-bye. A process holds the lock
 * `life` of its slot through a thread that never ends; the kernel lets go of it when the process
 * dies, and whoever needs something that a dead process holds takes it back then. */
#ifndef SOFTGPU_NODE_NODE_H
#define SOFTGPU_NODE_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/soft_device.h"
#include "base/status.h"
#include "softgpu/timing/timeline.h"

#define SG_NODE_PROCESSES  SOFT_PROCESSES_MAX /* at a time */
#define SG_NODE_DEVICES    1024
#define SG_NODE_EVENTS     4096
#define SG_NODE_ENGINES    3 /* compute, host to device, device to host: enum sg_engine_kind */
#define SG_NODE_NAME_BYTES 64
#define SG_NODE_SELF       "self" /* a name: the node that no other process joins */

/* One engine of one device. All atomic fields may be read by anyone at any time; a process that is
 * killed leaves them as they were. */
struct sg_node_engine {
    /* Whose turn it is: its slot + 1; 0: nobody's. With `waiting` 0 whoever finds 0 may take it;
     * else it goes to the first in line. A futex. */
    _Atomic uint32_t owner;
    _Atomic uint32_t waiting;  /* processes in line */
    _Atomic uint64_t since_ns; /* when the turn began, or somebody first stood in line for it */
    uint16_t line[SG_NODE_PROCESSES]; /* slots that wait, the first one first; under the lock */
};

/* What makes two devices the same one. */
struct sg_node_key {
    uint8_t uuid[16];
    uint64_t chunks; /* of SG_CHUNK_BYTES */
    uint64_t sms;
};

struct sg_node_device {
    struct sg_node_key key; /* all below under the lock, unless atomic */
    uint64_t used;          /* chunks of all processes together */
    uint32_t opened;        /* living processes that have it; 0: the place is free */
    struct {
        uint32_t open;            /* it has the device */
        uint32_t held;            /* chunks */
    } process[SG_NODE_PROCESSES]; /* by slot */
    struct sg_node_engine engines[SG_NODE_ENGINES];
    struct sg_timeline timeline; /* what they do when, if the device takes time */
};

/* A process. */
struct sg_node_slot {
    pthread_mutex_t life; /* robust; held as long as the process lives */
    int32_t pid;
    uint32_t generation; /* how many processes have had this slot */
    /* Descriptors of the process, once it has exported memory (ipc.c). */
    int32_t memory_fd, exports_fd;
};

/* An event that processes share: its recordings have numbers. */
struct sg_node_event {
    _Atomic uint64_t id;       /* not 0, and never again that of another event; 0: a free place */
    _Atomic uint64_t recorded; /* the number of the last recording; 0: none */
    _Atomic uint64_t done;     /* of the last one that is done */
    _Atomic uint64_t recorder; /* who recorded last: slot and generation */
    uint32_t owner;            /* the slot of who has made it */
};

/* Joins the node `name`, or makes it; NULL or "": the user's node of this machine. Starts a thread.
 * An error is logged. Once per process, and again after sg_node_close. */
GA_CHECKED enum ga_status sg_node_open(const char *name);

/* No device may be in use. */
void sg_node_close(void);

/* The device of that description, made if no process has it. GA_NO_MEMORY: too many devices. It
 * stays this process's until the process ends, or sg_node_device_close. */
GA_CHECKED enum ga_status sg_node_device_open(const struct sg_node_key *key,
                                              struct sg_node_device **device);
void sg_node_device_close(struct sg_node_device *device);

/* GA_NO_MEMORY: all processes together hold too much; none is taken. */
GA_CHECKED enum ga_status sg_node_take(struct sg_node_device *device, uint64_t chunks);
void sg_node_give(struct sg_node_device *device, uint64_t chunks);

/* Chunks that nobody holds. What processes held that have died is free. */
uint64_t sg_node_free(struct sg_node_device *device);

/* ---- for whoever shares more than this ---- */

/* The lock of the segment: held for short, never across a call that waits. */
void sg_node_lock(void);
void sg_node_unlock(void);

/* This process's slot. */
uint32_t sg_node_self(void);

/* NULL: no such slot. */
const struct sg_node_slot *sg_node_slot_at(uint32_t slot);

/* Random: no other node has it. */
uint64_t sg_node_id(void);

/* Slot and generation of this process: of no other, as long as the node lives. */
uint64_t sg_node_process(void);

/* With the lock: does that process live? */
bool sg_node_process_lives(uint64_t process);

/* What others need to know of this process; with the lock. */
struct sg_node_slot *sg_node_own_slot(void);

/* With the lock. */
struct sg_node_event *sg_node_event_make(void);

/* NULL: there is no such event. */
struct sg_node_event *sg_node_event_at(uint32_t index, uint64_t id);
uint32_t sg_node_event_index(const struct sg_node_event *event);

/* With the lock: does the process in the slot live? What a dead one held is taken back. */
bool sg_node_lives(uint32_t slot);

#endif
