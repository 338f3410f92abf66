/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of the segment, also if a process died or was stopped while it held the lock. */
#ifndef SOFTGPU_NODE_NODE_LOCK_H
#define SOFTGPU_NODE_NODE_LOCK_H

#include "softgpu/node/node_segment.h"

/* As pthread_mutex_lock: 0, or EOWNERDEAD. */
int sg_node_lock_take(struct sg_node *node);

#endif
