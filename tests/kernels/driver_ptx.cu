// SPDX-License-Identifier: Apache-2.0
// The driver API alone: loads the PTX file beside the program, looks up kernels and variables, and
// launches in both ways that cuLaunchKernel knows.
#include <string>
#include <unistd.h>
#include <vector>

#include "check_driver.h"

struct Mixed {
    char small;
    double wide;
    short tail[3];
};

static std::string beside_me(const char *name)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        fail("/proc/self/exe cannot be read");
    std::string directory(path, (size_t)length);
    return directory.substr(0, directory.rfind('/') + 1) + name;
}

static std::string read_file(const std::string &path)
{
    FILE *file = fopen(path.c_str(), "rb");
    if (!file)
        fail("%s cannot be opened", path.c_str());
    std::string text;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
        text.append(buffer, got);
    fclose(file);
    return text;
}

static void check_fill(CUmodule module)
{
    const int n = 5000;
    CUfunction fill;
    CUdeviceptr data, offset, calls;
    size_t bytes;
    int host_offset = 1000, host_calls, value = 7, count = n;
    CHECK_DRIVER(cuModuleGetFunction(&fill, module, "fill"));
    CHECK_DRIVER(cuModuleGetGlobal(&offset, &bytes, module, "offset"));
    CHECK_DRIVER(cuMemcpyHtoD(offset, &host_offset, sizeof host_offset));
    CHECK_DRIVER(cuMemAlloc(&data, n * sizeof(int)));
    CHECK_DRIVER(cuMemsetD32(data, 0xdeadbeef, n));
    void *parameters[] = {&data, &count, &value};
    CHECK_DRIVER(cuLaunchKernel(fill, (n + 127) / 128, 1, 1, 128, 1, 1, 0, 0, parameters, nullptr));
    std::vector<int> host(n);
    CHECK_DRIVER(cuMemcpyDtoH(host.data(), data, n * sizeof(int)));
    for (int i = 0; i < n; i++) {
        if (host[i] != 1007 + i)
            fail("fill: element %d is %d", i, host[i]);
    }
    CHECK_DRIVER(cuModuleGetGlobal(&calls, &bytes, module, "calls"));
    CHECK_DRIVER(cuMemcpyDtoH(&host_calls, calls, sizeof host_calls));
    if (bytes != sizeof(int) || host_calls != 6)
        fail("the variable has %zu bytes and is %d", bytes, host_calls);
    CHECK_DRIVER(cuMemFree(data));
    CUfunction none;
    EXPECT_DRIVER(cuModuleGetFunction(&none, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
}

// All parameters in one buffer, laid out as in a C structure.
static void check_mixed(CUmodule module)
{
    struct {
        signed char a;
        double b;
        Mixed c;
        CUdeviceptr out;
    } buffer = {-3, 0.25, {2, 10.5, {100, 200, 300}}, 0};
    size_t size = sizeof buffer;
    CUfunction mixed;
    double out[3];
    CHECK_DRIVER(cuModuleGetFunction(&mixed, module, "mixed"));
    CHECK_DRIVER(cuMemAlloc(&buffer.out, sizeof out));
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK_DRIVER(cuLaunchKernel(mixed, 1, 1, 1, 3, 1, 1, 0, 0, nullptr, extra));
    CHECK_DRIVER(cuMemcpyDtoH(out, buffer.out, sizeof out));
    if (out[0] != 109.75 || out[1] != 209.75 || out[2] != 309.75)
        fail("mixed: %g %g %g", out[0], out[1], out[2]);
    CHECK_DRIVER(cuMemFree(buffer.out));
}

static void check_reverse(CUmodule module)
{
    CUfunction reverse;
    CUstream stream;
    CUdeviceptr data;
    int host[64], most;
    CHECK_DRIVER(cuModuleGetFunction(&reverse, module, "reverse"));
    CHECK_DRIVER(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reverse));
    if (most != 64)
        fail("reverse takes %d threads, its launch bounds say 64", most);
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemAlloc(&data, sizeof host));
    for (int i = 0; i < 64; i++)
        host[i] = i * i;
    CHECK_DRIVER(cuMemcpyHtoDAsync(data, host, sizeof host, stream));
    void *parameters[] = {&data};
    CHECK_DRIVER(cuLaunchKernel(reverse, 1, 1, 1, 64, 1, 1, sizeof host, stream, parameters,
                                nullptr));
    CHECK_DRIVER(cuMemcpyDtoHAsync(host, data, sizeof host, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (int i = 0; i < 64; i++) {
        if (host[i] != (63 - i) * (63 - i))
            fail("reverse: element %d is %d", i, host[i]);
    }
    EXPECT_DRIVER(cuLaunchKernel(reverse, 1, 1, 1, 4096, 1, 1, 0, stream, parameters, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuMemFree(data));
}

int main()
{
    CUdevice device;
    CUmodule module;
    char name[100];
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CHECK_DRIVER(cuDeviceGetName(name, sizeof name, device));
    CUcontext context = create_context(device);
    const std::string path = beside_me("driver_ptx_kernels.ptx");
    const std::string text = read_file(path);
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUresult result = cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
    if (result != CUDA_SUCCESS)
        fail("%s: %s: %s", path.c_str(), driver_error_name(result), log);
    check_fill(module);
    check_mixed(module);
    check_reverse(module);
    CHECK_DRIVER(cuModuleUnload(module));
    // The module again, from the file itself; its variables are new.
    CHECK_DRIVER(cuModuleLoad(&module, path.c_str()));
    check_fill(module);
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuCtxDestroy(context));
    printf("kernels of a PTX file run on %s\n", name);
    return passed();
}
