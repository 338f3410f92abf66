/* SPDX-License-Identifier: Apache-2.0 */
/* Stream memory operations and host functions: what reaches the library, and early refusals. */
#include <criterion/criterion.h>

#include "front/tests/fake_host.h"

#define ADDRESS UINT64_C(0x1000)

static void init(void)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
}

TestSuite(values, .init = init);

Test(values, single_calls_are_one_step)
{
    cr_assert_eq(cuStreamWaitValue32_v2(NULL, ADDRESS, 7, CU_STREAM_WAIT_VALUE_NOR), CUDA_SUCCESS);
    cr_assert_eq(fake_value_count, 1);
    cr_assert(!fake_values[0].write && fake_values[0].bytes == 4 && fake_values[0].value == 7);
    cr_assert_eq(fake_values[0].wait, CU_STREAM_WAIT_VALUE_NOR);
    cr_assert_eq(cuStreamWriteValue64_v2(NULL, ADDRESS, UINT64_MAX, 0), CUDA_SUCCESS);
    cr_assert(fake_values[0].write && fake_values[0].bytes == 8);
    cr_assert_eq(fake_values[0].value, UINT64_MAX);
}

Test(values, flags)
{
    cr_assert_eq(cuStreamWaitValue32_v2(NULL, ADDRESS, 7, 4), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamWaitValue64_v2(NULL, ADDRESS, 7, CU_STREAM_WAIT_VALUE_FLUSH),
                 CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuStreamWriteValue32_v2(NULL, ADDRESS, 7, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(fake_value_count, 0);
}

Test(values, a_batch_is_all_of_its_steps_or_none)
{
    CUstreamBatchMemOpParams ops[256] = {
        {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, ADDRESS, {3}, 0, 0}},
        {.memoryBarrier = {CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_SYS}},
        {.waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_64, ADDRESS + 8, {5}, 1, 0}},
    };
    ops[2].waitValue.value64 = UINT64_C(5) << 32;
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 3, ops, 0), CUDA_SUCCESS);
    cr_assert_eq(fake_value_count, 2);
    cr_assert(fake_values[0].write && fake_values[0].bytes == 4 && fake_values[0].value == 3);
    cr_assert(!fake_values[1].write && fake_values[1].bytes == 8);
    cr_assert_eq(fake_values[1].value, UINT64_C(5) << 32);
    cr_assert_eq(fake_values[1].wait, CU_STREAM_WAIT_VALUE_EQ);
    ops[2].waitValue.flags = 9;
    fake_value_count = 0;
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 3, ops, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 256, ops, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 1, ops, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ops[0].operation = (CUstreamBatchMemOpType)77;
    cr_assert_eq(cuStreamBatchMemOp_v2(NULL, 1, ops, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(fake_value_count, 0);
}

/* ---- host functions */

static CUresult in_function, in_callback, told;

static void function(void *data)
{
    CUdevice device;
    in_function = cuCtxGetDevice(&device);
    *(int *)data += 1;
}

static void callback(CUstream stream, CUresult status, void *data)
{
    in_callback = front_ready();
    told = status;
    *(int *)data += stream == CU_STREAM_LEGACY;
}

Test(values, a_host_function_may_make_no_call)
{
    int calls = 0;
    const struct front_host_call one = {.function = function, .data = &calls};
    const struct front_host_call other = {
        .callback = callback, .stream = CU_STREAM_LEGACY, .data = &calls};
    front_host_call_run(&one, CUDA_SUCCESS);
    front_host_call_run(&one, CUDA_ERROR_LAUNCH_FAILED);
    cr_assert_eq(calls, 1, "after an error a host function is not called");
    cr_assert_eq(in_function, CUDA_ERROR_NOT_PERMITTED);
    front_host_call_run(&other, CUDA_ERROR_LAUNCH_FAILED);
    cr_assert_eq(calls, 2);
    cr_assert_eq(told, CUDA_ERROR_LAUNCH_FAILED);
    cr_assert_eq(in_callback, CUDA_ERROR_NOT_PERMITTED);
    cr_assert_eq(front_ready(), CUDA_SUCCESS);
}

Test(values, host_functions_are_checked_and_passed_on)
{
    int data;
    CUstream stream = CU_STREAM_LEGACY;
    cr_assert_eq(cuLaunchHostFunc(stream, function, &data), CUDA_SUCCESS);
    cr_assert_eq(fake_host_call.function, function);
    cr_assert_eq(fake_host_call.data, &data);
    cr_assert_eq(cuStreamAddCallback(stream, callback, NULL, 0), CUDA_SUCCESS);
    cr_assert_eq(fake_host_call.callback, callback);
    cr_assert_eq(fake_host_call.stream, stream);
    cr_assert_eq(fake_host_call.function, NULL);
    fake_host_call = (struct front_host_call){0};
    cr_assert_eq(cuLaunchHostFunc(stream, NULL, &data), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamAddCallback(stream, callback, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(fake_host_call.callback, NULL, "a refused one is not passed on");
}
