/* The occupancy calculator against values of CUDA's own for compute capability 7.5. */
#include <criterion/criterion.h>

#include "softgpu/work.h"

static struct sg_kernel kernel(unsigned registers, unsigned shared)
{
    return (struct sg_kernel){.registers = registers, .shared_bytes = shared, .max_threads = 1024};
}

Test(occupancy, each_limit_in_turn)
{
    struct sg_kernel small = kernel(16, 0), many = kernel(64, 0), huge = kernel(255, 0);
    cr_assert_eq(sg_occupancy_blocks(&small, 32, 0), 16, "blocks");
    cr_assert_eq(sg_occupancy_blocks(&small, 256, 0), 4, "warps");
    cr_assert_eq(sg_occupancy_blocks(&small, 1024, 0), 1, "warps");
    cr_assert_eq(sg_occupancy_blocks(&many, 256, 0), 4, "registers: 32 warps of 64");
    cr_assert_eq(sg_occupancy_blocks(&huge, 256, 0), 1, "registers: 8 warps");
    cr_assert_eq(sg_occupancy_blocks(&huge, 512, 0), 0, "more than the registers allow");
    cr_assert_eq(sg_occupancy_threads_max(&huge), 256);
    cr_assert_eq(sg_occupancy_blocks(&small, 64, 16 << 10), 4, "shared memory");
    cr_assert_eq(sg_occupancy_blocks(&small, 64, 64 << 10), 1);
    cr_assert_eq(sg_occupancy_blocks(&small, 64, (64 << 10) + 1), 0);
    cr_assert_eq(sg_occupancy_blocks(&small, 64, UINT64_MAX), 0);
    cr_assert_eq(sg_occupancy_blocks(&small, 0, 0), 0);
    cr_assert_eq(sg_occupancy_blocks(&small, 2000, 0), 0);
}

Test(occupancy, shared_memory_that_is_left)
{
    struct sg_kernel plain = kernel(16, 0), some = kernel(16, 1000);
    cr_assert_eq(sg_occupancy_shared(&plain, 1, 128), 64 << 10);
    cr_assert_eq(sg_occupancy_shared(&plain, 4, 128), 16 << 10);
    cr_assert_eq(sg_occupancy_shared(&some, 4, 128), (16 << 10) - 1000);
    cr_assert_eq(sg_occupancy_shared(&plain, 9, 128), 0, "eight is the most");
    cr_assert_eq(sg_dynamic_shared_default(&some), (48 << 10) - 1000);
}

Test(occupancy, answers_agree_with_each_other)
{
    for (unsigned registers = 1; registers <= 255; registers += 7) {
        for (unsigned threads = 32; threads <= 1024; threads += 32) {
            struct sg_kernel k = kernel(registers, 512);
            unsigned blocks = sg_occupancy_blocks(&k, threads, 0);
            if (blocks != 0) {
                uint64_t shared = sg_occupancy_shared(&k, blocks, threads);
                cr_assert_eq(sg_occupancy_blocks(&k, threads, shared), blocks);
            }
        }
    }
}
