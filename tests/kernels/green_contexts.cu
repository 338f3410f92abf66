// SPDX-License-Identifier: Apache-2.0
// Green contexts: a device's multiprocessors in parts, kernels that stay in theirs, streams and
// events of a part, and what a context converted from one does. semantics S110
#include <atomic>
#include <set>
#include <unistd.h>
#include <vector>

#include "check_driver.h"

static std::atomic<bool> let_go;

static void CUDA_CB hold(void *)
{
    while (!let_go)
        usleep(500);
}

__global__ void where(unsigned *seen)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0)
        seen[blockIdx.x] = sm;
}

static const unsigned blocks = 96;
static unsigned *seen_on_device;

static std::set<unsigned> run(CUstream stream)
{
    std::vector<unsigned> seen(blocks);
    CHECK(cudaMemset(seen_on_device, 0xff, blocks * sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize());
    where<<<blocks, 32, 0, stream>>>(seen_on_device);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(seen.data(), seen_on_device, blocks * sizeof(unsigned),
                     cudaMemcpyDeviceToHost));
    return std::set<unsigned>(seen.begin(), seen.end());
}

static unsigned read_word(CUdeviceptr at)
{
    unsigned value;
    CHECK_DRIVER(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
}

struct part {
    CUgreenCtx green;
    CUcontext context;
    CUstream stream;
    unsigned sms;
};

static part make(const CUdevResource *resource)
{
    part made;
    CUdevResource copy = *resource, told;
    CUdevResourceDesc desc;
    CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &copy, 1));
    CHECK_DRIVER(cuGreenCtxCreate(&made.green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_DRIVER(cuGreenCtxGetDevResource(made.green, &told, CU_DEV_RESOURCE_TYPE_SM));
    made.sms = resource->sm.smCount;
    if (told.sm.smCount != made.sms)
        fail("a green context of %u multiprocessors has %u", made.sms, told.sm.smCount);
    EXPECT_DRIVER(cuCtxSetCurrent((CUcontext)made.green), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_DRIVER(cuCtxFromGreenCtx(&made.context, made.green));
    CHECK_DRIVER(cuCtxGetDevResource(made.context, &told, CU_DEV_RESOURCE_TYPE_SM));
    if (told.sm.smCount != made.sms)
        fail("the context of a green one has %u multiprocessors", told.sm.smCount);
    CHECK_DRIVER(cuGreenCtxStreamCreate(&made.stream, made.green, CU_STREAM_NON_BLOCKING, 0));
    return made;
}

static void check_split(const CUdevResource *all)
{
    CUdevResource one, rest;
    unsigned groups = 0, taken = 1;
    CHECK_DRIVER(cuDevSmResourceSplitByCount(nullptr, &groups, all, nullptr, 0, 0));
    printf("%u groups of at least %u\n", groups, all->sm.minSmPartitionSize);
    CHECK_DRIVER(cuDevSmResourceSplitByCount(&one, &taken, all, &rest, 0, 0));
    if (taken != 1 || one.sm.smCount < all->sm.minSmPartitionSize ||
        one.sm.smCount % all->sm.smCoscheduledAlignment != 0)
        fail("%u groups, the first of %u", taken, one.sm.smCount);
    unsigned left = rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest.sm.smCount : 0;
    if (one.sm.smCount + left != all->sm.smCount)
        fail("%u and %u multiprocessors are not all", one.sm.smCount, left);
    // Resources that were split are split again only in a green context.
    EXPECT_DRIVER(cuDevSmResourceSplitByCount(&rest, &taken, &one, nullptr, 0, 0),
                  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT_DRIVER(cuDevSmResourceSplitByCount(&one, &taken, all, &rest, 0, all->sm.smCount + 1),
                  CUDA_ERROR_INVALID_VALUE);
    CUdevResource twice[2] = {one, one};
    CUdevResourceDesc desc;
    EXPECT_DRIVER(cuDevResourceGenerateDesc(&desc, twice, 2),
                  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

static void check_multiprocessors(const part *parts, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        std::set<unsigned> in_stream = run(parts[i].stream);
        if (in_stream.size() != parts[i].sms)
            fail("part %u of %u multiprocessors has used %zu", i, parts[i].sms, in_stream.size());
        CHECK_DRIVER(cuCtxPushCurrent(parts[i].context));
        if (run(nullptr) != in_stream)
            fail("the default stream of part %u uses others", i);
        CHECK_DRIVER(cuCtxPopCurrent(nullptr));
    }
}

static void check_streams(const part *mine, CUcontext primary)
{
    CUgreenCtx green;
    CUcontext context;
    CUstream made;
    CUdevice device;
    unsigned long long id = 0, current_id = 0;
    CHECK_DRIVER(cuStreamGetGreenCtx(mine->stream, &green));
    if (green != mine->green)
        fail("a stream of a green context is of another");
    CHECK_DRIVER(cuStreamGetCtx(mine->stream, &context));
    if (context != mine->context)
        fail("cuStreamGetCtx of a stream of a green context");
    CHECK_DRIVER(cuStreamGetCtx_v2(mine->stream, &context, &green));
    if (context != primary || green != mine->green)
        fail("cuStreamGetCtx_v2 of a stream of a green context");
    CHECK_DRIVER(cuStreamGetGreenCtx(nullptr, &green));
    if (green != nullptr)
        fail("the default stream of the primary context is green");
    CHECK_DRIVER(cuGreenCtxGetId(mine->green, &id));
    CHECK_DRIVER(cuCtxPushCurrent(mine->context));
    CHECK_DRIVER(cuGreenCtxGetId(nullptr, &current_id));
    CHECK_DRIVER(cuCtxGetDevice(&device));
    CHECK_DRIVER(cuStreamGetGreenCtx(nullptr, &green));
    EXPECT_DRIVER(cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &context, &green),
                  CUDA_ERROR_INVALID_HANDLE);
    CHECK_DRIVER(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuCtxPopCurrent(nullptr));
    if (green != mine->green || id == 0 || id != current_id || device != 0)
        fail("what is current is not the green context");
    CHECK_DRIVER(cuStreamGetGreenCtx(made, &green));
    if (green != mine->green)
        fail("a stream made while a green context is current is not of it");
    CHECK_DRIVER(cuStreamDestroy(made));
    EXPECT_DRIVER(cuGreenCtxStreamCreate(&made, mine->green, CU_STREAM_DEFAULT, 0),
                  CUDA_ERROR_INVALID_VALUE);
}

// The default stream of a green context waits for its blocking streams, and for no others.
static void check_order(const part *mine, CUdeviceptr data)
{
    CUstream blocking, other;
    CHECK_DRIVER(cuMemsetD32(data, 0, 4));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    CHECK_DRIVER(cuCtxPushCurrent(mine->context));
    CHECK_DRIVER(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(blocking, hold, nullptr));
    CHECK_DRIVER(cuMemsetD32Async(data, 1, 1, blocking));
    CHECK_DRIVER(cuMemsetD32Async(data, 2, 1, nullptr));
    EXPECT_DRIVER(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    CHECK_DRIVER(cuCtxPopCurrent(nullptr));
    CHECK_DRIVER(cuMemsetD32Async(data + 4, 3, 1, nullptr));
    CHECK_DRIVER(cuStreamSynchronize(nullptr)); // the primary context's
    CHECK_DRIVER(cuMemsetD32Async(data + 8, 4, 1, other));
    CHECK_DRIVER(cuStreamSynchronize(other));
    let_go = true;
    CHECK_DRIVER(cuCtxPushCurrent(mine->context));
    if (read_word(data) != 2) // the copy is in the default stream, too
        fail("the default stream has not waited: %u", read_word(data));
    CHECK_DRIVER(cuStreamDestroy(blocking));
    // Work of others is not waited for.
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(other, hold, nullptr));
    CHECK_DRIVER(cuMemsetD32Async(data, 5, 1, mine->stream));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamQuery(mine->stream));
    let_go = true;
    CHECK_DRIVER(cuCtxPopCurrent(nullptr));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamDestroy(other));
}

static void check_events(const part *mine, CUdeviceptr data)
{
    CUstream other;
    CUevent event, after;
    CHECK_DRIVER(cuMemsetD32(data, 0, 4));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(mine->stream, hold, nullptr));
    CHECK_DRIVER(cuMemsetD32Async(data, 1, 1, mine->stream));
    CHECK_DRIVER(cuGreenCtxRecordEvent(mine->green, event));
    EXPECT_DRIVER(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    let_go = true;
    CHECK_DRIVER(cuEventSynchronize(event));
    if (read_word(data) != 1)
        fail("the event is ready and work before it is not done");
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(other, hold, nullptr));
    CHECK_DRIVER(cuEventRecord(event, other));
    CHECK_DRIVER(cuGreenCtxRecordEvent(mine->green, after)); // not behind `other`
    CHECK_DRIVER(cuEventSynchronize(after));
    CHECK_DRIVER(cuGreenCtxWaitEvent(mine->green, event));
    CHECK_DRIVER(cuMemsetD32Async(data, 2, 1, mine->stream));
    EXPECT_DRIVER(cuStreamQuery(mine->stream), CUDA_ERROR_NOT_READY);
    CHECK_DRIVER(cuCtxRecordEvent(mine->context, after));
    EXPECT_DRIVER(cuEventQuery(after), CUDA_ERROR_NOT_READY);
    let_go = true;
    CHECK_DRIVER(cuEventSynchronize(after));
    if (read_word(data) != 2)
        fail("the work behind the event is not done");
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuEventDestroy(after));
    CHECK_DRIVER(cuStreamDestroy(other));
}

