// SPDX-License-Identifier: Apache-2.0
// threads_copies [managed]: threads of one program that share a connection. One copies much at a
// time, into managed memory if that is said; one sends a little of its own memory again and again;
// and one launches and waits for what it has launched, on managed memory. None of them may wait for
// another.
#include <thread>
#include <vector>

#include "check.h"

static const size_t large = 8 << 20, medium = 40000;
static const int rounds = 4, turns = 30;

__global__ void add(unsigned *data, size_t count, unsigned by)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += by;
}

static void copy_much(bool managed)
{
    unsigned char *to;
    std::vector<unsigned char> host(large), back(large);
    CHECK(managed ? cudaMallocManaged(&to, large) : cudaMalloc(&to, large));
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < large; i++)
            host[i] = (unsigned char)(i * 31 + i / 4099 + (size_t)round);
        CHECK(cudaMemcpy(to, host.data(), large, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(back.data(), to, large, cudaMemcpyDeviceToHost));
        if (back != host)
            fail("round %d: other bytes came back", round);
    }
    CHECK(cudaFree(to));
}

static void copy_little()
{
    unsigned char *device;
    cudaStream_t stream;
    std::vector<unsigned char> host(medium), back(medium);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, medium));
    for (int turn = 0; turn < 40 * turns; turn++) {
        for (size_t i = 0; i < medium; i += 1000)
            host[i] = (unsigned char)(turn + i / 1000);
        CHECK(cudaMemcpyAsync(device, host.data(), medium, cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaMemcpyAsync(back.data(), device, medium, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (back != host)
        fail("other bytes came back");
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
}

static void launch_and_wait()
{
    const size_t count = 5000;
    unsigned *managed;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocManaged(&managed, count * sizeof *managed));
    CHECK(cudaMemset(managed, 0, count * sizeof *managed));
    for (int turn = 0; turn < turns; turn++) {
        add<<<20, 256, 0, stream>>>(managed, count, 3);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
    }
    std::vector<unsigned> back(count);
    CHECK(cudaMemcpy(back.data(), managed, count * sizeof *managed, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++) {
        if (back[i] != 3u * turns)
            fail("element %zu is %u, not %u", i, back[i], 3u * turns);
    }
    CHECK(cudaFree(managed));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    bool managed = argc == 2 && strcmp(argv[1], "managed") == 0;
    CHECK(cudaFree(0));
    std::thread threads[] = {std::thread(copy_much, managed), std::thread(copy_little),
                             std::thread(launch_and_wait)};
    for (std::thread &thread : threads)
        thread.join();
    return passed();
}
