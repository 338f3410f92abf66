// SPDX-License-Identifier: Apache-2.0
// PTX for 7.5 and for 9.0 in one program, on a device of any capability: the newest that may run is
// what runs, functions say which that was, and what branches on it works: the policies of Thrust
// and CUB, sums of cooperative groups, asynchronous copies, a grid that waits for itself.
#include "check.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers are initialised by init()

namespace cg = cooperative_groups;

static const int COUNT = 1 << 16, THREADS = 128;

__global__ void architecture(int *is)
{
#ifdef __CUDA_ARCH__
    *is = __CUDA_ARCH__;
#endif
}

// A copy in the manner of the architecture, a sum over the warps, then one over the grid.
__global__ void sum(const int *in, int count, int *sums)
{
    __shared__ alignas(16) int row[THREADS];
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    cg::grid_group grid = cg::this_grid();
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&arrived, blockDim.x);
    block.sync();
    int mine = 0;
    for (int at = blockIdx.x * THREADS; at < count; at += gridDim.x * THREADS) {
        cuda::memcpy_async(block, row, in + at, cuda::aligned_size_t<16>(sizeof row), arrived);
        arrived.arrive_and_wait();
        mine += row[(threadIdx.x + 1) % THREADS];
        block.sync();
    }
    auto warp = cg::tiled_partition<32>(block);
    int all = cg::reduce(warp, mine, cg::plus<int>());
    if (warp.thread_rank() == 0)
        atomicAdd(&sums[blockIdx.x], all);
    grid.sync();
    for (int i = 1; grid.thread_rank() == 0 && i < (int)gridDim.x; i++)
        sums[0] += sums[i];
}

static int facts()
{
    int device, major, minor, *is, here;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    CHECK(cudaMalloc(&is, sizeof *is));
    architecture<<<1, 1>>>(is);
    CHECK(cudaMemcpy(&here, is, sizeof here, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(is));
    if (here != (major >= 9 ? 900 : 750))
        fail("the code for %d runs on a device of %d.%d", here, major, minor);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, architecture));
    if (attributes.ptxVersion * 10 != here)
        fail("a function for %d says that its PTX is for %d", here, attributes.ptxVersion);
    if (attributes.binaryVersion != major * 10 + minor)
        fail("a function on a device of %d.%d says that its code is for %d", major, minor,
             attributes.binaryVersion);
    printf("code for %d on a device of %d.%d\n", here, major, minor);
    return device;
}

static void sorts(std::vector<int> &values)
{
    thrust::device_vector<int> keys(values.begin(), values.end()), order(values.size());
    thrust::sequence(order.begin(), order.end());
    thrust::sort_by_key(keys.begin(), keys.end(), order.begin());
    std::vector<int> got(values.size()), from(values.size());
    thrust::copy(keys.begin(), keys.end(), got.begin());
    thrust::copy(order.begin(), order.end(), from.begin());
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != values[from[i]] || (i > 0 && got[i] < got[i - 1]))
            fail("thrust::sort_by_key: element %zu is wrong", i);
    thrust::sort(keys.begin(), keys.end(), thrust::greater<int>()); // merges, for any comparison
    thrust::copy(keys.begin(), keys.end(), got.begin());
    std::sort(values.begin(), values.end(), std::greater<int>());
    if (got != values)
        fail("thrust::sort is wrong");
    if (thrust::reduce(keys.begin(), keys.end()) != std::accumulate(got.begin(), got.end(), 0))
        fail("thrust::reduce is wrong");
}

static void groups(const std::vector<int> &values, int device)
{
    int sms, blocks, total, count = COUNT;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, THREADS, 0));
    blocks = std::min(sms * blocks, 16);
    thrust::device_vector<int> in(values.begin(), values.end()), sums(blocks, 0);
    const int *from = thrust::raw_pointer_cast(in.data());
    int *to = thrust::raw_pointer_cast(sums.data());
    void *parameters[] = {&from, &count, &to};
    CHECK(cudaLaunchCooperativeKernel(sum, blocks, THREADS, parameters));
    CHECK(cudaMemcpy(&total, to, sizeof total, cudaMemcpyDeviceToHost));
    if (total != std::accumulate(values.begin(), values.end(), 0))
        fail("the sum of a cooperative grid is wrong");
}

int main()
{
    int device = facts();
    Random random(9);
    std::vector<int> values(COUNT);
    for (auto &value : values)
        value = (int)(random.next() % 20000) - 10000;
    sorts(values);
    groups(values, device);
    return passed();
}
