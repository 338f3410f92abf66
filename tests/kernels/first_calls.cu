// SPDX-License-Identifier: Apache-2.0
// first_calls [THREADS]: threads, 64 unless told, make the first CUDA calls of the process at the
// same moment, each another one; then each works on a stream of its own and all on one shared
// stream.
// semantics S13
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

static const int n = 1 << 10, rounds = 20;

__global__ void add(int *to, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] += value;
}

__global__ void add_atomically(int *to, int value)
{
    atomicAdd(to, value);
}

__global__ void nothing()
{
}

static std::atomic<int> arrived(0);
static std::atomic<cudaStream_t> shared_stream(nullptr);
static std::atomic<int *> shared_sum(nullptr);

// All threads leave it at the same moment.
static void meet(int threads)
{
    int round = arrived.fetch_add(1) / threads + 1;
    while (arrived.load() < round * threads)
        std::this_thread::yield();
}

static void first_call(int id)
{
    int *memory, count;
    cudaStream_t stream;
    cudaEvent_t event;
    switch (id % 8) {
    case 0:
        CHECK(cudaFree(nullptr));
        break;
    case 1:
        CHECK(cudaMalloc(&memory, 1000));
        CHECK(cudaFree(memory));
        break;
    case 2:
        nothing<<<1, 1>>>();
        CHECK(cudaGetLastError());
        break;
    case 3:
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamDestroy(stream));
        break;
    case 4:
        CHECK(cudaEventCreate(&event));
        CHECK(cudaEventDestroy(event));
        break;
    case 5:
        CHECK(cudaGetDeviceCount(&count));
        break;
    case 6:
        CHECK(cudaMallocHost(&memory, 1000));
        CHECK(cudaFreeHost(memory));
        break;
    default:
        CHECK(cudaDeviceSynchronize());
    }
}

static void one_thread(int id, int threads)
{
    meet(threads);
    first_call(id);
    int *data, host[n];
    cudaStream_t stream;
    CHECK(cudaMalloc(&data, n * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (id == 0) {
        int *sum;
        cudaStream_t made;
        CHECK(cudaMalloc(&sum, sizeof(int)));
        CHECK(cudaMemset(sum, 0, sizeof(int)));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
        shared_sum = sum;
        shared_stream = made;
    }
    CHECK(cudaMemsetAsync(data, 0, n * sizeof(int), stream));
    for (int round = 0; round < rounds; round++) {
        add<<<n / 256, 256, 0, stream>>>(data, id + round);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++)
        if (host[i] != rounds * id + rounds * (rounds - 1) / 2)
            fail("thread %d element %d is %d", id, i, host[i]);
    meet(threads);
    for (int round = 0; round < rounds; round++) {
        add_atomically<<<1, 1, 0, shared_stream>>>(shared_sum, id + 1);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    meet(threads);
    if (id ==
        threads / 2) { // what the others have submitted before they came here is in the stream
        int sum = 0, right = rounds * threads * (threads + 1) / 2;
        CHECK(cudaMemcpyAsync(&sum, shared_sum, sizeof sum, cudaMemcpyDeviceToHost, shared_stream));
        CHECK(cudaStreamSynchronize(shared_stream));
        if (sum != right)
            fail("together %d, %d is right", sum, right);
    }
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 64;
    if (threads < 2)
        fail("usage: %s [THREADS], at least 2", argv[0]);
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back(one_thread, id, threads);
    for (std::thread &thread : all)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    printf("%d threads\n", threads);
    return passed();
}
