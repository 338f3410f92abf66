/* SPDX-License-Identifier: Apache-2.0 */
/* The occupancy calculator. Names follow cuda_occupancy.h where possible. */
#include "front/launch/occupancy.h"

#include <stddef.h>

#define REGISTER_UNIT 256u /* of a warp's allocation */
#define KIB           UINT64_C(1024)

static unsigned occupancy_least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static uint64_t occupancy_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void front_sm_read(struct front_sm *sm, int (*attribute)(const void *of, CUdevice_attribute which),
                   const void *of)
{
#define READ(name) (unsigned)attribute(of, CU_DEVICE_ATTRIBUTE_##name)
    *sm = (struct front_sm){
        .major = READ(COMPUTE_CAPABILITY_MAJOR),
        .minor = READ(COMPUTE_CAPABILITY_MINOR),
        .warp_lanes = READ(WARP_SIZE),
        .blocks = READ(MAX_BLOCKS_PER_MULTIPROCESSOR),
        .threads = READ(MAX_THREADS_PER_MULTIPROCESSOR),
        .registers = READ(MAX_REGISTERS_PER_MULTIPROCESSOR),
        .block_threads = READ(MAX_THREADS_PER_BLOCK),
        .block_registers = READ(MAX_REGISTERS_PER_BLOCK),
        .shared = READ(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .block_shared = READ(MAX_SHARED_MEMORY_PER_BLOCK),
        .block_shared_optin = READ(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .block_shared_reserved = READ(RESERVED_SHARED_MEMORY_PER_BLOCK),
    };
#undef READ
}

void front_kernel_read(struct front_kernel *kernel, const int32_t facts[FRONT_KERNEL_FACTS])
{
    *kernel = (struct front_kernel){
        .threads_max = (unsigned)facts[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
        .registers = (unsigned)facts[CU_FUNC_ATTRIBUTE_NUM_REGS],
        .shared = (unsigned)facts[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES],
        .dynamic_max = (unsigned)facts[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES],
        .carveout = facts[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT]};
}

static unsigned blocks_by_warps(const struct front_sm *sm, unsigned warps)
{
    return sm->threads / sm->warp_lanes / warps;
}

static unsigned blocks_by_registers(const struct front_sm *sm, unsigned registers, unsigned warps)
{
    unsigned partitions = sm->major == 6 && sm->minor == 0 ? 2 : 4;
    unsigned per_warp =
        (unsigned)occupancy_round_up((uint64_t)registers * sm->warp_lanes, REGISTER_UNIT);
    if (per_warp == 0) {
        return UINT32_MAX;
    }
    if (per_warp * occupancy_round_up(warps, partitions) > sm->block_registers) {
        return 0;
    }
    return sm->registers / partitions / per_warp * partitions / warps;
}

unsigned front_shared_unit(unsigned major)
{
    return major >= 8 ? 128 : 256;
}

/* The smallest configurable size of shared memory that holds `bytes`. */
static uint64_t shared_step(const struct front_sm *sm, uint64_t bytes)
{
    static const uint64_t steps[] = {0, 8, 16, 32, 64, 96, 100, 132, 164, 196, 228};
    if (sm->major < 7) {
        return sm->shared; /* separate from the cache */
    }
    if (sm->major == 7 && sm->minor == 5 && bytes < 32 * KIB) {
        return 32 * KIB;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        bool here = steps[i] != 96 || sm->major == 7;
        if (here && bytes <= steps[i] * KIB) {
            return steps[i] * KIB < sm->shared ? steps[i] * KIB : sm->shared;
        }
    }
    return sm->shared;
}

static uint64_t shared_preferred(const struct front_sm *sm, const struct front_kernel *kernel)
{
    return kernel->carveout < 0 ? sm->shared
                                : shared_step(sm, (uint64_t)kernel->carveout * sm->shared / 100);
}

/* The limit of a block that may ask for up to `most` bytes. */
static uint64_t shared_limit(const struct front_sm *sm, uint64_t most)
{
    bool optin = sm->major >= 7 && most > sm->block_shared;
    uint64_t limit = optin ? sm->block_shared_optin : sm->block_shared;
    return limit + (sm->major >= 8 ? sm->block_shared_reserved : 0);
}

static unsigned blocks_by_shared(const struct front_sm *sm, const struct front_kernel *kernel,
                                 uint64_t dynamic)
{
    uint64_t fixed = kernel->shared + sm->block_shared_reserved;
    if (dynamic > kernel->dynamic_max) {
        return 0;
    }
    uint64_t each = occupancy_round_up(fixed + dynamic, front_shared_unit(sm->major));
    if (each > shared_limit(sm, fixed + kernel->dynamic_max)) {
        return 0;
    }
    if (each == 0) {
        return UINT32_MAX;
    }
    uint64_t there = shared_preferred(sm, kernel);
    return (unsigned)((there >= each ? there : shared_step(sm, each)) / each);
}

unsigned front_occupancy_blocks(const struct front_sm *sm, const struct front_kernel *kernel,
                                unsigned threads, uint64_t dynamic)
{
    if (threads == 0 || sm->warp_lanes == 0 || threads > sm->block_threads ||
        threads > kernel->threads_max) {
        return 0;
    }
    unsigned warps = (threads + sm->warp_lanes - 1) / sm->warp_lanes;
    unsigned blocks = occupancy_least(sm->blocks, blocks_by_warps(sm, warps));
    blocks = occupancy_least(blocks, blocks_by_registers(sm, kernel->registers, warps));
    return occupancy_least(blocks, blocks_by_shared(sm, kernel, dynamic));
}

bool front_occupancy_shared(const struct front_sm *sm, const struct front_kernel *kernel,
                            unsigned blocks, unsigned threads, uint64_t *dynamic)
{
    if (blocks == 0 || front_occupancy_blocks(sm, kernel, threads, 0) < blocks) {
        return false;
    }
    uint64_t limit = shared_limit(sm, sm->shared);
    uint64_t preferred = shared_preferred(sm, kernel);
    preferred = preferred != 0 ? preferred : shared_step(sm, 1);
    unsigned unit = front_shared_unit(sm->major);
    uint64_t each = (blocks == 1 ? limit : preferred) / blocks / unit * unit;
    each = each < limit ? each : limit;
    each = each > kernel->shared ? each - kernel->shared : 0;
    *dynamic = each < kernel->dynamic_max ? each : kernel->dynamic_max;
    return true;
}
