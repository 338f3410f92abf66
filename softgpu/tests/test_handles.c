/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that are invalid, of the wrong kind, or destroyed: every call returns an error, none
 * crashes. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/cuda_driver.h"

static struct cuda_driver driver;
static CUcontext context;

static void setup(void)
{
    char why[256] = "";
    cr_assert_eq(cuda_driver_open(&driver, SOFTGPU_LIBRARY, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(driver.cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
}

#define WRONG(expr, code)                                                                          \
    do {                                                                                           \
        CUresult result_ = (expr);                                                                 \
        cr_assert_eq(result_, (code), "%s with %llx gives %d", #expr, (unsigned long long)handle,  \
                     (int)result_);                                                                \
    } while (0)

static void streams_and_events(uint64_t handle)
{
    CUstream stream = (CUstream)(uintptr_t)handle;
    CUevent event = (CUevent)(uintptr_t)handle;
    const CUresult invalid = CUDA_ERROR_INVALID_HANDLE;
    unsigned flags;
    float ms;
    WRONG(driver.cuStreamDestroy_v2(stream), invalid);
    if (handle > 2) {
        WRONG(driver.cuStreamSynchronize(stream), invalid);
        WRONG(driver.cuStreamQuery(stream), invalid);
        WRONG(driver.cuStreamGetFlags(stream, &flags), invalid);
        WRONG(driver.cuMemsetD8Async(4096, 0, 1, stream), invalid);
    }
    WRONG(driver.cuEventDestroy_v2(event), invalid);
    WRONG(driver.cuEventRecord(event, NULL), invalid);
    WRONG(driver.cuEventQuery(event), invalid);
    WRONG(driver.cuEventSynchronize(event), invalid);
    WRONG(driver.cuEventElapsedTime_v2(&ms, event, event), invalid);
    WRONG(driver.cuStreamWaitEvent(NULL, event, 0), invalid);
}

static void code(uint64_t handle)
{
    CUmodule module = (CUmodule)(uintptr_t)handle;
    CUfunction function = (CUfunction)(uintptr_t)handle;
    CUlibrary library = (CUlibrary)(uintptr_t)handle;
    CUkernel kernel = (CUkernel)(uintptr_t)handle;
    const CUresult invalid = CUDA_ERROR_INVALID_HANDLE;
    int value;
    unsigned count;
    CUfunction found;
    CUkernel found_kernel;
    WRONG(driver.cuModuleUnload(module), invalid);
    WRONG(driver.cuModuleGetFunction(&found, module, "k"), invalid);
    WRONG(driver.cuModuleGetGlobal_v2(NULL, NULL, module, "v"), invalid);
    WRONG(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), invalid);
    WRONG(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function), invalid);
    WRONG(driver.cuLibraryUnload(library), invalid);
    WRONG(driver.cuLibraryGetKernel(&found_kernel, library, "k"), invalid);
    WRONG(driver.cuLibraryGetKernelCount(&count, library), invalid);
    WRONG(driver.cuKernelGetFunction(&found, kernel), invalid);
    WRONG(driver.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0), invalid);
}

static void contexts(uint64_t handle)
{
    CUcontext wrong = (CUcontext)(uintptr_t)handle;
    WRONG(driver.cuCtxDestroy_v2(wrong), CUDA_ERROR_INVALID_CONTEXT);
    if (handle != 0) {
        WRONG(driver.cuCtxSynchronize_v2(wrong), CUDA_ERROR_INVALID_CONTEXT);
        cr_assert_neq(driver.cuCtxSetCurrent(wrong), CUDA_SUCCESS);
    }
    WRONG(driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
}

Test(handles, rubbish_is_answered, .init = setup)
{
    static const uint64_t rubbish[] = {0,
                                       3,
                                       0x1234,
                                       0x7fffffffffff,
                                       UINT64_MAX,
                                       1ull << 63,
                                       0x0200000100000009,
                                       0x0100000100000001 + (1ull << 40)};
    for (size_t i = 0; i < sizeof rubbish / sizeof rubbish[0]; i++) {
        streams_and_events(rubbish[i]);
        code(rubbish[i]);
        contexts(rubbish[i]);
    }
}

Test(handles, one_kind_is_not_another, .init = setup)
{
    CUstream stream;
    CUevent event;
    cr_assert_eq(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuEventCreate(&event, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(driver.cuEventQuery((CUevent)stream), CUDA_ERROR_INVALID_HANDLE);
    code((uint64_t)(uintptr_t)stream);
    contexts((uint64_t)(uintptr_t)event);
}

Test(handles, the_dead_stay_dead, .init = setup)
{
    CUstream stream, next;
    CUcontext other;
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        cr_assert_eq(driver.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
        cr_assert_eq(driver.cuStreamCreate(&next, 0), CUDA_SUCCESS);
        cr_assert_neq(stream, next);
        streams_and_events((uint64_t)(uintptr_t)stream);
        cr_assert_eq(driver.cuStreamDestroy_v2(next), CUDA_SUCCESS);
    }
    cr_assert_eq(driver.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
    streams_and_events((uint64_t)(uintptr_t)stream);
    contexts((uint64_t)(uintptr_t)other);
}

Test(handles, a_child_of_fork_is_told_so, .init = setup)
{
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr data;
        _exit(driver.cuMemAlloc_v2(&data, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert_eq(driver.cuCtxSynchronize(), CUDA_SUCCESS, "the parent is not harmed");
}
