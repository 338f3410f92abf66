/* SPDX-License-Identifier: Apache-2.0 */
/* The documented occupancy calculator (cuda_occupancy.h of the CUDA toolkit): how many blocks of a
 * kernel fit on a multiprocessor. Exact for compute capability 7.0 and newer; for older ones
 * without partitioned caching.
 *
 * Note: 0 blocks is a valid answer (such a block cannot be launched), not an error. */
#ifndef FRONT_LAUNCH_OCCUPANCY_H
#define FRONT_LAUNCH_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* Facts of a device; shared memory in bytes. */
struct front_sm {
    unsigned major, minor; /* compute capability */
    unsigned warp_lanes, blocks, threads, registers;
    unsigned block_threads, block_registers;
    uint64_t shared, block_shared, block_shared_optin, block_shared_reserved;
};

/* Facts of a kernel; shared memory in bytes. */
struct front_kernel {
    unsigned threads_max; /* per block */
    unsigned registers;   /* per thread */
    uint64_t shared;      /* static */
    uint64_t dynamic_max; /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;         /* PREFERRED_SHARED_MEMORY_CARVEOUT: per cent, -1: none */
};

/* Reads the facts by attribute number from `attribute`. */
void front_sm_read(struct front_sm *sm, int (*attribute)(const void *of, CUdevice_attribute which),
                   const void *of);
/* Reads the facts from the values of CUfunction_attribute 0 to FRONT_KERNEL_FACTS - 1. */
#define FRONT_KERNEL_FACTS 10
void front_kernel_read(struct front_kernel *kernel, const int32_t facts[FRONT_KERNEL_FACTS]);

/* The unit in which blocks get shared memory, in bytes, by the first part of the compute
 * capability.
 */
unsigned front_shared_unit(unsigned major);

/* The number of blocks of `threads` threads and `dynamic` bytes of dynamic shared memory. */
unsigned front_occupancy_blocks(const struct front_sm *sm, const struct front_kernel *kernel,
                                unsigned threads, uint64_t dynamic);
/* The most dynamic shared memory with which `blocks` blocks fit. False: they do not fit. */
bool front_occupancy_shared(const struct front_sm *sm, const struct front_kernel *kernel,
                            unsigned blocks, unsigned threads, uint64_t *dynamic);

#endif
