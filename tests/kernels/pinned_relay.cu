// SPDX-License-Identifier: Apache-2.0
// Data goes from one buffer through pinned host memory to another, with no wait on the host: the
// second copy must read what the first one wrote, not what was there when it was submitted. With
// two devices the second buffer is on the other one and an event orders the copies.
#include "check.h"

static const int n = 1 << 16;

__global__ void produce(int *data, int seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = seed;
    for (int k = 0; k < 64; k++)
        value = value * 3 + i;
    data[i] = value;
}

static int produced(int i, int seed)
{
    unsigned value = (unsigned)seed;
    for (int k = 0; k < 64; k++)
        value = value * 3 + (unsigned)i;
    return (int)value;
}

int main()
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    const int other = count > 1 ? 1 : 0;
    int *from, *to, *relay, *result;
    cudaStream_t stream_from, stream_to;
    cudaEvent_t relayed;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&from, n * sizeof(int)));
    CHECK(cudaStreamCreate(&stream_from));
    CHECK(cudaEventCreateWithFlags(&relayed, cudaEventDisableTiming));
    CHECK(cudaHostAlloc(&relay, n * sizeof(int), cudaHostAllocPortable));
    CHECK(cudaHostAlloc(&result, n * sizeof(int), cudaHostAllocPortable));
    CHECK(cudaSetDevice(other));
    CHECK(cudaMalloc(&to, n * sizeof(int)));
    CHECK(cudaStreamCreate(&stream_to));
    memset(relay, 0xee, n * sizeof(int));
    for (int round = 0; round < 10; round++) {
        CHECK(cudaSetDevice(0));
        produce<<<n / 256, 256, 0, stream_from>>>(from, round);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(relay, from, n * sizeof(int), cudaMemcpyDeviceToHost, stream_from));
        CHECK(cudaEventRecord(relayed, stream_from));
        CHECK(cudaSetDevice(other));
        CHECK(cudaStreamWaitEvent(stream_to, relayed, 0));
        CHECK(cudaMemcpyAsync(to, relay, n * sizeof(int), cudaMemcpyHostToDevice, stream_to));
        CHECK(cudaMemcpyAsync(result, to, n * sizeof(int), cudaMemcpyDeviceToHost, stream_to));
        CHECK(cudaStreamSynchronize(stream_to));
        for (int i = 0; i < n; i++) {
            if (result[i] != produced(i, round))
                fail("round %d element %d is %d, %d is right", round, i, result[i],
                     produced(i, round));
        }
    }
    CHECK(cudaFree(to));
    CHECK(cudaStreamDestroy(stream_to));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(from));
    CHECK(cudaStreamDestroy(stream_from));
    CHECK(cudaEventDestroy(relayed));
    CHECK(cudaFreeHost(relay));
    CHECK(cudaFreeHost(result));
    printf("10 relays of %d numbers from device 0 to device %d\n", n, other);
    return passed();
}
