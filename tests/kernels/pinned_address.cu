// SPDX-License-Identifier: Apache-2.0
// Pinned memory that kernels use by the program's address: alone, in structures, in graphs, of two
// devices, and between copies that are still under way. semantics S64
#include <vector>

#include "check.h"

struct Job {
    int rounds;
    const int *from;
    int *to;
};

__global__ void add(const int *from, int *to, int n, int what)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = from[i] + what;
}

__global__ void work(Job job, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        job.to[i] = job.rounds * job.from[i];
}

static void expect(const int *found, int n, int first, int step, const char *what)
{
    for (int i = 0; i < n; i++)
        if (found[i] != first + step * i)
            fail("%s: element %d is %d, %d is right", what, i, found[i], first + step * i);
}

static void count_up(int *data, int n)
{
    for (int i = 0; i < n; i++)
        data[i] = i;
}

static void alone(int n)
{
    int *from, *to, *same;
    CHECK(cudaMallocHost(&from, n * sizeof(int)));
    CHECK(cudaMallocHost(&to, n * sizeof(int)));
    CHECK(cudaHostGetDevicePointer(&same, from, 0));
    if (same != from)
        fail("pinned memory has another address on the device");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, to + 3));
    if (attributes.type != cudaMemoryTypeHost || attributes.devicePointer != to + 3)
        fail("pinned memory is of type %d, at %p", attributes.type, attributes.devicePointer);
    for (int round = 0; round < 3; round++) {
        count_up(from, n);
        add<<<4, 128>>>(from, to, n, round);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        expect(to, n, round, 1, "alone");
        work<<<1, 128>>>(Job{3, to, from}, n);
        CHECK(cudaDeviceSynchronize());
        expect(from, n, 3 * round, 3, "in a structure");
    }
    CHECK(cudaMemset(to, 0, n * sizeof(int)));
    expect(to, n, 0, 0, "cleared");
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
    // The next one has nothing of it, wherever it lies.
    CHECK(cudaMallocHost(&to, n * sizeof(int)));
    expect(to, n, 0, 0, "new memory");
    add<<<4, 128>>>(to, to, n, 5);
    CHECK(cudaDeviceSynchronize());
    expect(to, n, 5, 0, "new memory, used");
    CHECK(cudaFreeHost(to));
}

// A kernel sees what an asynchronous copy before it brings, and a copy behind it what it has done.
static void between_copies(int n)
{
    int *pinned, *device, *back;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    CHECK(cudaMallocHost(&back, n * sizeof(int)));
    std::vector<int> plain(n);
    count_up(plain.data(), n);
    CHECK(cudaMemcpy(device, plain.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
        add<<<4, 128, 0, stream>>>(pinned, pinned, n, 1);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream));
        CHECK(cudaMemcpyAsync(back, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        expect(back, n, round + 1, 1, "between copies");
        expect(pinned, n, round + 1, 1, "between copies, pinned");
    }
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(back));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
}

static void in_graph(int n)
{
    int *pinned;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<4, 128, 0, stream>>>(pinned, pinned, n, 1);
    add<<<4, 128, 0, stream>>>(pinned, pinned, n, 2);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        count_up(pinned, n);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        expect(pinned, n, 3, 1, "in a graph");
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(stream));
}

// Both devices of the node, in turns.
static void of_two_devices(int n)
{
    int *pinned;
    CHECK(cudaHostAlloc(&pinned, n * sizeof(int), cudaHostAllocPortable));
    count_up(pinned, n);
    for (int round = 0; round < 4; round++) {
        CHECK(cudaSetDevice(round % 2));
        add<<<4, 128>>>(pinned, pinned, n, 10);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        expect(pinned, n, 10 * (round + 1), 1, "of two devices");
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaFreeHost(pinned));
}

// It ends with its last use.
static void freed_in_use(int n)
{
    size_t before, after, total;
    CHECK(cudaMemGetInfo(&before, &total));
    for (int round = 0; round < 20; round++) {
        int *pinned;
        CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
        add<<<4, 128>>>(pinned, pinned, n, 1);
        CHECK(cudaFreeHost(pinned));
    }
    CHECK(cudaMemGetInfo(&after, &total));
    if (after != before)
        fail("%zu bytes have not come back", before - after);
}

int main()
{
    alone(1000);
    alone(700000);
    between_copies(100);
    between_copies(400000);
    in_graph(5000);
    of_two_devices(5000);
    freed_in_use(5000);
    return passed();
}
