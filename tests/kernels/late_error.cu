// SPDX-License-Identifier: Apache-2.0
// late_error [TURNS]: makes so many streams that a server refuses one. The call that made it has
// returned: the next one of its context that waits says so, once, and the program goes on. TURNS
// calls in two contexts in turn, none of which waits, may come between. A helper of the end-to-end
// tests.
#include "check_driver.h"

struct Turn {
    CUcontext context;
    CUdeviceptr memory;
};

static void take_turns(const Turn turns[2], int count)
{
    for (int i = 0; i < count; i++) {
        CHECK_DRIVER(cuCtxSetCurrent(turns[i % 2].context));
        CHECK_DRIVER(cuMemsetD32Async(turns[i % 2].memory, i, 1, nullptr));
    }
    CHECK_DRIVER(cuCtxSetCurrent(turns[1].context));
    CHECK_DRIVER(cuCtxSynchronize()); // the error is not this one's
    CHECK_DRIVER(cuCtxSetCurrent(turns[0].context));
}

int main(int count, char **arguments)
{
    enum { STREAMS = 65536 + 100 };
    int value = 42, got = 0, *device;
    Turn turns[2];
    CHECK(cudaMalloc(&device, sizeof value));
    turns[0].memory = (CUdeviceptr)device;
    CHECK_DRIVER(cuCtxGetCurrent(&turns[0].context));
    turns[1].context = create_context(0);
    CHECK_DRIVER(cuMemAlloc(&turns[1].memory, 4));
    CHECK_DRIVER(cuCtxSetCurrent(turns[0].context));
    cudaStream_t stream = nullptr;
    for (int i = 0; i < STREAMS; i++) {
        cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (error != cudaSuccess)
            fail("stream %d: error %d from the call itself", i, (int)error);
    }
    if (count > 1)
        take_turns(turns, atoi(arguments[1]));
    cudaError_t late = cudaStreamSynchronize(0);
    printf("late error %d\n", (int)late);
    (void)cudaGetLastError();
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost));
    if (got != value)
        fail("%d came back, %d is right", got, value);
    return passed();
}
