/* SPDX-License-Identifier: Apache-2.0 */
/* Stream memory operations: steps of a stream that wait for a value in memory or write one. */
#ifndef FRONT_MEMORY_VALUES_H
#define FRONT_MEMORY_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* A step of a stream that writes a value in memory or waits for one. */
struct front_value {
    CUdeviceptr address;
    uint64_t value;
    unsigned bytes; /* 4 or 8 */
    bool write;
    CUstreamWaitValue_flags wait; /* GEQ, EQ, AND or NOR, without other bits */
};

#define FRONT_VALUES_MAX 255u /* of a batch; cuda.h demands less than 256 */
/* Translates a batch of cuStreamBatchMemOp into at most FRONT_VALUES_MAX steps. */
CUresult front_values_read(unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags,
                           struct front_value *steps, unsigned *made);

#endif
