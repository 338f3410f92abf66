// SPDX-License-Identifier: Apache-2.0
/* Calls that capture forbids, and their errors: each of 900 to 908 and 401. */
#include <thread>

#include "check_driver.h"

extern "C" __global__ void nothing()
{
}

static CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING)
{
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, flags));
    return stream;
}

static CUevent make_event()
{
    CUevent event;
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL)
{
    CHECK_DRIVER(cuStreamBeginCapture(stream, mode));
}

static void end_with(CUstream stream, CUresult wanted)
{
    CUgraph graph = (CUgraph)(uintptr_t)1;
    EXPECT_DRIVER(cuStreamEndCapture(stream, &graph), wanted);
    if (wanted == CUDA_SUCCESS)
        CHECK_DRIVER(cuGraphDestroy(graph));
    else if (graph != nullptr)
        fail("a graph of a capture that was not good");
    CUstreamCaptureStatus status;
    CHECK_DRIVER(cuStreamIsCapturing(stream, &status));
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        fail("captures still");
}

static void expect_status(CUstream stream, CUstreamCaptureStatus wanted)
{
    CUstreamCaptureStatus status;
    CHECK_DRIVER(cuStreamIsCapturing(stream, &status));
    if (status != wanted)
        fail("capture status %d, not %d", (int)status, (int)wanted);
}

