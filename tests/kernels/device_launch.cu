// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels (CUDA's dynamic parallelism, second version): order in a stream,
// named streams and events, fire and forget, tail launches, copies and fills that kernels order,
// recursion, and errors that a kernel sees.
#include "check.h"

struct Work {
    int *out;
    int value;
    double scale;
};

__global__ void store(int *out, int value)
{
    out[threadIdx.x] = value + (int)threadIdx.x;
}

__global__ void twice(int *out)
{
    out[threadIdx.x] *= 2;
}

__global__ void scaled(Work work)
{
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = work.value;
    __syncthreads();
    if (threadIdx.x == 0)
        work.out[0] = (int)(dynamic[blockDim.x - 1] * work.scale);
}

// One after the other: what a child leaves the next one finds.
__global__ void in_order(int *out)
{
    if (threadIdx.x != 0)
        return;
    store<<<1, 32>>>(out, 100);
    twice<<<1, 32>>>(out);
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    store<<<1, 32, 0, stream>>>(out + 32, 7);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(0, event, 0);
    twice<<<1, 32>>>(out + 32);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    scaled<<<1, 64, 64 * sizeof(int)>>>(Work{out + 64, 10, 2.5});
    cudaMemsetAsync(out + 65, 0, 8 * sizeof(int), 0);
    cudaMemcpyAsync(out + 66, out + 64, sizeof(int), cudaMemcpyDeviceToDevice, 0);
}

__global__ void count(unsigned *counter)
{
    atomicAdd(counter, 1);
}

__global__ void copy_count(const unsigned *counter, unsigned *seen)
{
    *seen = *counter;
}

// Every thread launches; what is in the tail comes after all the others, and theirs.
__global__ void node(unsigned *counter, int depth)
{
    atomicAdd(counter, 1);
    if (depth > 0)
        node<<<1, 2, 0, depth % 2 ? cudaStreamFireAndForget : 0>>>(counter, depth - 1);
}

__global__ void tree(unsigned *counter, unsigned *seen)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        copy_count<<<1, 1, 0, cudaStreamTailLaunch>>>(counter, seen);
    node<<<1, 2>>>(counter, 3);
}

// A loop of tail launches: each is the next step.
__global__ void steps(unsigned *counter, int left)
{
    *counter += 1;
    if (left > 1)
        steps<<<1, 1, 0, cudaStreamTailLaunch>>>(counter, left - 1);
}

__global__ void deep(int *out, int depth)
{
    out[0] = depth;
    deep<<<1, 1>>>(out, depth + 1);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        out[1] = error;
        out[2] = cudaGetLastError();
    }
}

__global__ void allocates(int *out)
{
    void *memory = nullptr, *none = out;
    out[0] = cudaMalloc(&memory, 1000);
    out[1] = memory != nullptr && (size_t)memory % 256 == 0;
    memset(memory, 1, 1000);
    out[2] = cudaFree(memory);
    out[3] = cudaMalloc(&none, (size_t)1 << 40);
    out[4] = cudaFree(out);
    out[5] = cudaGetLastError();
}

__global__ void questions(int *out)
{
    cudaFuncAttributes attributes;
    int blocks = 0;
    store<<<0, 32>>>(out, 0);
    out[0] = cudaPeekAtLastError();
    out[1] = cudaGetLastError();
    out[2] = cudaGetLastError();
    store<<<1, 2048>>>(out, 0);
    out[3] = cudaGetLastError();
    cudaGetDevice(&out[4]);
    cudaDeviceGetAttribute(&out[5], cudaDevAttrWarpSize, out[4]);
    out[6] = cudaFuncGetAttributes(&attributes, scaled);
    out[7] = attributes.maxThreadsPerBlock;
    out[8] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scaled, 64, 0);
    out[9] = blocks;
    out[10] = cudaGetErrorName(cudaErrorInvalidValue)[9];
    out[11] = attributes.maxDynamicSharedSizeBytes;
    out[12] = attributes.clusterDimMustBeSet;
    out[13] = attributes.requiredClusterWidth + attributes.nonPortableClusterSizeAllowed;
}

static void run_order()
{
    int *out, host[96];
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemset(out, 0xff, sizeof host));
    in_order<<<1, 32>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        if (host[i] != 2 * (100 + i) || host[32 + i] != 2 * (7 + i))
            fail("in order: %d and %d at %d", host[i], host[32 + i], i);
    if (host[64] != 25 || host[65] != 0 || host[66] != 25 || host[67] != 0 || host[73] != -1)
        fail("copies: %d %d %d %d %d", host[64], host[65], host[66], host[67], host[73]);
    CHECK(cudaFree(out));
}

static void run_tree()
{
    // 3 blocks of 2 threads launch a node of 2 threads each, and so on: 6 * (2 + 4 + 8 + 16)
    const unsigned expected = 6 * 30;
    unsigned *counters, host[3];
    CHECK(cudaMalloc(&counters, sizeof host));
    CHECK(cudaMemset(counters, 0, sizeof host));
    tree<<<3, 2>>>(counters, counters + 1);
    steps<<<1, 1>>>(counters + 2, 100);
    CHECK(cudaMemcpy(host, counters, sizeof host, cudaMemcpyDeviceToHost));
    if (host[0] != expected || host[1] != expected || host[2] != 100)
        fail("the tree has %u nodes, its tail saw %u of %u; %u steps", host[0], host[1], expected,
             host[2]);
    // Work of the stream after the kernel comes after what the kernel launched.
    count<<<1, 32>>>(counters);
    CHECK(cudaMemcpy(host, counters, sizeof host, cudaMemcpyDeviceToHost));
    if (host[0] != expected + 32)
        fail("%u after the tree", host[0]);
    CHECK(cudaFree(counters));
}

static void run_errors()
{
    int *out, host[16], device, warp;
    cudaFuncAttributes attributes;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device));
    CHECK(cudaFuncGetAttributes(&attributes, scaled));
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemset(out, 0, sizeof host));
    deep<<<1, 1>>>(out, 0);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    if (host[0] != 24 || host[1] != cudaErrorLaunchMaxDepthExceeded || host[2] != cudaSuccess)
        fail("the deepest is %d with error %d, then %d", host[0], host[1], host[2]);
    questions<<<1, 1>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    const int expected[14] = {cudaErrorInvalidConfiguration,
                              cudaErrorInvalidConfiguration,
                              cudaSuccess,
                              cudaErrorInvalidConfiguration,
                              device,
                              warp,
                              cudaSuccess,
                              attributes.maxThreadsPerBlock,
                              cudaSuccess,
                              host[9] > 0 ? host[9] : 1,
                              'I',
                              attributes.maxDynamicSharedSizeBytes,
                              0,
                              0};
    for (int i = 0; i < 14; i++)
        if (host[i] != expected[i])
            fail("answer %d is %d, not %d", i, host[i], expected[i]);
    allocates<<<1, 1>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    const int allocated[6] = {cudaSuccess, 1, cudaSuccess, cudaErrorMemoryAllocation,
                              cudaErrorInvalidValue, cudaErrorInvalidValue};
    for (int i = 0; i < 6; i++)
        if (host[i] != allocated[i])
            fail("allocation: answer %d is %d, not %d", i, host[i], allocated[i]);
    CHECK(cudaFree(out));
}

int main()
{
    run_order();
    run_tree();
    run_errors();
    return passed();
}
