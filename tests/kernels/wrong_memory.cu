// SPDX-License-Identifier: Apache-2.0
// More memory than there is: the allocating call says so, and the program goes on.
#include <vector>

#include "check_driver.h"

__global__ void fill(int *data, int value) { data[threadIdx.x] = value; }

static void still_works()
{
    int *data, host[64];
    CHECK(cudaMalloc(&data, sizeof host));
    fill<<<1, 64>>>(data, 17);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int value : host) {
        if (value != 17)
            fail("a small kernel gives %d, 17 is right", value);
    }
    CHECK(cudaFree(data));
}

int main()
{
    size_t before, total, after;
    void *pointer;
    CHECK(cudaMemGetInfo(&before, &total));
    if (before == 0 || before > total)
        fail("%zu of %zu bytes are free", before, total);
    EXPECT_ERROR(cudaMalloc(&pointer, total + (1ull << 30)), cudaErrorMemoryAllocation);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError()); // not sticky
    still_works();

    // Pinned memory that cannot be had takes no addresses away. (What is shared with a server of
    // the same machine can be had: nothing of it has been used.)
    for (int i = 0; i < 40; i++)
        if (cudaMallocHost(&pointer, (size_t)1 << 40) == cudaSuccess)
            CHECK(cudaFreeHost(pointer));
    (void)cudaGetLastError();
    CUdeviceptr addresses;
    CHECK_DRIVER(cuMemAddressReserve(&addresses, (size_t)1 << 30, 0, 0, 0));
    CHECK_DRIVER(cuMemAddressFree(addresses, (size_t)1 << 30));

    // Piece by piece until nothing is left, then all of it back.
    std::vector<void *> pieces;
    const size_t piece = total / 8;
    for (;;) {
        cudaError_t error = cudaMalloc(&pointer, piece);
        if (error != cudaSuccess) {
            expect_error(error, cudaErrorMemoryAllocation, "cudaMalloc", __FILE__, __LINE__);
            break;
        }
        pieces.push_back(pointer);
        if (pieces.size() > 8)
            fail("more than the whole memory was given out");
    }
    (void)cudaGetLastError();
    if (pieces.size() < 6)
        fail("only %zu eighths of the memory could be had", pieces.size());
    for (void *one : pieces)
        CHECK(cudaFree(one));
    still_works();
    CHECK(cudaMemGetInfo(&after, &total));
    if (after + (8 << 20) < before)
        fail("%zu bytes were free before, %zu are now", before, after);
    printf("%zu of 8 eighths could be had at once\n", pieces.size());
    return passed();
}
