/* SPDX-License-Identifier: Apache-2.0 */
/* A lock between processes in memory that none of them trusts: one word, the number of the thread
 * that holds it. A process that has waited long takes it, whatever the word says; therefore the
 * state may change under the lock, and who reads it must not rely on its not doing so. */
#ifndef SOFTGPU_NODE_NODE_LOCK_H
#define SOFTGPU_NODE_NODE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sg_node;

struct sg_node_mutex {
    _Atomic uint32_t word; /* a thread, and FUTEX_WAITERS; 0: nobody holds it */
};

/* False: its holder has died, or has not released it for 10 s. In both cases the caller holds it
 * now. */
bool sg_node_lock_take(struct sg_node *node);
void sg_node_lock_release(struct sg_node *node);

/* Whether a thread of that number is there. */
bool sg_node_thread_lives(uint32_t thread);
/* When it began, in the kernel's ticks since the machine did; 0: not known. */
uint64_t sg_node_thread_born(uint32_t thread);

#endif
