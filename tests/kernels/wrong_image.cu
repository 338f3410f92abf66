// SPDX-License-Identifier: Apache-2.0
// Images that are none: a broken container, and PTX text with a mistake on a known line.
#include "check_driver.h"

static const char bad_ptx[] = ".version 7.5\n"
                              ".target sm_75\n"
                              ".address_size 64\n"
                              "\n"
                              ".visible .entry broken()\n"
                              "{\n"
                              "    .reg .b32 %r<4>;\n"
                              "    add.s32 %r1, %r2,, %r3;\n"
                              "    ret;\n"
                              "}\n";

static const char good_ptx[] = ".version 7.5\n"
                               ".target sm_75\n"
                               ".address_size 64\n"
                               ".visible .entry good()\n"
                               "{\n"
                               "    ret;\n"
                               "}\n";

static const char newer_ptx[] = ".version 9.0\n"
                                ".target sm_121\n"
                                ".address_size 64\n"
                                ".visible .entry newer()\n"
                                "{\n"
                                "    ret;\n"
                                "}\n";

static double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// The time that was spent is a part of the time that passes meanwhile.
static void check_time()
{
    for (const char *image : {bad_ptx, good_ptx}) {
        CUmodule module = NULL;
        CUjit_option key = CU_JIT_WALL_TIME;
        void *value = NULL;
        float ms = -1;
        const double begun = now_ms();
        CUresult result = cuModuleLoadDataEx(&module, image, 1, &key, &value);
        const double passed_ms = now_ms() - begun;
        memcpy(&ms, &value, sizeof ms);
        if (result == CUDA_SUCCESS)
            CHECK_DRIVER(cuModuleUnload(module));
        if (!(ms > 0 && ms <= passed_ms * 1.01))
            fail("error %d after %f ms of %f", (int)result, ms, passed_ms);
    }
}

// PTX that is right, but that the GPU does not execute: the log says what, and where.
static void check_refused()
{
    static const struct {
        const char *line, *says;
    } refused[] = {
        {"mov.u32 %r1, %pm3;", "line 7, column 14: error: special register '%pm3' is"},
        {"mov.u32 %r1, %envreg5;", "special register '%envreg5' is not supported"},
        {"wgmma.fence.sync.aligned;", "line 7, column 1: error: instruction 'wgmma.fence.sync"},
    };
    for (const auto &one : refused) {
        CUmodule module;
        char text[300], log[1024] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof log};
        snprintf(text, sizeof text,
                 ".version 8.5\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .b32 %%r<3>;\n%s\nret;\n}\n",
                 one.line);
        EXPECT_DRIVER(cuModuleLoadDataEx(&module, text, 2, options, values),
                      CUDA_ERROR_NOT_SUPPORTED);
        if (!strstr(log, one.says))
            fail("the log says: %s", log);
    }
}

// JIT options and their results: logs, their sizes, the time; and options that cannot be.
static void check_options()
{
    char error[2048] = "x", info[64] = "x", few[16] = "x";
    CUmodule module;
    CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                           CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                           CU_JIT_WALL_TIME, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS};
    void *values[7] = {error, (void *)sizeof error, info, (void *)sizeof info, NULL, (void *)4,
                       (void *)32};
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, bad_ptx, 7, keys, values), CUDA_ERROR_INVALID_PTX);
    float ms = 0;
    memcpy(&ms, &values[4], sizeof ms);
    if ((size_t)values[1] != strlen(error) || strlen(error) < 10 || values[3] != NULL ||
        info[0] != 0 || !(ms > 0 && ms < 60000))
        fail("%zu bytes of error '%s', %zu of info '%s', %f ms", (size_t)values[1], error,
             (size_t)values[3], info, ms);
    values[0] = few;
    values[1] = (void *)sizeof few;
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, bad_ptx, 2, keys, values), CUDA_ERROR_INVALID_PTX);
    if ((size_t)values[1] != 15 || memcmp(few, error, 15) != 0 || few[15] != 0)
        fail("%zu bytes of '%s' in 16", (size_t)values[1], few);
    values[1] = (void *)sizeof few;
    CHECK_DRIVER(cuModuleLoadDataEx(&module, good_ptx, 2, keys, values));
    if (values[1] != NULL || few[0] != 0)
        fail("%zu bytes of '%s' where nothing is wrong", (size_t)values[1], few);
    CHECK_DRIVER(cuModuleUnload(module));
    values[5] = (void *)5;
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, good_ptx, 1, keys + 5, values + 5),
                  CUDA_ERROR_INVALID_VALUE);
    CUjit_option two[] = {CU_JIT_THREADS_PER_BLOCK, CU_JIT_TARGET};
    void *of_two[] = {(void *)128, (void *)CU_TARGET_COMPUTE_75};
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, good_ptx, 2, two, of_two), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuModuleLoadDataEx(&module, good_ptx, 1, two, of_two));
    CHECK_DRIVER(cuModuleUnload(module));
    CUjit_option symbols = CU_JIT_GLOBAL_SYMBOL_COUNT;
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, good_ptx, 1, &symbols, of_two),
                  CUDA_ERROR_NOT_SUPPORTED);
}

int main()
{
    CUdevice device;
    CUmodule module;
    CUfunction function;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);

    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t body_bytes;
        unsigned char body[64];
    } fatbin = {0xBA55ED50u, 1, 16, 64, {}};
    memset(fatbin.body, 0xff, sizeof fatbin.body);
    EXPECT_DRIVER(cuModuleLoadData(&module, &fatbin), CUDA_ERROR_INVALID_IMAGE);
    fatbin.version = 999;
    EXPECT_DRIVER(cuModuleLoadData(&module, &fatbin), CUDA_ERROR_INVALID_IMAGE);

    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, bad_ptx, 2, options, values),
                  CUDA_ERROR_INVALID_PTX);
    printf("log: %s\n", log);
    if (!strstr(log, "line 8"))
        fail("the log does not name line 8");
    values[1] = (void *)sizeof log;
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, newer_ptx, 2, options, values),
                  CUDA_ERROR_NO_BINARY_FOR_GPU);
    printf("log: %s\n", log);
    if (!strstr(log, "12.1"))
        fail("the log does not say for which GPU it is");

    check_refused();
    check_options();
    check_time();

    // The context is as good as before.
    CHECK_DRIVER(cuModuleLoadData(&module, good_ptx));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "good"));
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
