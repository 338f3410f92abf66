/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and the host: functions that streams call, and values in memory that they wait for and
 * write. Tests hold a stream by a word of pinned memory, as the server does. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <unistd.h>

#include "driver.h"

static CUstream stream;
static uint32_t *word; /* pinned */
static CUdeviceptr word_device;

static void setup(void)
{
    void *memory;

    open_driver();
    CALL(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(
        driver.cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    CALL(driver.cuMemHostGetDevicePointer_v2(&word_device, memory, 0));
    word = memory;
    memset(word, 0, 4096);
}

TestSuite(driver_host, .init = setup, .timeout = 120);

static void write_word(unsigned index, uint32_t value)
{
    __atomic_store_n(&word[index], value, __ATOMIC_RELEASE);
}

static uint32_t read_word(unsigned index)
{
    return __atomic_load_n(&word[index], __ATOMIC_ACQUIRE);
}

/* ---- values */

Test(driver_host, a_stream_waits_for_a_word_of_pinned_memory)
{
    CALL(driver.cuStreamWaitValue32_v2(stream, word_device, 3, CU_STREAM_WAIT_VALUE_GEQ));
    CALL(driver.cuStreamWriteValue32_v2(stream, word_device + 4, 9, 0));
    usleep(20000);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    write_word(0, 2);
    usleep(20000);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    cr_assert_eq(read_word(1), 0);
    write_word(0, 3);
    CALL(driver.cuStreamSynchronize(stream));
    cr_assert_eq(read_word(1), 9);
}

/* The server relies on this: a word that only grows serves one wait after the other, also when it
 * has grown further before the driver looks. */
Test(driver_host, a_word_that_grows_serves_many_waits)
{
    CUstream other;

    CALL(driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    write_word(0, UINT32_MAX);
    for (uint32_t i = 0; i < 100; i++) { /* around the largest number: the comparison is cyclic */
        CALL(driver.cuStreamWaitValue32_v2(i % 2 ? stream : other, word_device, i,
                                           CU_STREAM_WAIT_VALUE_GEQ));
    }
    write_word(0, 98);
    CALL(driver.cuStreamSynchronize(other));
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    write_word(0, 1000);
    CALL(driver.cuStreamSynchronize(stream));
}

Test(driver_host, conditions_of_waits)
{
    CALL(driver.cuStreamWaitValue32_v2(stream, word_device, 6, CU_STREAM_WAIT_VALUE_EQ));
    write_word(0, 7);
    usleep(20000);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    write_word(0, 6);
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuStreamWaitValue32_v2(stream, word_device, 8, CU_STREAM_WAIT_VALUE_AND));
    usleep(20000);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    write_word(0, 12);
    CALL(driver.cuStreamSynchronize(stream));
    REQUIRE(driver.cuStreamWaitValue32_v2(stream, word_device, 8, 77), CUDA_ERROR_INVALID_VALUE);
}

Test(driver_host, values_of_64_bits)
{
    CUdeviceptr device;
    uint64_t got = 0;
    int supported = 0;

    CALL(driver.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                     0));
    if (!supported) {
        return; /* the device has none, and says so */
    }
    CALL(driver.cuMemAlloc_v2(&device, 16));
    CALL(driver.cuMemsetD32_v2(device, 0, 4));
    CALL(driver.cuCtxSynchronize());
    CALL(
        driver.cuStreamWaitValue64_v2(stream, device, UINT64_C(5) << 32, CU_STREAM_WAIT_VALUE_GEQ));
    CALL(driver.cuStreamWriteValue64_v2(stream, device + 8, UINT64_C(7) << 40, 0));
    usleep(20000);
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    CALL(driver.cuStreamWriteValue64_v2(NULL, device, UINT64_C(6) << 32, 0));
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuMemcpyDtoH_v2(&got, device + 8, sizeof got));
    cr_assert_eq(got, UINT64_C(7) << 40);
}

