// Makes so many streams that a server refuses one. The call that made it has returned: the next one
// that waits says so, once, and the program goes on. A helper of the end-to-end tests.
#include "check.h"

int main()
{
    enum { STREAMS = 65536 + 100 };
    int value = 42, got = 0, *device;
    CHECK(cudaMalloc(&device, sizeof value));
    cudaStream_t stream = nullptr;
    for (int i = 0; i < STREAMS; i++) {
        cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (error != cudaSuccess)
            fail("stream %d: error %d from the call itself", i, (int)error);
    }
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
