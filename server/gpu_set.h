/* SPDX-License-Identifier: Apache-2.0 */
/* A set of GPUs: bit n stands for the GPU n, an index into the list that clients see. */
#ifndef SERVER_GPU_SET_H
#define SERVER_GPU_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

#define GPU_SET_WORDS ((CONF_GPUS_MAX + 63) / 64)

static inline bool gpu_set_has(const uint64_t *set, uint32_t gpu)
{
    return (set[gpu / 64] >> gpu % 64 & 1) != 0;
}

static inline void gpu_set_add(uint64_t *set, uint32_t gpu)
{
    set[gpu / 64] |= UINT64_C(1) << gpu % 64;
}

static inline void gpu_set_remove(uint64_t *set, uint32_t gpu)
{
    set[gpu / 64] &= ~(UINT64_C(1) << gpu % 64);
}

static inline bool gpu_set_any(const uint64_t *set)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < GPU_SET_WORDS; i++) {
        any |= set[i];
    }
    return any != 0;
}

#endif