/* A kernel that runs is what the stream waits for. */
Test(driver_host, a_stream_waits_for_what_a_kernel_writes)
{
    CUstream other;
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    CUdeviceptr data;
    unsigned value = 5, got = 0;
    void *parameters[] = {&data, &value};

    CALL(driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuMemAlloc_v2(&data, 8));
    CALL(driver.cuMemsetD32_v2(data, 0, 2));
    CALL(driver.cuCtxSynchronize()); /* the streams do not wait for the legacy one */
    CALL(driver.cuStreamWaitValue32_v2(stream, data, 5, CU_STREAM_WAIT_VALUE_EQ));
    CALL(driver.cuStreamWriteValue32_v2(stream, data + 4, 6, 0));
    CALL(driver.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, other, parameters, NULL));
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuMemcpyDtoH_v2(&got, data + 4, sizeof got));
    cr_assert_eq(got, 6);
}

Test(driver_host, wrong_values)
{
    CUdeviceptr data;

    CALL(driver.cuMemAlloc_v2(&data, 16));
    REQUIRE(driver.cuStreamWaitValue32_v2(stream, data + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(driver.cuStreamWriteValue32_v2(stream, 64, 0, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(driver.cuStreamWriteValue32_v2((CUstream)0x1234, data, 0, 0),
            CUDA_ERROR_INVALID_HANDLE);
}

/* ---- functions */

static _Atomic int calls, release;

static void CUDA_CB count(void *data)
{
    *(int *)data = atomic_fetch_add(&calls, 1) + 1;
}

static void CUDA_CB hold(void *data)
{
    while (atomic_load(&release) == 0) {
        usleep(1000);
    }
    count(data);
}

Test(driver_host, functions_are_called_in_the_order_of_the_stream)
{
    int order[50] = {0};

    CALL(driver.cuStreamWaitValue32_v2(stream, word_device, 1, CU_STREAM_WAIT_VALUE_GEQ));
    for (int i = 0; i < 50; i++) {
        CALL(driver.cuLaunchHostFunc(stream, count, &order[i]));
    }
    usleep(20000);
    cr_assert_eq(calls, 0);
    write_word(0, 1);
    CALL(driver.cuStreamSynchronize(stream));
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(order[i], i + 1);
    }
}

Test(driver_host, a_function_holds_its_stream_and_no_other)
{
    CUstream other;
    CUevent event;
    int first = 0;

    CALL(driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CALL(driver.cuLaunchHostFunc(stream, hold, &first));
    CALL(driver.cuEventRecord(event, stream));
    CALL(driver.cuStreamWriteValue32_v2(other, word_device, 4, 0));
    CALL(driver.cuStreamSynchronize(other));
    REQUIRE(driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    REQUIRE(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    release = 1;
    CALL(driver.cuEventSynchronize(event));
    cr_assert_eq(first, 1);
}

static CUresult told[2], in_callback;

static void CUDA_CB callback(CUstream handle, CUresult status, void *data)
{
    CUdeviceptr memory;

    cr_assert_eq(handle, stream);
    *(CUresult *)data = status;
    in_callback = driver.cuMemAlloc_v2(&memory, 256);
    atomic_fetch_add(&calls, 1);
}

Test(driver_host, a_callback_may_make_no_call)
{
    told[0] = CUDA_ERROR_UNKNOWN;
    CALL(driver.cuStreamAddCallback(stream, callback, &told[0], 0));
    CALL(driver.cuStreamSynchronize(stream));
    cr_assert_eq(told[0], CUDA_SUCCESS);
    cr_assert_eq(in_callback, CUDA_ERROR_NOT_PERMITTED);
    REQUIRE(driver.cuStreamAddCallback(stream, callback, &told[0], 1), CUDA_ERROR_INVALID_VALUE);
}

Test(driver_host, after_an_error_callbacks_are_told_and_functions_not_called)
{
    CUmodule module;
    CUfunction outside = kernel(&module, "outside");
    int never = 0;

    CALL(driver.cuStreamWaitValue32_v2(stream, word_device, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CALL(driver.cuLaunchKernel(outside, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CALL(driver.cuLaunchHostFunc(stream, count, &never));
    CALL(driver.cuStreamAddCallback(stream, callback, &told[0], 0));
    CALL(driver.cuStreamAddCallback(stream, callback, &told[1], 0));
    write_word(0, 1);
    REQUIRE(driver.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    while (atomic_load(&calls) < 2) {
        usleep(1000);
    }
    cr_assert_eq(never, 0);
    cr_assert_eq(told[0], CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(told[1], CUDA_ERROR_ILLEGAL_ADDRESS);
}
