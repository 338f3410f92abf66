// SPDX-License-Identifier: Apache-2.0
// Frees and reallocates while kernels on two streams still run: the new owner of an address must
// never see a write of the old one.
#include <vector>

#include "check.h"

static const int n = 4096;

// Writes its value after a while, and at the end once more.
__global__ void slow_fill(int *data, int value, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int noise = value;
    for (int round = 0; round < rounds; round++)
        noise = noise * 1103515245 + round;
    data[i] = noise == 12345 ? noise : value;
}

static void verify(const int *device, int value, int round, std::vector<int> &host)
{
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        if (host[i] != value)
            fail("round %d: element %d is %d, %d is right", round, i, host[i], value);
    }
}

int main()
{
    const int rounds = 60;
    cudaStream_t stream[2];
    CHECK(cudaStreamCreateWithFlags(&stream[0], cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking));
    std::vector<int> host(n);
    int *keep[2] = {nullptr, nullptr}, reused = 0;
    for (int round = 0; round < rounds; round++) {
        int *old[2], *fresh[2];
        for (int s = 0; s < 2; s++) {
            CHECK(cudaMalloc(&old[s], n * sizeof(int)));
            slow_fill<<<n / 128, 128, 0, stream[s]>>>(old[s], -round - 1, 40 + 60 * s);
            CHECK(cudaGetLastError());
        }
        CHECK(cudaFree(old[0]));
        CHECK(cudaFree(old[1]));
        for (int s = 0; s < 2; s++) {
            CHECK(cudaMalloc(&fresh[s], n * sizeof(int)));
            reused += fresh[s] == old[0] || fresh[s] == old[1];
            // On the other stream: nothing but the free orders this after the old kernel.
            slow_fill<<<n / 128, 128, 0, stream[1 - s]>>>(fresh[s], 1000 * round + s, 5);
            CHECK(cudaGetLastError());
        }
        for (int s = 0; s < 2; s++) {
            if (keep[s]) {
                verify(keep[s], 1000 * (round - 1) + s, round, host);
                CHECK(cudaFree(keep[s]));
            }
            keep[s] = fresh[s];
        }
        CHECK(cudaStreamSynchronize(stream[0]));
        CHECK(cudaStreamSynchronize(stream[1]));
    }
    for (int s = 0; s < 2; s++) {
        verify(keep[s], 1000 * (rounds - 1) + s, rounds, host);
        CHECK(cudaFree(keep[s]));
        CHECK(cudaStreamDestroy(stream[s]));
    }
    printf("%d rounds, %d of %d allocations got an address that was just freed\n", rounds, reused,
           2 * rounds);
    return passed();
}
