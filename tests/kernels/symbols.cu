// SPDX-License-Identifier: Apache-2.0
// Variables of a module: __constant__ and __device__, initial values, offsets, addresses, sizes.
#include "check.h"

__constant__ int table[64];
__constant__ float factor = 1.5f;
__device__ int results[64];
__device__ int counter = 41;
__device__ int *pointer_to_counter = &counter;

__global__ void look_up()
{
    results[threadIdx.x] = (int)(table[63 - threadIdx.x] * factor);
    if (threadIdx.x == 0)
        *pointer_to_counter += 1;
}

int main()
{
    int host[64], back[64], count = 0;
    for (int i = 0; i < 64; i++)
        host[i] = 10 * i;
    CHECK(cudaMemcpyToSymbol(table, host, sizeof host));
    look_up<<<1, 64>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyFromSymbol(back, results, sizeof back));
    for (int i = 0; i < 64; i++) {
        if (back[i] != 15 * (63 - i))
            fail("result %d is %d, %d is right", i, back[i], 15 * (63 - i));
    }
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    if (count != 42)
        fail("the counter is %d, 42 is right", count);

    // A part of the table, another factor, on a stream.
    const float two = 2;
    const int changed[2] = {-7, -8};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyToSymbolAsync(factor, &two, sizeof two, 0, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyToSymbolAsync(table, changed, sizeof changed, 3 * sizeof(int),
                                  cudaMemcpyHostToDevice, stream));
    look_up<<<1, 64, 0, stream>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyFromSymbolAsync(back, results, 4 * sizeof(int), 58 * sizeof(int),
                                    cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    const int right[4] = {100, -16, -14, 40};
    if (memcmp(back, right, sizeof right) != 0)
        fail("after the change: %d %d %d %d", back[0], back[1], back[2], back[3]);

    void *address = nullptr;
    size_t size = 0;
    CHECK(cudaGetSymbolAddress(&address, results));
    CHECK(cudaGetSymbolSize(&size, results));
    if (size != sizeof back)
        fail("the symbol's size is %zu", size);
    CHECK(cudaMemset(address, 0, size));
    CHECK(cudaMemcpyFromSymbol(back, results, sizeof back));
    for (int value : back) {
        if (value != 0)
            fail("the symbol's address is not where its value is");
    }
    printf("constants, variables, offsets and addresses agree\n");
    return passed();
}
