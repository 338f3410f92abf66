/* SPDX-License-Identifier: Apache-2.0 */
/* All constants of the timing model that are no key of a device; docs/softgpu-timing.md explains
 * their use. They are round numbers: a device's own speeds decide. */
#ifndef MODEL_CONSTANTS_H
#define MODEL_CONSTANTS_H

/* ---- kernels ---- */

/* From the end of the previous work to the first instruction of a kernel. */
#define MODEL_LAUNCH_NS 3000
/* Clocks from one instruction of a warp to its next: 4 for a dependent instruction on Volta and
 * later. */
#define MODEL_ISSUE_CLOCKS 4
/* Clocks for which an access to global memory stalls its warp: about 400 of latency, and about four
 * accesses in flight at a time. */
#define MODEL_GLOBAL_CLOCKS 100
/* Lanes for which a multiprocessor issues instructions in a clock: four schedulers; where it has
 * fewer than 64 cores (Fermi), as many as it has cores. */
#define MODEL_ISSUE_LANES   128
#define MODEL_CORES_FEW     64
#define MODEL_INT_LANES     64 /* at most, and never more than there are cores */
#define MODEL_SPECIAL_SHARE 4  /* cores for each unit of special functions */
#define MODEL_SHARED_LANES  32 /* 4 bytes each */
#define MODEL_GLOBAL_LANES  32
#define MODEL_MATRIX_GAIN   16 /* multiplications of tensor cores for each core */
/* The part of its memory's bandwidth that a kernel gets: row changes and refresh take the rest. */
#define MODEL_MEMORY_SHARE 0.85

/* ---- copies ---- */

/* The part of a PCIe link's bandwidth that packet headers leave. */
#define MODEL_PCIE_SHARE 0.78
/* The part of that which staging through pinned memory of the driver leaves. */
#define MODEL_PAGEABLE_SHARE 0.5
/* The share of the multiprocessors that a fill or a copy within device memory takes, since these
 * are kernels. */
#define MODEL_FILL_SLOTS 0.25
#define MODEL_FILL_ISSUE 0.1

/* ---- weights of instructions (ptx/decode_cost.c) ---- */

#define MODEL_WEIGHT_INT64   2  /* of 64 bits, as instructions of 32 bits */
#define MODEL_WEIGHT_INT_DIV 20 /* a division of integers */
#define MODEL_WEIGHT_F32_SPECIAL                                                                   \
    8 /* exactly rounded division or root, beside the approximation                                \
       */
#define MODEL_WEIGHT_F64_SPECIAL 10
#define MODEL_WEIGHT_ATOMIC      2 /* reads and writes */
#define MODEL_WEIGHT_FRAGMENT    4 /* registers that a wmma.load or wmma.store moves */

/* ---- the run ---- */

/* A timed run is void if execution was late for more than this share of its time. */
#define MODEL_VOID_SHARE 0.01
/* A run is judged after this time while it goes on; a shorter one only at its end. */
#define MODEL_VOID_AFTER_NS 100000000

#endif
