/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, and the handles of a context after its end. */
#include <criterion/criterion.h>

#include "driver.h"

TestSuite(driver_context, .init = open_driver, .timeout = 120);

Test(driver_context, creating_makes_current_and_destroying_pops)
{
    CUcontext other, current;
    CUdevice device = -1;

    CALL(driver.cuCtxCreate_v2(&other, 0, 0));
    CALL(driver.cuCtxGetCurrent(&current));
    cr_assert_eq(current, other);
    CALL(driver.cuCtxGetDevice(&device));
    cr_assert_eq(device, 0);
    CALL(driver.cuCtxDestroy_v2(other));
    CALL(driver.cuCtxGetCurrent(&current));
    cr_assert_eq(current, context);
}

Test(driver_context, what_a_context_held_is_given_back_with_it)
{
    size_t before, after, total;
    CUdeviceptr data;
    CUstream stream;
    CUevent event;
    CUmodule module;
    void *host;

    /* A driver may keep something for the first context of a process: begin with one. */
    for (int cycle = 0; cycle < 20; cycle++) {
        CUcontext other;
        CALL(driver.cuCtxCreate_v2(&other, 0, 0));
        CALL(driver.cuMemGetInfo_v2(cycle == 0 ? &before : &after, &total));
        CALL(driver.cuMemAlloc_v2(&data, 5 << 20));
        CALL(driver.cuMemHostAlloc(&host, 1 << 20, 0));
        CALL(driver.cuStreamCreate(&stream, 0));
        CALL(driver.cuEventCreate(&event, 0));
        (void)kernel(&module, "store");
        CALL(driver.cuMemsetD8Async(data, 1, 5 << 20, stream));
        CALL(driver.cuEventRecord(event, stream));
        CALL(driver.cuCtxDestroy_v2(other));
    }
    cr_assert_geq(after, before, "%zu bytes were free, then %zu", before, after);
}

Test(driver_context, a_primary_context_lives_while_it_is_retained)
{
    CUcontext first, second;
    unsigned flags = 9;
    int active = -1;

    CALL(driver.cuDevicePrimaryCtxGetState(0, &flags, &active));
    cr_assert_eq(active, 0);
    CALL(driver.cuDevicePrimaryCtxRetain(&first, 0));
    CALL(driver.cuDevicePrimaryCtxRetain(&second, 0));
    cr_assert_eq(first, second);
    CALL(driver.cuDevicePrimaryCtxRelease_v2(0));
    CALL(driver.cuDevicePrimaryCtxGetState(0, &flags, &active));
    cr_assert_eq(active, 1);
    CALL(driver.cuDevicePrimaryCtxRelease_v2(0));
    CALL(driver.cuDevicePrimaryCtxGetState(0, &flags, &active));
    cr_assert_eq(active, 0);
    REQUIRE(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

Test(driver_context, streams_know_where_they_belong)
{
    CUstream stream, urgent;
    CUcontext of = NULL;
    unsigned flags = 99;
    int priority = 99, least = 99, greatest = 99;
    unsigned long long one = 0, two = 0;

    CALL(driver.cuCtxGetStreamPriorityRange(&least, &greatest));
    cr_assert_leq(greatest, least);
    CALL(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuStreamCreateWithPriority(&urgent, CU_STREAM_DEFAULT, greatest - 100));
    CALL(driver.cuStreamGetFlags(stream, &flags));
    cr_assert_eq(flags, CU_STREAM_NON_BLOCKING);
    CALL(driver.cuStreamGetPriority(urgent, &priority));
    cr_assert_eq(priority, greatest, "a priority beyond the range is cut");
    CALL(driver.cuStreamGetCtx(urgent, &of));
    cr_assert_eq(of, context);
    CALL(driver.cuStreamGetId(stream, &one));
    CALL(driver.cuStreamGetId(urgent, &two));
    cr_assert_neq(one, two);
    CALL(driver.cuStreamDestroy_v2(stream));
    CALL(driver.cuStreamDestroy_v2(urgent));
}

Test(driver_context, limits_are_kept)
{
    size_t value = 0;

    CALL(driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    CALL(driver.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    cr_assert_geq(value, 4096);
}

/* The server sets back what a program has set, when that resets its context. */
Test(driver_context, limits_belong_to_one_context)
{
    CUcontext other;
    size_t first, second;

    CALL(driver.cuCtxGetLimit(&first, CU_LIMIT_STACK_SIZE));
    CALL(driver.cuCtxCreate_v2(&other, 0, 0));
    CALL(driver.cuCtxGetLimit(&second, CU_LIMIT_STACK_SIZE));
    CALL(driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, second + 1024));
    CALL(driver.cuCtxSetCurrent(context));
    size_t now = 0;
    CALL(driver.cuCtxGetLimit(&now, CU_LIMIT_STACK_SIZE));
    cr_assert_eq(now, first, "%zu bytes, %zu before another context was given more", now, first);
    CALL(driver.cuCtxSetCurrent(other));
    CALL(driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, second));
    CALL(driver.cuCtxGetLimit(&now, CU_LIMIT_STACK_SIZE));
    cr_assert_eq(now, second);
}

Test(driver_context, attributes_make_sense)
{
    static const struct {
        CUdevice_attribute which;
        int least;
    } rows[] = {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
                {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int value = -1;
        CALL(driver.cuDeviceGetAttribute(&value, rows[i].which, 0));
        cr_assert_geq(value, rows[i].least, "attribute %d is %d", (int)rows[i].which, value);
    }
}

Test(driver_context, occupancy_is_consistent)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    int blocks = 0, threads = 0, grid = 0, block = 0;
    size_t shared = 0;

    CALL(driver.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, store));
    cr_assert(threads >= 32 && threads <= 1024, "%d threads", threads);
    CALL(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 128, 0));
    cr_assert_geq(blocks, 1);
    CALL(driver.cuOccupancyAvailableDynamicSMemPerBlock(&shared, store, blocks, 128));
    CALL(driver.cuOccupancyMaxPotentialBlockSize(&grid, &block, store, NULL, 0, 0));
    cr_assert(block >= 32 && block <= threads && grid >= 1, "%d blocks of %d", grid, block);
}
