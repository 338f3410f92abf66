/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a device: which of its multiprocessors something may use. CUdevResource carries one, and
 * what made it, in the bytes that are not the program's.
 *
 * What a reader would get wrong: multiprocessors are counted in pairs, as GPUs have them. Where a
 * device has an odd number, its last pair has one. */
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
/* All of a device. */
CUresult front_partition_whole(CUdevice device, struct front_partition *all);
unsigned front_partition_sms(CUdevice device, const struct front_partition *part);
/* Says it as a resource that may be split. CUDA_ERROR_INVALID_RESOURCE_TYPE. */
CUresult front_partition_tell(CUdevice device, const struct front_partition *part,
                              CUdevResourceType type, CUdevResource *resource);
/* What the descriptor was generated of. CUDA_ERROR_INVALID_VALUE: there is none. */
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
