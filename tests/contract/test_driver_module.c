/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, launches and faults. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "driver.h"

TestSuite(driver_module, .init = open_driver, .timeout = 120);

Test(driver_module, each_load_has_variables_of_its_own)
{
    CUmodule first, second;
    CUdeviceptr one, two;
    size_t bytes = 0;
    const unsigned changed = 1;
    unsigned got = 0;

    (void)kernel(&first, "store");
    (void)kernel(&second, "store");
    CALL(driver.cuModuleGetGlobal_v2(&one, &bytes, first, "answer"));
    CALL(driver.cuModuleGetGlobal_v2(&two, NULL, second, "answer"));
    cr_assert_eq(bytes, 4);
    cr_assert_neq(one, two);
    CALL(driver.cuMemcpyHtoD_v2(one, &changed, sizeof changed));
    CALL(driver.cuMemcpyDtoH_v2(&got, two, sizeof got));
    cr_assert_eq(got, 42);
    CALL(driver.cuModuleUnload(first));
    CALL(driver.cuModuleUnload(second));
}

Test(driver_module, a_launch_copies_its_parameters)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    CUdeviceptr data;
    unsigned value = 11, got[64];
    void *parameters[] = {&data, &value};

    CALL(driver.cuMemAlloc_v2(&data, sizeof got));
    CUdeviceptr kept = data;
    CALL(driver.cuLaunchKernel(store, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    value = 0;
    data = 0;
    CALL(driver.cuMemcpyDtoH_v2(got, kept, sizeof got));
    for (int i = 0; i < 64; i++)
        cr_assert_eq(got[i], 11);
}

Test(driver_module, a_kernel_knows_its_parameters)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    size_t offset = 99, size = 99;

    CALL(driver.cuFuncGetParamInfo(store, 1, &offset, &size));
    cr_assert_eq(offset, 8);
    cr_assert_eq(size, 4);
    REQUIRE(driver.cuFuncGetParamInfo(store, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

static void *use_context(void *argument)
{
    CUdeviceptr *data = argument;

    CALL(driver.cuCtxSetCurrent(context));
    CALL(driver.cuMemAlloc_v2(data, 256));
    CALL(driver.cuMemsetD8_v2(*data, 3, 256));
    return NULL;
}

Test(driver_module, a_context_is_current_per_thread_and_shared_by_threads)
{
    pthread_t thread;
    CUdeviceptr data = 0;
    unsigned char got = 0;

    cr_assert_eq(pthread_create(&thread, NULL, use_context, &data), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    CALL(driver.cuMemcpyDtoH_v2(&got, data, 1));
    cr_assert_eq(got, 3);
}

Test(driver_module, a_fault_comes_with_the_next_wait_and_stays)
{
    CUmodule module;
    CUfunction outside = kernel(&module, "outside");
    CUdeviceptr data;

    CALL(driver.cuLaunchKernel(outside, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    REQUIRE(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(driver.cuMemAlloc_v2(&data, 256), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(driver_module, events_complete_with_the_error_when_their_context_faults)
{
    CUmodule module;
    CUfunction outside = kernel(&module, "outside");
    CUstream stream;
    CUevent event;

    CALL(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CALL(driver.cuLaunchKernel(outside, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    /* The fault may have happened by now: then recording answers it, and so does the event. */
    CUresult recorded = driver.cuEventRecord(event, stream);
    cr_assert(recorded == CUDA_SUCCESS || recorded == CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(driver.cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(driver.cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
}
