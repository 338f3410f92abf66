/* SPDX-License-Identifier: Apache-2.0 */
/* The workspaces of cooperative grids, each of which has one of its own, since grids may run side
 * by side. They lie in host memory, so the work that waits takes nothing of a GPU. All functions
 * want the process's lock held. */
#ifndef SOFTGPU_MODULE_WORKSPACE_H
#define SOFTGPU_MODULE_WORKSPACE_H

#include <stdint.h>

/* The address of SG_GRID_WORKSPACE bytes, which kernels may access; 0: no memory. */
uint64_t sg_workspace_take(void);
void sg_workspace_give(uint64_t address);

#endif
