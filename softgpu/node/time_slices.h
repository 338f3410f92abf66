/* SPDX-License-Identifier: Apache-2.0 */
/* Which process may use an engine. A process has a turn or has none, whatever number of items it
 * runs there at once; while others wait, a turn lasts a slice. */
#ifndef SOFTGPU_NODE_TIME_SLICES_H
#define SOFTGPU_NODE_TIME_SLICES_H

#include "softgpu/node/node.h"

/* ---- time_slices.c: who may use an engine. A process has a turn or has it not, whatever number of
 * items it runs there at once; while others wait, a turn lasts a slice. ---- */

/* With the process's lock, when an item is about to run. False: sg_turn_wait first. */
bool sg_turn_begin(struct sg_node_engine *engine);

/* Returns when this process has the turn, or `*stop` is not 0. For threads that run an item, now
 * and then while `waiting` is not 0: they give way when the slice is over. Without the lock. */
void sg_turn_wait(struct sg_node_engine *engine, const _Atomic int *stop);

/* With the process's lock, when this process runs nothing there any more. */
void sg_turn_end(struct sg_node_engine *engine);

/* Takes a process that is no more, or has closed the device, from the line and from its turn. With
 * the node's lock. */
void sg_turn_drop(struct sg_node_engine *engine, uint32_t slot);

#endif
