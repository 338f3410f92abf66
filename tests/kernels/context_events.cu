// SPDX-License-Identifier: Apache-2.0
// Events of a whole context: cuCtxRecordEvent takes in all that its streams do, cuCtxWaitEvent
// holds all that they are given afterwards, in streams that are made later as well.
#include <atomic>
#include <unistd.h>

#include "check_driver.h"

static std::atomic<bool> let_go;

static void CUDA_CB hold(void *)
{
    while (!let_go)
        usleep(500);
}

static unsigned read_word(CUdeviceptr at)
{
    unsigned value;
    CHECK_DRIVER(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
}

static void check_record(CUcontext context, CUdeviceptr data)
{
    CUstream one, two;
    CUevent event;
    CHECK_DRIVER(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuCtxRecordEvent(context, event)); // nothing is under way
    CHECK_DRIVER(cuEventSynchronize(event));
    CHECK_DRIVER(cuEventQuery(event));
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(one, hold, nullptr));
    CHECK_DRIVER(cuMemsetD32Async(data, 1, 1, one));
    CHECK_DRIVER(cuMemsetD32Async(data + 4, 2, 1, two));
    CHECK_DRIVER(cuCtxRecordEvent(context, event));
    CHECK_DRIVER(cuStreamSynchronize(two));
    EXPECT_DRIVER(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    let_go = true;
    CHECK_DRIVER(cuEventSynchronize(event));
    if (read_word(data) != 1 || read_word(data + 4) != 2)
        fail("the event is ready and work before it is not done");
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuStreamDestroy(one));
    CHECK_DRIVER(cuStreamDestroy(two));
}

static void check_wait(CUcontext context, CUcontext other, CUdeviceptr data)
{
    CUstream held, before, after;
    CUevent event, done;
    CHECK_DRIVER(cuMemsetD32(data, 0, 4));
    CHECK_DRIVER(cuCtxSynchronize()); // streams that do not wait for the legacy one follow
    CHECK_DRIVER(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuCtxSetCurrent(other));
    CHECK_DRIVER(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    let_go = false;
    CHECK_DRIVER(cuLaunchHostFunc(held, hold, nullptr));
    CHECK_DRIVER(cuEventRecord(event, held));
    CHECK_DRIVER(cuCtxWaitEvent(context, event)); // of a context that is not current
    CHECK_DRIVER(cuCtxSetCurrent(context));
    CHECK_DRIVER(cuStreamCreate(&after, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemsetD32Async(data, 1, 1, before));
    CHECK_DRIVER(cuMemsetD32Async(data + 4, 2, 1, after));
    EXPECT_DRIVER(cuStreamQuery(before), CUDA_ERROR_NOT_READY);
    EXPECT_DRIVER(cuStreamQuery(after), CUDA_ERROR_NOT_READY);
    CHECK_DRIVER(cuCtxRecordEvent(context, done));
    EXPECT_DRIVER(cuEventQuery(done), CUDA_ERROR_NOT_READY);
    let_go = true;
    CHECK_DRIVER(cuEventSynchronize(done));
    if (read_word(data) != 1 || read_word(data + 4) != 2)
        fail("the work behind the event is not done");
    // A context may wait for itself.
    CHECK_DRIVER(cuCtxRecordEvent(context, done));
    CHECK_DRIVER(cuCtxWaitEvent(context, done));
    CHECK_DRIVER(cuMemsetD32Async(data, 3, 1, after));
    CHECK_DRIVER(cuStreamSynchronize(after));
    EXPECT_DRIVER(cuCtxRecordEvent(context, event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_DRIVER(cuStreamDestroy(before));
    CHECK_DRIVER(cuStreamDestroy(after));
    CHECK_DRIVER(cuEventDestroy(done));
}

static void check_capture(CUcontext context)
{
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_DRIVER(cuCtxRecordEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DRIVER(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_DRIVER(cuCtxWaitEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DRIVER(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

int main()
{
    CUdevice device;
    CUdeviceptr data;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext other = create_context(device), context = create_context(device);
    CHECK_DRIVER(cuMemAlloc(&data, 64));
    check_record(context, data);
    check_wait(context, other, data);
    check_capture(context);
    CHECK_DRIVER(cuMemFree(data));
    CHECK_DRIVER(cuCtxDestroy(context));
    CHECK_DRIVER(cuCtxDestroy(other));
    return passed();
}
