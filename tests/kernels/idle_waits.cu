// SPDX-License-Identifier: Apache-2.0
// Waits that need not wait, because all work is known to be done, do what waits do: pools release
// memory above their threshold, whichever call waits, and whatever was called in between.
// semantics S55
#include <functional>
#include <vector>

#include "check_driver.h"

static const size_t bytes = 16 << 20;

static CUstream stream;
static CUevent event;
static cudaMemPool_t pool;

static uint64_t reserved()
{
    uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    return value;
}

static void threshold(uint64_t value)
{
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
}

static void poll()
{
    cudaError_t error;
    while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
        ;
    CHECK(error);
}

struct Wait {
    const char *name;
    std::function<void()> before, wait; // `before`: the free is behind it
};

static void record()
{
    CHECK(cudaEventRecord(event, stream));
}

static void wait_for_event()
{
    CHECK(cudaEventSynchronize(event));
}

static void nothing()
{
}

static std::vector<Wait> waits()
{
    std::vector<Wait> all = {
        {"cudaStreamSynchronize", nothing, [] { CHECK(cudaStreamSynchronize(stream)); }},
        {"cudaDeviceSynchronize", nothing, [] { CHECK(cudaDeviceSynchronize()); }},
        {"cudaEventSynchronize", record, wait_for_event},
        {"cudaEventSynchronize, asked before",
         [] {
             record();
             poll();
         },
         wait_for_event},
        {"cudaEventSynchronize, twice",
         [] {
             record();
             wait_for_event();
         },
         wait_for_event},
    };
#if CUDA_VERSION >= 13000
    CUcontext context;
    CHECK_DRIVER(cuCtxGetCurrent(&context));
    all.push_back({"an event of the context",
                   [=] { CHECK_DRIVER(cuCtxRecordEvent(context, event)); }, wait_for_event});
#endif
    return all;
}

// `idle`: the stream is known to have no work when the memory is freed.
static void released_by(const Wait &wait, bool idle, bool asks)
{
    void *data;
    CHECK(cudaMallocAsync(&data, bytes, stream));
    CHECK(cudaMemsetAsync(data, 1, bytes, stream));
    if (idle)
        CHECK(cudaStreamSynchronize(stream));
    if (asks) { // something that is no work travels
        size_t free_bytes, total;
        CHECK(cudaMemGetInfo(&free_bytes, &total));
    }
    CHECK(cudaFreeAsync(data, stream));
    if (reserved() < bytes)
        fail("%s: only %llu bytes are reserved", wait.name, (unsigned long long)reserved());
    wait.before();
    wait.wait();
    if (reserved() != 0)
        fail("%s, %s%s: %llu bytes stay reserved", wait.name, idle ? "idle" : "busy",
             asks ? ", asked" : "", (unsigned long long)reserved());
}

// Memory that was below the threshold when it was freed goes with the next wait, too.
static void lowered_threshold(const Wait &wait)
{
    void *data;
    threshold(UINT64_MAX);
    CHECK(cudaMallocAsync(&data, bytes, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaDeviceSynchronize());
    if (reserved() < bytes)
        fail("%s: %llu bytes are kept", wait.name, (unsigned long long)reserved());
    threshold(0);
    wait.before();
    wait.wait();
    if (reserved() != 0)
        fail("%s, a lower threshold: %llu bytes stay reserved", wait.name,
             (unsigned long long)reserved());
}

#if CUDA_VERSION >= 13000
// A wait for a green context is one for its streams.
static void green_context()
{
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext converted;
    CUdeviceptr data;
    CUstream of;
    unsigned count = 1;
    CHECK_DRIVER(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_DRIVER(cuDevSmResourceSplitByCount(&part, &count, &all, nullptr, 0, 1));
    CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &part, 1));
    CHECK_DRIVER(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_DRIVER(cuCtxFromGreenCtx(&converted, green));
    CHECK_DRIVER(cuGreenCtxStreamCreate(&of, green, CU_STREAM_NON_BLOCKING, 0));
    CHECK_DRIVER(cuMemAllocAsync(&data, bytes, of));
    CHECK_DRIVER(cuMemsetD8Async(data, 1, bytes, of));
    CHECK_DRIVER(cuMemFreeAsync(data, of));
    CHECK_DRIVER(cuCtxSynchronize_v2(converted));
    if (reserved() != 0)
        fail("a green context: %llu bytes stay reserved", (unsigned long long)reserved());
    CHECK_DRIVER(cuStreamDestroy(of));
    CHECK_DRIVER(cuGreenCtxDestroy(green));
}
#endif

int main()
{
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (const Wait &wait : waits()) {
        for (int how = 0; how < 4; how++)
            released_by(wait, how & 1, how & 2);
        lowered_threshold(wait);
    }
#if CUDA_VERSION >= 13000
    green_context();
#endif
    return passed();
}
