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

    // The context is as good as before.
    CHECK_DRIVER(cuModuleLoadData(&module, good_ptx));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "good"));
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
