// SPDX-License-Identifier: Apache-2.0
// Cooperative launches: blocks of a grid that wait for each other, any number of times, as many as
// the device holds; and what is answered when it cannot hold them.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

// Each round every thread takes the value of a thread of another block, which only gives the right
// sum when no block is ahead of another.
__global__ void pass_on(unsigned *from, unsigned *to, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    unsigned count = (unsigned)grid.size(), me = (unsigned)grid.thread_rank();
    for (int round = 0; round < rounds; round++) {
        to[me] = from[(me + blockDim.x) % count] + 1;
        grid.sync();
        unsigned *other = from;
        from = to;
        to = other;
    }
}

__global__ void valid(int *answer)
{
    *answer = cg::this_grid().is_valid();
}

__global__ void split_barrier(unsigned *flags, unsigned *seen)
{
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0)
        flags[blockIdx.x] = blockIdx.x + 1;
    auto token = grid.barrier_arrive();
    grid.barrier_wait(std::move(token));
    if (threadIdx.x == 0)
        seen[blockIdx.x] = flags[gridDim.x - 1 - blockIdx.x];
}

static int blocks_at_once(const void *kernel, int threads)
{
    int each = 0, multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
    return each * multiprocessors;
}

static void run_pass_on(int blocks, int threads, int rounds, cudaStream_t stream)
{
    size_t count = (size_t)blocks * threads;
    unsigned *data[2], *host = (unsigned *)malloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++)
        host[i] = (unsigned)i * 7;
    CHECK(cudaMalloc(&data[0], count * sizeof *host));
    CHECK(cudaMalloc(&data[1], count * sizeof *host));
    CHECK(cudaMemcpyAsync(data[0], host, count * sizeof *host, cudaMemcpyHostToDevice, stream));
    void *arguments[] = {&data[0], &data[1], &rounds};
    CHECK(cudaLaunchCooperativeKernel((const void *)pass_on, blocks, threads, arguments, 0,
                                      stream));
    CHECK(cudaMemcpyAsync(host, data[rounds % 2], count * sizeof *host, cudaMemcpyDeviceToHost,
                          stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++) {
        unsigned due = (unsigned)((i + (size_t)rounds * threads) % count) * 7 + rounds;
        if (host[i] != due)
            fail("%d blocks of %d: thread %zu has %u, not %u", blocks, threads, i, host[i], due);
    }
    CHECK(cudaFree(data[0]));
    CHECK(cudaFree(data[1]));
    free(host);
}

static void run_split_barrier(int blocks)
{
    unsigned *flags, *seen, host[64];
    CHECK(cudaMalloc(&flags, sizeof host));
    CHECK(cudaMalloc(&seen, sizeof host));
    CHECK(cudaMemset(flags, 0, sizeof host));
    void *arguments[] = {&flags, &seen};
    CHECK(cudaLaunchCooperativeKernel((const void *)split_barrier, blocks, 32, arguments));
    CHECK(cudaMemcpy(host, seen, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks; i++)
        if (host[i] != (unsigned)(blocks - i))
            fail("block %d saw %u, not %d", i, host[i], blocks - i);
}

static int grid_is_valid(bool cooperative)
{
    int *answer, host = -1;
    CHECK(cudaMalloc(&answer, sizeof host));
    void *arguments[] = {&answer};
    if (cooperative)
        CHECK(cudaLaunchCooperativeKernel((const void *)valid, 1, 1, arguments));
    else
        CHECK(cudaLaunchKernel((const void *)valid, 1, 1, arguments));
    CHECK(cudaMemcpy(&host, answer, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(answer));
    return host;
}

// As an attribute of cudaLaunchKernelEx.
static void run_attribute(int blocks)
{
    int *answer, host = -1;
    CHECK(cudaMalloc(&answer, sizeof host));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, valid, answer));
    CHECK(cudaMemcpy(&host, answer, sizeof host, cudaMemcpyDeviceToHost));
    if (host != 1)
        fail("the attribute does not make a grid cooperative");
    config.gridDim = dim3(blocks + 1);
    config.blockDim = dim3(1024);
    EXPECT_ERROR(cudaLaunchKernelEx(&config, valid, answer), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaFree(answer));
}

int main()
{
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    if (!supported)
        fail("the device says that it has no cooperative launch");
    if (grid_is_valid(true) != 1 || grid_is_valid(false) != 0)
        fail("a grid does not know whether it is cooperative");
    int most = blocks_at_once((const void *)pass_on, 64);
    printf("%d blocks of 64 threads at once\n", most);
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreate(&stream));
    run_pass_on(1, 64, 3, streams[0]);
    run_pass_on(most, 64, 5, streams[0]);
    run_pass_on(blocks_at_once((const void *)pass_on, 1024), 1024, 4, streams[1]);
    run_split_barrier(most < 64 ? most : 64);
    run_attribute(blocks_at_once((const void *)valid, 1024));

    unsigned *data;
    int rounds = 1;
    CHECK(cudaMalloc(&data, 4));
    void *arguments[] = {&data, &data, &rounds};
    EXPECT_ERROR(cudaLaunchCooperativeKernel((const void *)pass_on, most + 1, 64, arguments),
                 cudaErrorCooperativeLaunchTooLarge);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaDeviceSynchronize());
    return passed();
}
