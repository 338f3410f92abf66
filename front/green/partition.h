/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of a device: a set of multiprocessors. CUdevResource carries the set and its origin in
 * the bytes that are reserved for the driver.
 *
 * Note: multiprocessors are counted in pairs, as GPUs have them. If a device has an odd number,
 * its last pair has one. */
#ifndef FRONT_GREEN_PARTITION_H
#define FRONT_GREEN_PARTITION_H

#include <stdint.h>

#include "api/constants.h"
#include "api/cuda_names.h"

#define FRONT_PAIRS_MAX (64 * API_GREEN_WORDS)

struct front_partition {
    uint64_t pairs[API_GREEN_WORDS];
};

#if CUDA_VERSION >= 12040
/* The partition of a whole device. */
CUresult front_partition_whole(CUdevice device, struct front_partition *all);
unsigned front_partition_sms(CUdevice device, const struct front_partition *part);
/* Describes the partition as a resource that can be split. CUDA_ERROR_INVALID_RESOURCE_TYPE. */
CUresult front_partition_tell(CUdevice device, const struct front_partition *part,
                              CUdevResourceType type, CUdevResource *resource);
/* The partition that the descriptor was generated from. CUDA_ERROR_INVALID_VALUE: there is none. */
CUresult front_partition_of(CUdevResourceDesc desc, CUdevice *device, struct front_partition *part);
#endif

static inline int front_partition_has(const struct front_partition *part, unsigned pair)
{
    return (int)(part->pairs[pair / 64] >> pair % 64 & 1);
}

static inline void front_partition_add(struct front_partition *part, unsigned pair)
{
    part->pairs[pair / 64] |= UINT64_C(1) << pair % 64;
}

#endif
