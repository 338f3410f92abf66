/* SPDX-License-Identifier: Apache-2.0 */
/* All constants of the timing model that are no key of a device. docs/softgpu-timing.md says what
 * they are used for. They are round numbers: a device's own speeds decide. */
#ifndef SOFTGPU_TIMING_TIMING_CONSTANTS_H
#define SOFTGPU_TIMING_TIMING_CONSTANTS_H

/* ---- kernels ---- */

/* From the end of what comes before to a kernel's first instruction. */
#define SG_LAUNCH_NS 3000
/* Clocks from one instruction of a warp to its next: what a dependent one waits on Volta and later
 * is 4. */
#define SG_ISSUE_CLOCKS 4
/* Clocks that an access to global memory holds its warp up: about 400 of latency, and about four
 * accesses under way at a time. */
#define SG_GLOBAL_CLOCKS 100
/* Lanes for which a multiprocessor issues instructions in a clock: four schedulers; where it has
 * fewer than 64 cores (Fermi), as many as it has cores. */
#define SG_ISSUE_LANES   128
#define SG_CORES_FEW     64
#define SG_INT_LANES     64 /* at most, and never more than there are cores */
#define SG_SPECIAL_SHARE 4  /* cores for each unit of special functions */
#define SG_SHARED_LANES  32 /* 4 bytes each */
#define SG_GLOBAL_LANES  32
#define SG_MATRIX_GAIN   16 /* multiplications of tensor cores for each core */
/* How much of its memory's bandwidth a kernel gets: row changes, refresh. */
#define SG_MEMORY_SHARE 0.85

/* ---- copies ---- */

/* What packet headers leave of a PCIe link's bandwidth. */
#define SG_PCIE_SHARE 0.78
/* And staging through pinned memory of the driver's, of that. */
#define SG_PAGEABLE_SHARE 0.5
/* What a fill or a copy within device memory, which are kernels, takes of the multiprocessors */
#define SG_FILL_SLOTS 0.25
#define SG_FILL_ISSUE 0.1

/* ---- weights of instructions (ptx/decode_cost.c) ---- */

#define SG_WEIGHT_INT64       2  /* of 64 bits, as instructions of 32 bits */
#define SG_WEIGHT_INT_DIV     20 /* a division of integers */
#define SG_WEIGHT_F32_SPECIAL 8  /* exactly rounded division or root, beside the approximation */
#define SG_WEIGHT_F64_SPECIAL 10
#define SG_WEIGHT_ATOMIC      2 /* reads and writes */
#define SG_WEIGHT_FRAGMENT    4 /* registers that a wmma.load or wmma.store moves */

/* ---- the run ---- */

/* More than this share of its time that execution was late makes a timed run void. */
#define SG_VOID_SHARE 0.01
/* What is said of a run that goes on; a shorter one is judged at its end only. */
#define SG_VOID_AFTER_NS 100000000

#endif
