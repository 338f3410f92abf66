// SPDX-License-Identifier: Apache-2.0
// Memory with CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, and contexts with CU_CTX_SYNC_MEMOPS: memory
// operations without Async in their names are over when they return, also those which need not be
// otherwise; those with Async return at once. semantics S138
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "check_driver.h"

static std::atomic<bool> released;

static void CUDA_CB release_soon(void *)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    released = true;
}

static void CUDA_CB until_released(void *)
{
    while (!released)
        std::this_thread::yield();
}

static unsigned attribute(CUdeviceptr memory)
{
    unsigned value = 9;
    CHECK_DRIVER(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    return value;
}

static void mark(CUdeviceptr memory, unsigned value)
{
    CHECK_DRIVER(cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
}

// Earlier work of the stream is over when the call returns.
#define EXPECT_OVER(stream, call)                                                                  \
    released = false;                                                                              \
    CHECK_DRIVER(cuLaunchHostFunc(stream, release_soon, nullptr));                                 \
    CHECK_DRIVER(call);                                                                            \
    if (!released)                                                                                 \
    fail("%s has returned before", #call)

// It comes back while the stream is held; else the program would stand still.
#define EXPECT_AT_ONCE(stream, call)                                                               \
    released = false;                                                                              \
    CHECK_DRIVER(cuLaunchHostFunc(stream, until_released, nullptr));                               \
    CHECK_DRIVER(call);                                                                            \
    released = true;                                                                               \
    CHECK_DRIVER(cuStreamSynchronize(stream))

extern "C" CUresult cuMemsetD8_v2_ptds(CUdeviceptr, unsigned char, size_t);
extern "C" CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr, CUdeviceptr, size_t);

static void operations(CUdeviceptr marked, CUdeviceptr plain, bool all)
{
    static char host[4096];
    CUDA_MEMCPY2D box = {};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = plain;
    box.dstDevice = marked;
    box.srcPitch = box.dstPitch = 64;
    box.WidthInBytes = 32;
    box.Height = 4;
    EXPECT_OVER(nullptr, cuMemsetD8(marked, 1, 4096));
    EXPECT_OVER(nullptr, cuMemsetD2D32(marked, 64, 1, 8, 4));
    EXPECT_OVER(nullptr, cuMemcpyDtoD(marked, plain, 4096));
    EXPECT_OVER(nullptr, cuMemcpyDtoD(plain, marked + 100, 100));
    EXPECT_OVER(nullptr, cuMemcpy(marked, plain, 4096));
    EXPECT_OVER(nullptr, cuMemcpy2D(&box));
    EXPECT_OVER(nullptr, cuMemcpyHtoD(marked, host, sizeof host));
    EXPECT_OVER(CU_STREAM_PER_THREAD, cuMemsetD8_v2_ptds(marked, 1, 4096));
    EXPECT_OVER(CU_STREAM_PER_THREAD, cuMemcpyDtoD_v2_ptds(marked, plain, 4096));
    if (all)
        EXPECT_OVER(nullptr, cuMemsetD8(plain, 1, 4096));
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_AT_ONCE(stream, cuMemsetD8Async(marked, 2, 4096, stream));
    EXPECT_AT_ONCE(stream, cuMemcpyDtoDAsync(marked, plain, 4096, stream));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

static void memory()
{
    CUdeviceptr marked, plain, again;
    CHECK_DRIVER(cuMemAlloc(&marked, 4096));
    CHECK_DRIVER(cuMemAlloc(&plain, 4096));
    mark(marked + 77, 1);
    if (attribute(marked) != 1 || attribute(marked + 4095) != 1 || attribute(plain) != 0)
        fail("the attribute is %u, %u and %u", attribute(marked), attribute(marked + 4095),
             attribute(plain));
    operations(marked, plain, false);
    mark(marked, 0);
    if (attribute(marked) != 0)
        fail("the attribute is still there");
    // Work under way is over when the attribute is set.
    EXPECT_OVER(nullptr, cuMemsetD8(marked, 1, 4096) ?: (mark(marked, 1), CUDA_SUCCESS));
    CHECK_DRIVER(cuMemFree(marked));
    CHECK_DRIVER(cuMemAlloc(&again, 4096));
    if (attribute(again) != 0)
        fail("new memory has the attribute of what was freed");
    CHECK_DRIVER(cuMemFree(again));
    CHECK_DRIVER(cuMemFree(plain));
}

static void wrong()
{
    CUdeviceptr device;
    void *pinned;
    static int plain;
    unsigned one = 1;
    CHECK_DRIVER(cuMemAlloc(&device, 4096));
    CHECK_DRIVER(cuMemHostAlloc(&pinned, 4096, 0));
    EXPECT_DRIVER(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(
        cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)&plain),
        CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFreeHost(pinned));
    CHECK_DRIVER(cuMemFree(device));
    EXPECT_DRIVER(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device),
                  CUDA_ERROR_INVALID_VALUE);
}

// All memory operations of the context, whatever the memory.
static void context()
{
#if CUDA_VERSION >= 12010
    CUcontext made = create_context(0);
    CUdeviceptr one, other;
    CHECK_DRIVER(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
    CHECK_DRIVER(cuMemAlloc(&one, 4096));
    CHECK_DRIVER(cuMemAlloc(&other, 4096));
    operations(one, other, true);
    CHECK_DRIVER(cuCtxDestroy(made));
#endif
}

int main()
{
    CHECK(cudaFree(nullptr));
    memory();
    wrong();
    context();
    return passed();
}
