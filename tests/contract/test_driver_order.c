/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: asynchrony, order and waits. The kernel `wait` runs until a copy on
 * another stream releases it, so no test depends on time. */
#include <criterion/criterion.h>

#include "driver.h"

static CUdeviceptr flag;
static CUfunction wait_kernel;
static CUmodule module;

static void setup(void)
{
    open_driver();
    wait_kernel = kernel(&module, "wait");
    CALL(driver.cuMemAlloc_v2(&flag, 4));
    CALL(driver.cuMemsetD32_v2(flag, 0, 1));
    CALL(driver.cuCtxSynchronize());
}

TestSuite(driver_order, .init = setup, .timeout = 120);

static CUstream stream_new(unsigned flags)
{
    CUstream stream;

    CALL(driver.cuStreamCreate(&stream, flags));
    return stream;
}

static void launch_wait(CUstream stream)
{
    void *parameters[] = {&flag};

    CALL(driver.cuLaunchKernel(wait_kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void let_go(CUstream stream)
{
    static const unsigned one = 1;

    CALL(driver.cuMemcpyHtoDAsync_v2(flag, &one, sizeof one, stream));
}

Test(driver_order, a_launch_returns_while_the_kernel_runs)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING),
             other = stream_new(CU_STREAM_NON_BLOCKING);
    CUevent before, after;

    CALL(driver.cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    CALL(driver.cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    CALL(driver.cuEventRecord(before, stream));
    launch_wait(stream);
    CALL(driver.cuEventRecord(after, stream));
    CALL(driver.cuEventSynchronize(before));
    REQUIRE(driver.cuEventQuery(after), CUDA_ERROR_NOT_READY);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    let_go(other);
    CALL(driver.cuEventSynchronize(after));
    CALL(driver.cuEventQuery(after));
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuStreamQuery(stream));
}

/* A server hands small copies to the driver out of memory that it uses again at once. */
Test(driver_order, a_small_copy_has_its_source_while_the_kernel_before_it_runs)
{
    enum { BYTES = 4096, COPIES = 100 };
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING),
             other = stream_new(CU_STREAM_NON_BLOCKING);
    static unsigned char host[BYTES], got[COPIES * BYTES];
    CUdeviceptr data;

    CALL(driver.cuMemAlloc_v2(&data, sizeof got));
    launch_wait(stream);
    for (unsigned i = 0; i < COPIES; i++) {
        memset(host, (int)i + 1, sizeof host);
        CALL(driver.cuMemcpyHtoDAsync_v2(data + (CUdeviceptr)i * BYTES, host, BYTES, stream));
    }
    memset(host, 0, sizeof host);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    let_go(other);
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuMemcpyDtoH_v2(got, data, sizeof got));
    for (unsigned i = 0; i < COPIES; i++) {
        cr_assert(got[i * BYTES] == i + 1 && got[(i + 1) * BYTES - 1] == i + 1, "copy %u", i);
    }
}

Test(driver_order, a_stream_waits_for_an_event_of_another)
{
    CUstream first = stream_new(CU_STREAM_NON_BLOCKING),
             second = stream_new(CU_STREAM_NON_BLOCKING),
             third = stream_new(CU_STREAM_NON_BLOCKING);
    CUevent done;
    CUdeviceptr data;
    unsigned got = 0;

    CALL(driver.cuMemAlloc_v2(&data, 4));
    CALL(driver.cuMemsetD32_v2(data, 1, 1));
    CALL(driver.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    launch_wait(first);
    CALL(driver.cuMemsetD32Async(data, 2, 1, first));
    CALL(driver.cuEventRecord(done, first));
    CALL(driver.cuStreamWaitEvent(second, done, 0));
    /* An event that is recorded again later does not change what was waited for. */
    CALL(driver.cuEventRecord(done, third));
    REQUIRE(driver.cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    let_go(third);
    CALL(driver.cuMemcpyDtoHAsync_v2(&got, data, sizeof got, second));
    CALL(driver.cuStreamSynchronize(second));
    cr_assert_eq(got, 2, "the second stream read %u", got);
}

Test(driver_order, the_default_stream_and_blocking_streams_wait_for_each_other)
{
    CUstream blocking = stream_new(CU_STREAM_DEFAULT), other = stream_new(CU_STREAM_NON_BLOCKING);
    CUevent event;

    CALL(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    launch_wait(blocking);
    CALL(driver.cuEventRecord(event, NULL));
    REQUIRE(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CALL(driver.cuStreamQuery(other));
    let_go(other);
    CALL(driver.cuEventSynchronize(event));
    CALL(driver.cuStreamQuery(blocking));
}

Test(driver_order, elapsed_time_needs_two_recorded_events_that_have_happened)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING),
             other = stream_new(CU_STREAM_NON_BLOCKING);
    CUevent start, stop;
    float ms = -1;

    CALL(driver.cuEventCreate(&start, 0));
    CALL(driver.cuEventCreate(&stop, 0));
    REQUIRE(driver.cuEventElapsedTime_v2(&ms, start, stop), CUDA_ERROR_INVALID_HANDLE);
    CALL(driver.cuEventRecord(start, stream));
    launch_wait(stream);
    CALL(driver.cuEventRecord(stop, stream));
    REQUIRE(driver.cuEventElapsedTime_v2(&ms, start, stop), CUDA_ERROR_NOT_READY);
    let_go(other);
    CALL(driver.cuEventSynchronize(stop));
    CALL(driver.cuEventElapsedTime_v2(&ms, start, stop));
    cr_assert(ms >= 0 && ms < 120000, "%g ms", ms);
}

Test(driver_order, free_waits_for_the_work_before_it)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING),
             other = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr data;

    CALL(driver.cuMemAlloc_v2(&data, 1 << 20));
    launch_wait(stream);
    let_go(other);
    CALL(driver.cuMemsetD8Async(data, 1, 1 << 20, stream));
    CALL(driver.cuMemFree_v2(data));
    CALL(driver.cuStreamQuery(stream));
}

Test(driver_order, destroying_a_stream_lets_its_work_finish)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING),
             other = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr data;
    unsigned got = 0;

    CALL(driver.cuMemAlloc_v2(&data, 4));
    launch_wait(stream);
    CALL(driver.cuMemsetD32Async(data, 9, 1, stream));
    CALL(driver.cuStreamDestroy_v2(stream));
    let_go(other);
    CALL(driver.cuCtxSynchronize());
    CALL(driver.cuMemcpyDtoH_v2(&got, data, sizeof got));
    cr_assert_eq(got, 9);
}
