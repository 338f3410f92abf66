/* SPDX-License-Identifier: Apache-2.0 */
/* A context is made, and what is free then is compared with what was free before. A driver takes
 * more as soon as a kernel is loaded or runs that calls malloc or printf; where it does not count
 * that by itself (driver_counts), the measured context has run such a kernel. The measured bytes
 * are therefore what any context may take at the limits that it begins with. */
#include "server/driver/context_bytes.h"

#include "base/log.h"
#include "server/driver/driver.h"

/* It calls both if it finds that it has two threads, which the compiler cannot know. */
static const char kernel_text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".extern .func (.param .b64 at) malloc (.param .b64 bytes);\n"
    ".extern .func free (.param .b64 at);\n"
    ".extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 text[2] = {46, 0};\n"
    ".visible .entry takes_all()\n{\n"
    ".local .align 16 .b8 room[64];\n"
    ".reg .pred %p;\n.reg .b32 %n;\n.reg .b64 %a, %b;\n"
    "mov.u32 %n, %ntid.x;\nsetp.lt.u32 %p, %n, 2;\nmov.u64 %b, room;\n"
    "@%p st.local.u32 [%b], %n;\n@%p bra end;\ncvta.local.u64 %b, %b;\n"
    "{\n.param .b64 bytes;\n.param .b64 at;\nst.param.b64 [bytes], 16;\n"
    "call.uni (at), malloc, (bytes);\nld.param.b64 %a, [at];\n}\n"
    "{\n.param .b64 at;\nst.param.b64 [at], %a;\ncall.uni free, (at);\n}\n"
    "mov.u64 %a, text;\ncvta.global.u64 %a, %a;\n"
    "{\n.param .b64 format;\n.param .b64 values;\n.param .b32 count;\n"
    "st.param.b64 [format], %a;\nst.param.b64 [values], %b;\n"
    "call.uni (count), vprintf, (format, values);\n}\n"
    "end:\nret;\n}\n";

static CUresult kernel_run(const struct cuda_driver *driver)
{
    CUmodule module;
    CUfunction function;
    CU_TRY(driver->cuModuleLoadData(&module, kernel_text));
    CU_TRY(driver->cuModuleGetFunction(&function, module, "takes_all"));
    CU_TRY(driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    return driver->cuCtxSynchronize();
}

/* The bytes that the kernel might have shown, by the limits. */
static uint64_t limits_sum(const struct cuda_driver *driver)
{
    size_t heap = 0, output = 0;
    (void)driver->cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE);
    (void)driver->cuCtxGetLimit(&output, CU_LIMIT_PRINTF_FIFO_SIZE);
    return (uint64_t)heap + output;
}

/* In a context that is new. `more`: that it takes besides what is measured. */
static void context_use(const struct cuda_driver *driver, uint64_t *more)
{
    char room[16];
    CUresult rc = driver_counts(driver) == NULL ? kernel_run(driver) : CUDA_SUCCESS;
    *more = rc == CUDA_SUCCESS ? 0 : limits_sum(driver);
    if (rc != CUDA_SUCCESS) {
        ga_warn("what memory a context takes for its kernels is taken from its limits, %llu bytes: "
                "a kernel that shows it fails with %s",
                (unsigned long long)*more, driver_result_name(driver, rc, room));
    }
}

/* A measurement is repeated if another process takes or frees memory in between, which none should
 * do where gpuaasd begins. */
#define CONTEXT_MEASURES 3u

CUresult context_bytes_measure(const struct cuda_driver *driver, CUdevice device, uint64_t *bytes)
{
    size_t before = 0, with = 1, after = 1, total;
    uint64_t more = 0;
    for (unsigned i = 0; i < CONTEXT_MEASURES && before != after; i++) {
        CUcontext another;
        CU_TRY(driver->cuMemGetInfo_v2(&before, &total));
        CU_TRY(driver->cuCtxCreate_v2(&another, 0, device));
        context_use(driver, &more);
        CUresult rc = driver->cuMemGetInfo_v2(&with, &total);
        CUresult end = driver->cuCtxDestroy_v2(another); /* the one before is current again */
        CU_TRY(rc != CUDA_SUCCESS ? rc : end);
        CU_TRY(driver->cuMemGetInfo_v2(&after, &total));
    }
    *bytes = (before > with ? before - with : 0) + more;
    return CUDA_SUCCESS;
}
