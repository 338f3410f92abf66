// SPDX-License-Identifier: Apache-2.0
// Copies that wait behind a kernel of one device, more bytes than anybody has room for on their
// way, do not keep calls from another device. semantics S130
#include <unistd.h>

#include "check.h"

static const size_t bytes = 24 << 20;

__global__ void spin(volatile unsigned *flag)
{
    while (*flag == 0)
        ;
}

__global__ void answer(unsigned *at)
{
    *at = 42;
}

int main()
{
    unsigned *flag, *other, *host, value = 0;
    void *device;
    cudaStream_t busy, beside;
    alarm(120);
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&other, sizeof *other));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMemset(device, 7, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());

    spin<<<1, 1, 0, busy>>>(flag);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, busy));
    CHECK(cudaSetDevice(1));
    answer<<<1, 1>>>(other);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&value, other, sizeof value, cudaMemcpyDeviceToHost));
    if (value != 42)
        fail("the other device answers %u", value);
    CHECK(cudaSetDevice(0));
    EXPECT_ERROR(cudaStreamQuery(busy), cudaErrorNotReady);
    CHECK(cudaMemsetAsync(flag, 1, sizeof *flag, beside));
    CHECK(cudaStreamSynchronize(busy));
    for (size_t i = 0; i < bytes / 4; i++)
        if (host[i] != 0x07070707)
            fail("word %zu is %#x", i, host[i]);
    return passed();
}