static void check_capture(const part *mine)
{
    CUevent event;
    CUgraph graph;
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuStreamBeginCapture(mine->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_DRIVER(cuGreenCtxRecordEvent(mine->green, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DRIVER(cuStreamEndCapture(mine->stream, &graph),
                  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_DRIVER(cuEventDestroy(event));
}

// The end of a green context waits for the work of no other. semantics S6
static void check_end(const part *mine, CUdeviceptr data)
{
    CUstream other, writer;
    CHECK_DRIVER(cuMemsetD32(data, 0, 1));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamWaitValue32(other, data, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK_DRIVER(cuGreenCtxDestroy(mine->green));
    EXPECT_DRIVER(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    CHECK_DRIVER(cuStreamWriteValue32(writer, data, 1, 0));
    CHECK_DRIVER(cuStreamSynchronize(other));
    CHECK_DRIVER(cuStreamDestroy(other));
    CHECK_DRIVER(cuStreamDestroy(writer));
}

int main()
{
    CUdevResource all, groups[2];
    CUcontext primary;
    CUdeviceptr data;
    int multiprocessors = 0;
    unsigned count = 2;
    CHECK(cudaFree(nullptr));
    CHECK_DRIVER(cuCtxGetCurrent(&primary));
    CHECK(cudaMalloc(&seen_on_device, blocks * sizeof(unsigned)));
    CHECK_DRIVER(cuMemAlloc(&data, 64));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK_DRIVER(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    if ((int)all.sm.smCount != multiprocessors)
        fail("%u of %d multiprocessors", all.sm.smCount, multiprocessors);
    check_split(&all);
    CHECK_DRIVER(cuDevSmResourceSplitByCount(groups, &count, &all, nullptr, 0, 0));
    part parts[2];
    for (unsigned i = 0; i < count; i++)
        parts[i] = make(&groups[i]);
    printf("%u parts\n", count);
    check_multiprocessors(parts, count);
    check_streams(&parts[0], primary);
    check_order(&parts[0], data);
    check_events(&parts[0], data);
    check_capture(&parts[0]);
    CUstream dead = parts[0].stream;
    for (unsigned i = 0; i < count; i++)
        check_end(&parts[i], data);
    EXPECT_DRIVER(cuStreamQuery(dead), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_DRIVER(cuStreamDestroy(dead), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_DRIVER(cuGreenCtxDestroy(parts[0].green), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_DRIVER(cuCtxSetCurrent(parts[0].context), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_DRIVER(cuMemFree(data));
    CHECK(cudaFree(seen_on_device));
    return passed();
}
