// SPDX-License-Identifier: Apache-2.0
// Calls with one wrong argument each, and the error that CUDA's manual names for it. All rows run,
// whatever the ones before them gave; the context must be as good as new afterwards. Where the
// manual leaves it open (handles that were destroyed, rubbish for handles) nothing is asked.
#include "check_driver.h"

static int rows, wrong;

#define ROW(call, expected) row((call), (expected), #call, __LINE__)

static void row(CUresult got, CUresult expected, const char *call, int line)
{
    rows++;
    if (got == expected)
        return;
    wrong++;
    printf("line %d: %s gives %s (%d), %s (%d) is due\n", line, call, driver_error_name(got),
           (int)got, driver_error_name(expected), (int)expected);
}

static const char ptx[] = ".version 7.5\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .global .align 4 .u32 variable = 3;\n"
                          ".visible .entry store(.param .u64 address, .param .u32 value)\n"
                          "{\n"
                          "    .reg .b64 %rd<3>;\n"
                          "    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [address];\n"
                          "    ld.param.u32 %r1, [value];\n"
                          "    cvta.to.global.u64 %rd2, %rd1;\n"
                          "    st.global.u32 [%rd2], %r1;\n"
                          "    ret;\n"
                          "}\n";

static void before_init()
{
    int count;
    CUdevice device;
    ROW(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    ROW(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
    ROW(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuInit(0));
}

static void devices()
{
    CUdevice device;
    int value, count;
    size_t bytes;
    char name[8];
    const char *text = "";
    CHECK_DRIVER(cuDeviceGetCount(&count));
    ROW(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    ROW(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
    ROW(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceGetName(nullptr, 8, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceGetName(name, 8, count), CUDA_ERROR_INVALID_DEVICE);
    ROW(cuDeviceTotalMem(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceTotalMem(&bytes, count), CUDA_ERROR_INVALID_DEVICE);
    ROW(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count),
        CUDA_ERROR_INVALID_DEVICE);
    ROW(cuGetErrorName((CUresult)123456, &text), CUDA_ERROR_INVALID_VALUE);
    if (text != nullptr)
        fail("the name of an unknown error is not null");
}

static void without_context()
{
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUcontext context;
    ROW(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuModuleLoadData(&module, ptx), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuCtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT);
    ROW(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

static void memory()
{
    CUdeviceptr block, other;
    CUmemorytype type;
    size_t pitch;
    int host[64];
    CHECK_DRIVER(cuMemAlloc(&block, 1024));
    ROW(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemAlloc(&other, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemAlloc(&other, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
    ROW(cuMemAllocPitch(&other, &pitch, 100, 10, 3), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemFree(0x1234), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemFree(block + 256), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemcpyHtoD(0x1000, host, sizeof host), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemcpyDtoH(host, 0x1000, sizeof host), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemcpyDtoD(block, 0x1000, 16), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemsetD8(0x1000, 1, 16), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemsetD32(block + 2, 1, 16), CUDA_ERROR_INVALID_VALUE);
    ROW(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host),
        CUDA_ERROR_INVALID_VALUE);
    ROW(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block),
        CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D rectangle = {};
    rectangle.srcMemoryType = CU_MEMORYTYPE_HOST;
    rectangle.srcHost = host;
    rectangle.srcPitch = 8;
    rectangle.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rectangle.dstDevice = block;
    rectangle.dstPitch = 16;
    rectangle.WidthInBytes = 16; // wider than the source's rows are apart
    rectangle.Height = 4;
    ROW(cuMemcpy2D(&rectangle), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFree(block));
    ROW(cuMemFree(block), CUDA_ERROR_INVALID_VALUE);
}

static void host_memory()
{
    static char range[65536];
    ROW(cuMemAllocHost(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemFreeHost(range), CUDA_ERROR_INVALID_VALUE);
    ROW(cuMemHostUnregister(range), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK_DRIVER(cuMemHostRegister(range, sizeof range, 0));
    ROW(cuMemHostRegister(range, sizeof range, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK_DRIVER(cuMemHostUnregister(range));
}

static void streams_and_events()
{
    CUstream stream;
    CUevent event, timeless;
    float ms;
    size_t limit;
    ROW(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuStreamCreate(&stream, 0xf0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuEventCreate(&event, 0xf0), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuEventCreate(&event, 0));
    CHECK_DRIVER(cuEventCreate(&timeless, CU_EVENT_DISABLE_TIMING));
    ROW(cuEventQuery(event), CUDA_SUCCESS); // never recorded: nothing to wait for
    ROW(cuEventSynchronize(event), CUDA_SUCCESS);
    ROW(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_DRIVER(cuEventRecord(event, 0));
    CHECK_DRIVER(cuEventRecord(timeless, 0));
    CHECK_DRIVER(cuCtxSynchronize());
    ROW(cuEventElapsedTime(&ms, event, timeless), CUDA_ERROR_INVALID_HANDLE);
    ROW(cuEventElapsedTime(nullptr, event, event), CUDA_ERROR_INVALID_VALUE);
    ROW(cuStreamWaitEvent(0, event, 0xf0), CUDA_ERROR_INVALID_VALUE);
    ROW(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
    ROW(cuCtxGetLimit(&limit, (CUlimit)99), CUDA_ERROR_UNSUPPORTED_LIMIT);
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuEventDestroy(timeless));
}

static void launches(CUfunction store, CUdeviceptr address)
{
    unsigned value = 1;
    int number, most_shared;
    void *parameters[] = {&address, &value}, *extra[] = {CU_LAUNCH_PARAM_END};
    CHECK_DRIVER(cuDeviceGetAttribute(
        &most_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    const CUresult invalid = CUDA_ERROR_INVALID_VALUE;
    ROW(cuLaunchKernel(store, 0, 1, 1, 1, 1, 1, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1, 0, 1, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1025, 1, 1, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 64, 64, 1, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1, 1, 65, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 65536, 1, 1, 1, 1, 0, 0, parameters, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, (unsigned)most_shared + 1, 0, parameters, nullptr),
        invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr), invalid);
    ROW(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0, parameters, extra), invalid);
    ROW(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, 0, parameters, nullptr),
        CUDA_ERROR_INVALID_HANDLE);
    ROW(cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, store), invalid);
    ROW(cuFuncGetAttribute(&number, (CUfunction_attribute)9999, store), invalid);
    ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, store, 0, 0), invalid);
}

static void modules()
{
    CUmodule module;
    CUfunction store, function;
    CUdeviceptr address, block;
    size_t bytes;
    unsigned value = 77, got = 0;
    ROW(cuModuleLoad(&module, "/nonexistent/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    ROW(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
    ROW(cuModuleLoadData(nullptr, ptx), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuModuleLoadData(&module, ptx));
    CHECK_DRIVER(cuModuleGetFunction(&store, module, "store"));
    ROW(cuModuleGetFunction(&function, module, "stare"), CUDA_ERROR_NOT_FOUND);
    ROW(cuModuleGetFunction(&function, module, nullptr), CUDA_ERROR_INVALID_VALUE);
    ROW(cuModuleGetGlobal(&address, &bytes, module, "variables"), CUDA_ERROR_NOT_FOUND);
    CHECK_DRIVER(cuModuleGetGlobal(&address, &bytes, module, "variable"));
    ROW(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemAlloc(&block, 64));
    launches(store, block);
    // After all of that, a right call works.
    void *parameters[] = {&block, &value};
    CHECK_DRIVER(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0, parameters, nullptr));
    CHECK_DRIVER(cuMemcpyDtoH(&got, block, sizeof got));
    if (got != value)
        fail("the kernel stored %u, %u is right", got, value);
    CHECK_DRIVER(cuMemFree(block));
    CHECK_DRIVER(cuModuleUnload(module));
}

int main()
{
    CUcontext context;
    before_init();
    devices();
    without_context();
    context = create_context(0);
    memory();
    host_memory();
    streams_and_events();
    modules();
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuCtxDestroy(context));
    if (wrong)
        fail("%d of %d rows", wrong, rows);
    printf("%d wrong calls got the right error\n", rows);
    return passed();
}
