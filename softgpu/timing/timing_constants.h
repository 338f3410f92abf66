/* SPDX-License-Identifier: Apache-2.0 */
/* All constants of the timing model that are no key of a device; docs/softgpu-timing.md explains
 * their use. They are round numbers: a device's own speeds decide. */
#ifndef SOFTGPU_TIMING_TIMING_CONSTANTS_H
#define SOFTGPU_TIMING_TIMING_CONSTANTS_H

/* ---- kernels ---- */

/* From the end of the previous work to the first instruction of a kernel. */
#define SG_LAUNCH_NS 3000
/* Clocks from one instruction of a warp to its next: 4 for a dependent instruction on Volta and
 * later. */
#define SG_ISSUE_CLOCKS 4
/* Clocks for which an access to global memory stalls its warp: about 400 of latency, and about four
 * accesses in flight at a time. */
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
/* The part of its memory's bandwidth that a kernel gets: row changes and refresh take the rest. */
#define SG_MEMORY_SHARE 0.85

/* ---- copies ---- */

/* The part of a PCIe link's bandwidth that packet headers leave. */
#define SG_PCIE_SHARE 0.78
/* The part of that which staging through pinned memory of the driver leaves. */
#define SG_PAGEABLE_SHARE 0.5
/* The share of the multiprocessors that a fill or a copy within device memory takes, since these
 * are kernels. */
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

/* A timed run is void if execution was late for more than this share of its time. */
#define SG_VOID_SHARE 0.01
/* A run is judged after this time while it goes on; a shorter one only at its end. */
#define SG_VOID_AFTER_NS 100000000

#endif
