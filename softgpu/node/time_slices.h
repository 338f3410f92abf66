/* SPDX-License-Identifier: Apache-2.0 */
/* Time slices: which process may use an engine. A process has the turn or not, whatever number of
 * items it runs there at once; while others wait, a turn lasts one slice. */
#ifndef SOFTGPU_NODE_TIME_SLICES_H
#define SOFTGPU_NODE_TIME_SLICES_H

#include "softgpu/node/node.h"

/* ---- time_slices.c: who may use an engine. A process has a turn or has it not, whatever number of
 * items it runs there at once; while others wait, a turn lasts a slice. ---- */

/* Called with the process's lock before an item runs. False: sg_turn_wait first. */
bool sg_turn_begin(struct sg_node_engine *engine);

/* Returns when this process has the turn, or `*stop` is not 0. Threads that run an item call it now
 * and then while `waiting` is not 0: they give way when the slice is over. Without the lock. */
void sg_turn_wait(struct sg_node_engine *engine, const _Atomic int *stop);

/* Called with the process's lock when this process runs nothing there any more. */
void sg_turn_end(struct sg_node_engine *engine);

/* Removes a process that is dead, or has closed the device, from the queue and from its turn. With
 * the node's lock. */
void sg_turn_drop(struct sg_node_engine *engine, uint32_t slot);

#endif
