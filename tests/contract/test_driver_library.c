/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and kernels, JIT logs, and the arguments of launches. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "driver.h"

TestSuite(driver_library, .init = open_driver, .timeout = 120);

static CUlibrary library_new(void)
{
    CUlibrary library;

    CALL(driver.cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

Test(driver_library, a_kernel_is_launched_as_if_it_were_a_function)
{
    CUlibrary library = library_new();
    CUkernel store;
    CUdeviceptr data;
    unsigned value = 8, got = 0, count = 0;
    void *parameters[] = {&data, &value};
    size_t offset = 99, size = 99;

    CALL(driver.cuLibraryGetKernel(&store, library, "store"));
    REQUIRE(driver.cuLibraryGetKernel(&store, library, "stare"), CUDA_ERROR_NOT_FOUND);
    CALL(driver.cuLibraryGetKernelCount(&count, library));
    cr_assert_eq(count, 3);
    CALL(driver.cuKernelGetParamInfo(store, 1, &offset, &size));
    cr_assert(offset == 8 && size == 4);
    CALL(driver.cuMemAlloc_v2(&data, 4));
    CALL(driver.cuLaunchKernel((CUfunction)store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CALL(driver.cuMemcpyDtoH_v2(&got, data, sizeof got));
    cr_assert_eq(got, 8);
    CALL(driver.cuLibraryUnload(library));
}

Test(driver_library, a_library_outlives_contexts_and_has_variables_in_each)
{
    CUlibrary library = library_new();
    CUcontext other;
    CUdeviceptr here, there;
    size_t bytes = 0;
    unsigned changed = 1, got = 0;

    CALL(driver.cuLibraryGetGlobal(&here, &bytes, library, "answer"));
    cr_assert_eq(bytes, 4);
    CALL(driver.cuMemcpyHtoD_v2(here, &changed, sizeof changed));
    CALL(driver.cuCtxCreate_v2(&other, 0, 0));
    CALL(driver.cuLibraryGetGlobal(&there, NULL, library, "answer"));
    CALL(driver.cuMemcpyDtoH_v2(&got, there, sizeof got));
    cr_assert_eq(got, 42, "a fresh context sees %u", got);
    CALL(driver.cuCtxDestroy_v2(other));
    CALL(driver.cuLibraryGetGlobal(&there, NULL, library, "answer"));
    cr_assert_eq(there, here);
    CALL(driver.cuLibraryUnload(library));
}

Test(driver_library, parameters_may_come_packed)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    CUdeviceptr data;
    unsigned got = 0;

    CALL(driver.cuMemAlloc_v2(&data, 4));
    struct {
        CUdeviceptr data;
        unsigned value;
    } packed = {data, 19};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CALL(driver.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    CALL(driver.cuMemcpyDtoH_v2(&got, data, sizeof got));
    cr_assert_eq(got, 19);
}

Test(driver_library, more_shared_memory_is_there_on_request)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    CUdeviceptr data;
    unsigned value = 1, most = 0;
    void *parameters[] = {&data, &value};
    int optin = 0;

    CALL(driver.cuMemAlloc_v2(&data, 4));
    CALL(driver.cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                     0));
    most = (unsigned)optin;
    cr_assert_gt(most, 49152);
    REQUIRE(driver.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, most, NULL, parameters, NULL),
            CUDA_ERROR_INVALID_VALUE);
    CALL(driver.cuFuncSetAttribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
    CALL(driver.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, most, NULL, parameters, NULL));
    CALL(driver.cuCtxSynchronize());
}

Test(driver_library, the_log_names_the_line)
{
    static const char bad[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                              ".visible .entry k()\n{\n    bogus.u32 %r1, 1;\n    ret;\n}\n";
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;

    REQUIRE(driver.cuModuleLoadDataEx(&module, bad, 2, options, values), CUDA_ERROR_INVALID_PTX);
    cr_assert_not_null(strstr(log, "line 6"), "the log says '%s'", log);
    cr_assert_geq((uintptr_t)values[1], strlen(log));
    /* A log that is too short is cut, not overrun. */
    char small[8] = {0};
    values[0] = small;
    values[1] = (void *)(uintptr_t)4;
    REQUIRE(driver.cuModuleLoadDataEx(&module, bad, 2, options, values), CUDA_ERROR_INVALID_PTX);
    cr_assert_eq(small[4], 0);
}
