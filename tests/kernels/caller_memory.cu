// SPDX-License-Identifier: Apache-2.0
// What of the program's memory a call has taken when it returns, and that submitted work runs
// without any further call.
// semantics S8, S9, S10, S11, S12
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

static const size_t n = 3 << 20; // more than travels at once
static std::atomic<int> gate(0), called(0);

static void CUDART_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

static void CUDART_CB count(void *)
{
    ++called;
}

__global__ void store(int *to, int value)
{
    *to = value;
}

static void expect_all(const std::vector<unsigned char> &got, unsigned char right, const char *what)
{
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != right)
            fail("%s: byte %zu is %u, %u is right", what, i, got[i], right);
}

static void parameters_and_progress(cudaStream_t stream)
{
    // Parameters of a kernel are taken by the launch.
    int *number, result = 0, value = 5;
    CHECK(cudaMalloc(&number, sizeof *number));
    gate = 0;
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    void *parameters[] = {&number, &value};
    CHECK(cudaLaunchKernel((const void *)store, dim3(1), dim3(1), parameters, 0, stream));
    value = 6;
    parameters[0] = nullptr;
    gate = 1;
    CHECK(cudaMemcpyAsync(&result, number, sizeof result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (result != 5)
        fail("the kernel was given %d", result);

    // Submitted work runs by itself.
    store<<<1, 1, 0, stream>>>(number, 8);
    CHECK(cudaLaunchHostFunc(stream, count, nullptr));
    for (int ms = 0; called == 0; ms++) {
        if (ms > 60000)
            fail("a submitted kernel does not run without a further call");
        usleep(1000);
    }
    CHECK(cudaFree(number));
}

int main()
{
    cudaStream_t stream;
    unsigned char *device, *pinned;
    std::vector<unsigned char> host(n, 1), got(n, 0);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMallocHost(&pinned, n));

    // Pageable, to the device: taken when the call returns, though the stream is held. (Where a
    // driver waits for the stream instead, the gate opens by itself.)
    std::thread later([] { usleep(300000), gate = 1; });
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    CHECK(cudaMemcpyAsync(device, host.data(), n, cudaMemcpyHostToDevice, stream));
    host.assign(n, 2);
    later.join();
    // To pageable memory: there when the call returns.
    CHECK(cudaMemcpyAsync(got.data(), device, n, cudaMemcpyDeviceToHost, stream));
    expect_all(got, 1, "to the device and back");

    // To pinned memory: the call returns at once, and giving the memory back waits.
    gate = 0;
    CHECK(cudaMemsetAsync(device, 3, n, stream));
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    memset(pinned, 0, n);
    CHECK(cudaMemcpyAsync(pinned, device, n, cudaMemcpyDeviceToHost, stream));
    if (pinned[0] != 0 || pinned[n - 1] != 0)
        fail("a copy behind a held stream has happened");
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    std::thread again([] { usleep(100000), gate = 1; });
    CHECK(cudaFreeHost(pinned));
    if (gate == 0)
        fail("the memory went while a copy to it was under way");
    again.join();

    // Registered memory: the same, and it is the program's afterwards.
    gate = 0;
    CHECK(cudaHostRegister(got.data(), n, 0));
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    CHECK(cudaMemcpyAsync(got.data(), device, n, cudaMemcpyDeviceToHost, stream));
    std::thread once_more([] { usleep(100000), gate = 1; });
    CHECK(cudaHostUnregister(got.data()));
    expect_all(got, 3, "to memory that was registered");
    once_more.join();

    parameters_and_progress(stream);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return passed();
}
