/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the contract's tests. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "driver.h"

struct cuda_driver driver;
CUcontext context;

/* clang-format off */
const char kernels_ptx[] =
    ".version 7.5\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .entry wait(.param .u64 flag)\n"
    "{\n"
    "    .reg .pred %p1; .reg .b64 %rd<3>; .reg .b32 %r1;\n"
    "    ld.param.u64 %rd1, [flag];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "again:\n"
    "    ld.volatile.global.u32 %r1, [%rd2];\n"
    "    setp.eq.u32 %p1, %r1, 0;\n"
    "    @%p1 bra again;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry store(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .reg .b64 %rd<5>; .reg .b32 %r<6>;\n"
    "    ld.param.u64 %rd1, [data];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    mul.wide.u32 %rd3, %r5, 4;\n"
    "    add.s64 %rd4, %rd2, %rd3;\n"
    "    st.global.u32 [%rd4], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry outside()\n"
    "{\n"
    "    .reg .b64 %rd1; .reg .b32 %r1;\n"
    "    mov.u64 %rd1, 64;\n"
    "    mov.u32 %r1, 1;\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n"
    "}\n";
/* clang-format on */

const char *result_name(CUresult result)
{
    const char *name = NULL;

    return driver.cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

void open_driver(void)
{
    const char *path = getenv("GPUAAS_TEST_DRIVER");
    char why[200] = "";

    cr_assert_not_null(path, "GPUAAS_TEST_DRIVER names no driver library");
    cr_assert_eq(cuda_driver_open(&driver, path, why, sizeof why), GA_OK, "%s: %s", path, why);
    CALL(driver.cuInit(0));
    CALL(driver.cuCtxCreate_v2(&context, 0, 0));
}

CUfunction kernel(CUmodule *module, const char *name)
{
    CUfunction function;

    CALL(driver.cuModuleLoadData(module, kernels_ptx));
    CALL(driver.cuModuleGetFunction(&function, *module, name));
    return function;
}
