/* SPDX-License-Identifier: Apache-2.0 */
/* Our occupancy calculator against NVIDIA's, which the CUDA toolkit brings. */
#include <criterion/criterion.h>

#include <cuda_occupancy.h>

#include "front/launch/occupancy.h"

struct device {
    const char *name;
    struct front_sm sm;
};

#define KIB 1024u
static const struct device devices[] = {
    {"7.0", {7, 0, 32, 32, 2048, 65536, 1024, 65536, 96 * KIB, 48 * KIB, 96 * KIB, 0}},
    {"7.5", {7, 5, 32, 16, 1024, 65536, 1024, 65536, 64 * KIB, 48 * KIB, 64 * KIB, 0}},
    {"8.0", {8, 0, 32, 32, 2048, 65536, 1024, 65536, 164 * KIB, 48 * KIB, 163 * KIB, KIB}},
    {"8.6", {8, 6, 32, 16, 1536, 65536, 1024, 65536, 100 * KIB, 48 * KIB, 99 * KIB, KIB}},
    {"8.9", {8, 9, 32, 24, 1536, 65536, 1024, 65536, 100 * KIB, 48 * KIB, 99 * KIB, KIB}},
    {"9.0", {9, 0, 32, 32, 2048, 65536, 1024, 65536, 228 * KIB, 48 * KIB, 227 * KIB, KIB}},
#if __CUDA_OCC_MAJOR__ >= 12
    {"10.0", {10, 0, 32, 32, 2048, 65536, 1024, 65536, 228 * KIB, 48 * KIB, 227 * KIB, KIB}},
    {"12.0", {12, 0, 32, 24, 1536, 65536, 1024, 65536, 100 * KIB, 48 * KIB, 99 * KIB, KIB}},
#endif
};

static struct cudaOccDeviceProp their_device(const struct front_sm *sm)
{
    return (struct cudaOccDeviceProp){.computeMajor = (int)sm->major,
                                      .computeMinor = (int)sm->minor,
                                      .maxThreadsPerBlock = (int)sm->block_threads,
                                      .maxThreadsPerMultiprocessor = (int)sm->threads,
                                      .regsPerBlock = (int)sm->block_registers,
                                      .regsPerMultiprocessor = (int)sm->registers,
                                      .warpSize = (int)sm->warp_lanes,
                                      .sharedMemPerBlock = sm->block_shared,
                                      .sharedMemPerMultiprocessor = sm->shared,
                                      .numSms = 1,
                                      .sharedMemPerBlockOptin = sm->block_shared_optin,
                                      .reservedSharedMemPerBlock = sm->block_shared_reserved};
}

static struct cudaOccFuncAttributes their_kernel(const struct front_kernel *kernel)
{
    return (struct cudaOccFuncAttributes){.maxThreadsPerBlock = (int)kernel->threads_max,
                                          .numRegs = (int)kernel->registers,
                                          .sharedSizeBytes = kernel->shared,
                                          .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                          .maxDynamicSharedSizeBytes = kernel->dynamic_max,
                                          .numBlockBarriers = 1};
}

static uint32_t below(uint32_t limit)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 16) % limit;
}

static struct front_kernel some_kernel(const struct front_sm *sm)
{
    struct front_kernel kernel = {.threads_max = 1024,
                                  .registers = below(256),
                                  .shared = below(4) != 0 ? 0 : below(48 * KIB),
                                  .carveout = below(2) != 0 ? -1 : (int)below(101)};
    uint64_t room = (below(2) != 0 ? sm->block_shared : sm->block_shared_optin) - kernel.shared;
    kernel.dynamic_max = below(3) != 0 ? room : below((uint32_t)room + 1);
    return kernel;
}

Test(occupancy, blocks_are_what_nvidia_says)
{
    unsigned fitting = 0;
    for (unsigned i = 0; i < 200000; i++) {
        const struct device *device = &devices[below(sizeof devices / sizeof devices[0])];
        struct front_kernel kernel = some_kernel(&device->sm);
        unsigned threads = 1 + below(1024);
        uint64_t dynamic = below(2) != 0 ? 0 : below((uint32_t)kernel.dynamic_max + 300);
        struct cudaOccDeviceProp properties = their_device(&device->sm);
        struct cudaOccFuncAttributes attributes = their_kernel(&kernel);
        struct cudaOccDeviceState state = {.carveoutConfig = kernel.carveout};
        struct cudaOccResult theirs;
        cr_assert_eq(cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &properties, &attributes,
                                                             &state, (int)threads, dynamic),
                     CUDA_OCC_SUCCESS);
        unsigned ours = front_occupancy_blocks(&device->sm, &kernel, threads, dynamic);
        cr_assert_eq(
            (int)ours, theirs.activeBlocksPerMultiprocessor,
            "%s, %u registers, %u threads, %lu + %lu of %lu bytes, carveout %d: %u, not %d",
            device->name, kernel.registers, threads, (unsigned long)kernel.shared,
            (unsigned long)dynamic, (unsigned long)kernel.dynamic_max, kernel.carveout, ours,
            theirs.activeBlocksPerMultiprocessor);
        fitting += ours > 1;
    }
    cr_assert_gt(fitting, 50000);
}

Test(occupancy, shared_memory_that_is_left_is_what_nvidia_says)
{
    unsigned fitting = 0;
    for (unsigned i = 0; i < 200000; i++) {
        const struct device *device = &devices[below(sizeof devices / sizeof devices[0])];
        struct front_kernel kernel = some_kernel(&device->sm);
        unsigned threads = 1 + below(512), blocks = 1 + below(6);
        struct cudaOccDeviceProp properties = their_device(&device->sm);
        struct cudaOccFuncAttributes attributes = their_kernel(&kernel);
        struct cudaOccDeviceState state = {.carveoutConfig = kernel.carveout};
        size_t theirs = 0;
        uint64_t ours = 0;
        cudaOccError error = cudaOccAvailableDynamicSMemPerBlock(&theirs, &properties, &attributes,
                                                                 &state, (int)blocks, (int)threads);
        bool fits = front_occupancy_shared(&device->sm, &kernel, blocks, threads, &ours);
        cr_assert_eq(fits, error == CUDA_OCC_SUCCESS);
        /* NVIDIA's wraps around if static memory alone is more than the share of a block. */
        if (fits && kernel.shared <= device->sm.shared / blocks / 256 * 256) {
            cr_assert_eq(ours, theirs, "%s, %u blocks of %u: %lu, not %lu", device->name, blocks,
                         threads, (unsigned long)ours, (unsigned long)theirs);
            fitting++;
        }
    }
    cr_assert_gt(fitting, 50000);
}

Test(occupancy, a_device_without_facts_holds_nothing)
{
    struct front_sm none = {0};
    struct front_kernel kernel = {.threads_max = 1024, .registers = 16};
    cr_assert_eq(front_occupancy_blocks(&none, &kernel, 32, 0), 0);
    cr_assert_eq(front_occupancy_blocks(&devices[0].sm, &kernel, 0, 0), 0);
    cr_assert_eq(front_occupancy_blocks(&devices[0].sm, &kernel, 32, UINT64_MAX), 0);
}
