// SPDX-License-Identifier: Apache-2.0
// Two devices from one process: each computes its half, and a stream of device 1 waits for an event
// of device 0.
#include <vector>

#include "check.h"

__global__ void powers(unsigned *data, int n, unsigned base, int exponent)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned result = 1;
    for (int k = 0; k < exponent; k++)
        result *= base + i;
    if (i < n)
        data[i] = result;
}

static unsigned power(unsigned base, int exponent)
{
    unsigned result = 1;
    for (int k = 0; k < exponent; k++)
        result *= base;
    return result;
}

int main()
{
    const int n = 20000, exponent = 50;
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2)
        fail("this program needs two devices, there is %d", count);
    unsigned *data[2];
    cudaStream_t stream[2];
    for (int d = 0; d < 2; d++) {
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, d));
        printf("device %d: %s\n", d, properties.name);
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&data[d], n * sizeof(unsigned)));
        CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    }
    cudaEvent_t done;
    CHECK(cudaSetDevice(0));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int round = 0; round < 10; round++) {
        CHECK(cudaSetDevice(0));
        powers<<<(n + 127) / 128, 128, 0, stream[0]>>>(data[0], n, round, exponent);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(done, stream[0]));
        CHECK(cudaSetDevice(1));
        CHECK(cudaStreamWaitEvent(stream[1], done, 0));
        powers<<<(n + 127) / 128, 128, 0, stream[1]>>>(data[1], n, n + round, 1);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream[1]));
        // Device 1 is done, so device 0 must be.
        CHECK(cudaEventQuery(done));
        CHECK(cudaStreamQuery(stream[0]));
        for (int d = 0; d < 2; d++) {
            std::vector<unsigned> host(n);
            CHECK(cudaSetDevice(d));
            CHECK(cudaMemcpy(host.data(), data[d], n * sizeof(unsigned), cudaMemcpyDeviceToHost));
            for (int i = 0; i < n; i++) {
                unsigned right = d == 0 ? power(round + i, exponent) : n + round + i;
                if (host[i] != right)
                    fail("round %d device %d element %d is %u, %u is right", round, d, i, host[i],
                         right);
            }
        }
    }
    CHECK(cudaEventDestroy(done));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaStreamDestroy(stream[d]));
        CHECK(cudaFree(data[d]));
    }
    return passed();
}
