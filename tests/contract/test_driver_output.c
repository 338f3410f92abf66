/* SPDX-License-Identifier: Apache-2.0 */
/* Output of kernels: the driver writes it to stdout of the process, within certain calls. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

static const char print_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
    ".global .align 1 .b8 text[10] = {102, 114, 111, 109, 32, 37, 117, 10, 0};\n" /* from %u\n */
    ".visible .entry print(.param .u32 number)\n"
    "{\n"
    "    .local .align 8 .b8 arguments[8];\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %d<5>;\n"
    "    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n"
    "    ld.param.u32 %r1, [number];\n"
    "    mov.u64 %d1, arguments;\n    st.local.u32 [%d1], %r1;\n    cvta.local.u64 %d2, %d1;\n"
    "    mov.u64 %d3, text;\n    cvta.global.u64 %d4, %d3;\n"
    "    st.param.b64 [a], %d4;\n    st.param.b64 [b], %d2;\n"
    "    call.uni (c), vprintf, (a, b);\n"
    "    ret;\n}\n";

static int file;
static CUfunction print;
static CUevent event;
static CUstream stream;

static void open_output(void)
{
    char name[] = "/tmp/gpuaas-contract-XXXXXX";
    CUmodule module;
    open_driver();
    CALL(driver.cuModuleLoadData(&module, print_ptx));
    CALL(driver.cuModuleGetFunction(&print, module, "print"));
    CALL(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    file = mkstemp(name);
    cr_assert(file >= 0);
    unlink(name);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
}

TestSuite(driver_output, .init = open_output, .timeout = 120);

/* Launches a kernel that prints the number; when it returns, the kernel has ended and nobody has
 * waited for it. */
static void print_number(unsigned number)
{
    void *parameters[] = {&number};
    CALL(driver.cuLaunchKernel(print, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CALL(driver.cuEventRecord(event, stream));
    while (driver.cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
        usleep(100);
    }
}

/* Is it there? Nothing else may be. */
static void expect_number(unsigned number, const char *call)
{
    static off_t seen;
    char got[100] = "", want[100];
    fflush(stdout);
    ssize_t bytes = pread(file, got, sizeof got - 1, seen);
    seen += bytes > 0 ? bytes : 0;
    snprintf(want, sizeof want, "from %u\n", number);
    cr_assert_str_eq(got, want, "after %s: \"%s\"", call, got);
}

/* These are what a server makes when it has seen that work is done. */
Test(driver_output, calls_that_find_nothing_to_wait_for_bring_it_out)
{
    print_number(1);
    CALL(driver.cuEventSynchronize(event));
    expect_number(1, "cuEventSynchronize");
    print_number(2);
    CALL(driver.cuStreamSynchronize(stream));
    expect_number(2, "cuStreamSynchronize");
    print_number(3);
    CALL(driver.cuCtxSynchronize());
    expect_number(3, "cuCtxSynchronize");
}

Test(driver_output, a_launch_and_a_copy_bring_out_what_is_there)
{
    CUdeviceptr word;
    unsigned value;
    CALL(driver.cuMemAlloc_v2(&word, sizeof value));
    print_number(4);
    CALL(driver.cuMemcpyDtoH_v2(&value, word, sizeof value));
    expect_number(4, "cuMemcpyDtoH");
    print_number(5);
    print_number(6); /* its launch brings out the one before */
    expect_number(5, "cuLaunchKernel");
    CALL(driver.cuCtxSynchronize());
    expect_number(6, "cuCtxSynchronize");
}

Test(driver_output, the_size_of_the_fifo_stays_once_a_kernel_has_printed)
{
    size_t before = 0, after = 0;
    CALL(driver.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1u << 21));
    CALL(driver.cuCtxGetLimit(&before, CU_LIMIT_PRINTF_FIFO_SIZE));
    cr_assert_geq(before, 1u << 21);
    print_number(7);
    CALL(driver.cuCtxSynchronize());
    expect_number(7, "cuCtxSynchronize");
    REQUIRE(driver.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1u << 22), CUDA_ERROR_INVALID_VALUE);
    CALL(driver.cuCtxGetLimit(&after, CU_LIMIT_PRINTF_FIFO_SIZE));
    cr_assert_eq(after, before);
}