static void beginnings(CUstream stream)
{
    EXPECT_DRIVER(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DRIVER(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DRIVER(cuStreamBeginCapture(stream, (CUstreamCaptureMode)3), CUDA_ERROR_INVALID_VALUE);
    CUgraph graph;
    EXPECT_DRIVER(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    begin(stream);
    EXPECT_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_ERROR_ILLEGAL_STATE);
    end_with(stream, CUDA_SUCCESS);
}

/* Calls that wait for a stream that captures, and their effect on the capture. */
static void waiting(CUstream stream)
{
    begin(stream);
    EXPECT_DRIVER(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_status(stream, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_DRIVER(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(stream);
    EXPECT_DRIVER(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(stream);
    EXPECT_DRIVER(cuStreamAddCallback(
                      stream, [](CUstream, CUresult, void *) {}, nullptr, 0),
                  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_DRIVER(cuStreamSynchronize(stream));
}

/* Memory that is allocated while something is captured. */
static void unsafe(CUstream stream)
{
    CUdeviceptr memory;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    begin(stream);
    EXPECT_DRIVER(cuMemAlloc(&memory, 256), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK_DRIVER(cuMemAlloc(&memory, 256));
    CHECK_DRIVER(cuMemFree(memory));
    end_with(stream, CUDA_SUCCESS);
    begin(stream);
    CHECK_DRIVER(cuThreadExchangeStreamCaptureMode(&mode));
    if (mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
        fail("the mode of a thread is %d at first", (int)mode);
    CHECK_DRIVER(cuMemAlloc(&memory, 256));
    CHECK_DRIVER(cuThreadExchangeStreamCaptureMode(&mode));
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        fail("the mode of a thread is %d when it was set", (int)mode);
    EXPECT_DRIVER(cuMemFree(memory), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_DRIVER(cuMemFree(memory));
}

/* The legacy stream waits for blocking streams, so it cannot be used while one captures. */
static void legacy(CUcontext context, CUfunction kernel)
{
    (void)context;
    CUdeviceptr memory;
    CUstreamCaptureStatus status;
    CUstream blocking = make_stream(CU_STREAM_DEFAULT), apart = make_stream();
    CHECK_DRIVER(cuMemAlloc(&memory, 256));
    begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_DRIVER(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expect_status(blocking, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_DRIVER(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_with(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_DRIVER(cuMemsetD8(memory, 0, 256), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_with(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(apart, CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK_DRIVER(cuMemsetD8(memory, 0, 256));
    CHECK_DRIVER(cuStreamSynchronize(nullptr));
    end_with(apart, CUDA_SUCCESS);
    CHECK_DRIVER(cuMemFree(memory));
    CHECK_DRIVER(cuStreamDestroy(blocking));
    CHECK_DRIVER(cuStreamDestroy(apart));
}

static void launch(CUfunction kernel, CUstream stream)
{
    CHECK_DRIVER(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
}

static void events(CUfunction kernel)
{
    CUstream first = make_stream(), second = make_stream(), third = make_stream();
    CUevent event = make_event(), other = make_event();
    /* a fork that is not joined; a join that is not where the capture began */
    begin(first);
    launch(kernel, first);
    CHECK_DRIVER(cuEventRecord(event, first));
    CHECK_DRIVER(cuStreamWaitEvent(second, event, 0));
    launch(kernel, second);
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    expect_status(second, CU_STREAM_CAPTURE_STATUS_NONE);
    begin(first);
    CHECK_DRIVER(cuEventRecord(event, first));
    CHECK_DRIVER(cuStreamWaitEvent(second, event, 0));
    CUgraph graph;
    EXPECT_DRIVER(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* two captures that meet */
    begin(first);
    begin(second);
    CHECK_DRIVER(cuEventRecord(event, first));
    EXPECT_DRIVER(cuStreamWaitEvent(second, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_with(second, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* what lies outside */
    CHECK_DRIVER(cuEventRecord(other, third));
    begin(first);
    EXPECT_DRIVER(cuStreamWaitEvent(first, other, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* an event that was recorded by a capture is nothing to wait for, before and after its end */
    begin(first);
    CHECK_DRIVER(cuEventRecord(event, first));
    EXPECT_DRIVER(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_DRIVER(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_DRIVER(cuStreamWaitEvent(third, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CHECK_DRIVER(cuEventRecord(event, third));
    CHECK_DRIVER(cuEventSynchronize(event));
    CHECK_DRIVER(cuEventQuery(event));
    /* a stream of a capture that goes before others have joined it */
    CUdeviceptr memory;
    CHECK_DRIVER(cuMemAlloc(&memory, 4));
    begin(first);
    CHECK_DRIVER(cuEventRecord(event, first));
    CHECK_DRIVER(cuStreamWaitEvent(second, event, 0));
    CHECK_DRIVER(cuMemsetD8Async(memory, 1, 4, second));
    CHECK_DRIVER(cuStreamDestroy(second));
    end_with(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(third);
    CHECK_DRIVER(cuStreamDestroy(third));
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuEventDestroy(other));
    CHECK_DRIVER(cuStreamDestroy(first));
    CHECK_DRIVER(cuMemFree(memory));
}

/* Calls that other threads may make, by the modes of both. */
static void threads(CUcontext context, CUstream stream)
{
    struct {
        CUstreamCaptureMode capture, thread;
        CUresult wanted;
    } cases[] = {
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL,
         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_SUCCESS},
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS},
        {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS},
        {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS},
    };
    for (const auto &one : cases) {
        begin(stream, one.capture);
        std::thread([&] {
            CUdeviceptr memory;
            CUgraph graph;
            CUstreamCaptureMode mode = one.thread;
            CHECK_DRIVER(cuCtxSetCurrent(context));
            CHECK_DRIVER(cuThreadExchangeStreamCaptureMode(&mode));
            if (one.capture != CU_STREAM_CAPTURE_MODE_RELAXED)
                EXPECT_DRIVER(cuStreamEndCapture(stream, &graph),
                              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
            EXPECT_DRIVER(cuMemAlloc(&memory, 256), one.wanted);
            if (one.wanted == CUDA_SUCCESS)
                CHECK_DRIVER(cuMemFree(memory));
        }).join();
        end_with(stream,
                 one.wanted == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    std::thread([&] {
        CHECK_DRIVER(cuCtxSetCurrent(context));
        end_with(stream, CUDA_SUCCESS);
    }).join();
}

struct info {
    CUstreamCaptureStatus status;
    CUgraph graph;
    const CUgraphNode *set;
    size_t count;
};

static info ask(CUstream stream)
{
    info out = {};
#if CUDA_VERSION >= 13000
    CHECK_DRIVER(cuStreamGetCaptureInfo(stream, &out.status, nullptr, &out.graph, &out.set, nullptr,
                                        &out.count));
#else
    CHECK_DRIVER(
        cuStreamGetCaptureInfo_v2(stream, &out.status, nullptr, &out.graph, &out.set, &out.count));
#endif
    return out;
}

static CUresult update(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags)
{
#if CUDA_VERSION >= 13000
    return cuStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
#else
    return cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
#endif
}

/* The set of nodes that the next one comes behind, read and changed. */
static void dependencies(CUstream stream, CUfunction kernel)
{
    CUgraph own;
    CUgraphNode node, empty;
    EXPECT_DRIVER(update(stream, nullptr, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_DRIVER(cuGraphCreate(&own, 0));
    CHECK_DRIVER(cuGraphAddEmptyNode(&empty, own, nullptr, 0));
    CHECK_DRIVER(cuStreamBeginCaptureToGraph(stream, own, &empty, nullptr, 1,
                                             CU_STREAM_CAPTURE_MODE_RELAXED));
    info now = ask(stream);
    if (now.status != CU_STREAM_CAPTURE_STATUS_ACTIVE || now.graph != own || now.count != 1 ||
        now.set[0] != empty)
        fail("a capture into a graph begins elsewhere");
    launch(kernel, stream);
    now = ask(stream);
    node = now.set[0];
    if (now.count != 1 || node == empty)
        fail("what is captured is not what comes next");
    EXPECT_DRIVER(update(stream, &node, 1, 2), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(update(stream, &empty, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch(kernel, stream);
    CHECK_DRIVER(update(stream, &node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    launch(kernel, stream);
    end_with(stream, CUDA_SUCCESS); /* which destroys the graph */
    EXPECT_DRIVER(cuGraphDestroy(own), CUDA_ERROR_INVALID_VALUE);
}

int main()
{
    CUfunction kernel;
    CUcontext context;
    cudaFunction_t symbol;
    CHECK(cudaFree(nullptr));
    CHECK(cudaGetFuncBySymbol(&symbol, (const void *)nothing));
    kernel = symbol;
    CHECK_DRIVER(cuCtxGetCurrent(&context));
    CUstream stream = make_stream();
    beginnings(stream);
    waiting(stream);
    unsafe(stream);
    legacy(context, kernel);
    events(kernel);
    threads(context, stream);
    dependencies(stream, kernel);
    CHECK_DRIVER(cuStreamDestroy(stream));
    return passed();
}
