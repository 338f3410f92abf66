/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: reported by a lane, and kept by the grid. */
#ifndef SOFTGPU_EXEC_FAULT_H
#define SOFTGPU_EXEC_FAULT_H

#include "softgpu/exec/warp.h"

struct sg_grid;

/* Records the fault (the grid keeps the first) and stops the warp's block. `lane`: the lane that
 * faults. */
void sg_warp_fault(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                   enum sg_fault_code code, uint64_t address, const char *text);

struct sg_access_fault {
    const char *what; /* "read", "write", "atomic" */
    uint64_t bytes;
    unsigned align;
};

/* MISALIGNED if `address` is misaligned, otherwise ILLEGAL_ADDRESS. */
void sg_warp_fault_access(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                          uint64_t address, const struct sg_access_fault *access);

/* The lane's thread of the block. */
void sg_warp_thread(const struct sg_warp *warp, unsigned lane, uint32_t thread[3]);

/* The first fault of a grid stays. True: this is the first; then sg_grid_set_fault. */
bool sg_grid_claim_fault(struct sg_grid *grid);
void sg_grid_set_fault(struct sg_grid *grid, enum sg_fault_code code, const char *text);

#endif
