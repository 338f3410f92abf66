// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, barriers in shared memory and clusters, as CUDA C++ makes them for
// compute_90.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Two buffers: while one is worked on, the next part of `in` comes into the other. Each part of
// 256 comes out backwards.
extern "C" __global__ void pipeline_copy(const int *in, int *out, int parts)
{
    __shared__ int buffer[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_acquire();
    cuda::memcpy_async(block, buffer[0], in, sizeof buffer[0], pipe);
    pipe.producer_commit();
    for (int i = 0; i < parts; i++) {
        if (i + 1 < parts) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[(i + 1) & 1], in + 256 * (i + 1), sizeof buffer[0],
                               pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[i * 256 + threadIdx.x] = buffer[i & 1][255 - threadIdx.x];
        pipe.consumer_release();
    }
}

extern "C" __global__ void thread_pipeline(const int *in, int *out)
{
    __shared__ int buffer[256];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    out[threadIdx.x] = buffer[threadIdx.x ^ 1];
    pipe.consumer_release();
}

// out: the warp's sum, the sums before, the xor, and the greatest
extern "C" __global__ void group_copy(const int *in, int *out)
{
    __shared__ int buffer[256];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, buffer, in, sizeof buffer);
    cg::wait(block);
    auto tile = cg::tiled_partition<32>(block);
    int mine = buffer[threadIdx.x];
    out[threadIdx.x] = cg::reduce(tile, mine, cg::plus<int>());
    out[256 + threadIdx.x] = cg::exclusive_scan(tile, mine);
    out[512 + threadIdx.x] = cg::reduce(tile, (unsigned)mine, cg::bit_xor<unsigned>());
    out[768 + threadIdx.x] = cg::reduce(tile, mine, cg::greater<int>());
}

extern "C" __global__ void barrier_copy(const int *in, int *out, int rounds)
{
    __shared__ block_barrier barrier;
    __shared__ alignas(16) int buffer[256];
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
    }
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        cuda::memcpy_async(&buffer[threadIdx.x * 4], &in[i * 256 + threadIdx.x * 4],
                           cuda::aligned_size_t<16>(16), barrier);
        barrier.arrive_and_wait();
        for (int k = 0; k < 4; k++) {
            out[i * 256 + threadIdx.x * 4 + k] = buffer[255 - threadIdx.x * 4 - k];
        }
        block_barrier::arrival_token token = barrier.arrive();
        barrier.wait(std::move(token));
    }
    barrier.arrive_and_drop();
}

// A bulk comes, each thread adds its number, and the bulk goes.
extern "C" __global__ void bulk_copy(const int *in, int *out)
{
    __shared__ alignas(16) int buffer[256];
    __shared__ block_barrier barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    }
    __syncthreads();
    block_barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, buffer,
                                 in + blockIdx.x * 256, sizeof buffer,
                                 cuda::device::barrier_native_handle(barrier));
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof buffer);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    buffer[threadIdx.x] += threadIdx.x;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared,
                                 out + blockIdx.x * 256, buffer, sizeof buffer);
        cuda::ptx::cp_reduce_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared,
                                        cuda::ptx::op_add, out + gridDim.x * 256, buffer,
                                        sizeof buffer);
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{});
    }
}

// Each block of a cluster counts a share of the bins for all of them.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_histogram(const unsigned *in, unsigned *out, int per_thread)
{
    __shared__ unsigned bins[16];
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 16) {
        bins[threadIdx.x] = 0;
    }
    cluster.sync();
    unsigned first = (cluster.thread_rank() + blockIdx.x / 4 * cluster.num_threads()) * per_thread;
    for (int i = 0; i < per_thread; i++) {
        unsigned bin = in[first + i] % 64;
        atomicAdd(cluster.map_shared_rank(&bins[bin % 16], bin / 16), 1u);
    }
    cluster.sync();
    if (threadIdx.x < 16) {
        out[blockIdx.x / 4 * 64 + cluster.block_rank() * 16 + threadIdx.x] = bins[threadIdx.x];
    }
}

// Where am I? Every block writes what it knows of its cluster. No size: the launch says it.
extern "C" __global__ void cluster_facts(unsigned *out)
{
    __shared__ unsigned mark;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    mark = block;
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    unsigned *remote = cluster.map_shared_rank(&mark, next);
    if (threadIdx.x == 0) {
        unsigned *at = out + block * 16;
        dim3 index = cluster.block_index(), size = cluster.dim_blocks();
        at[0] = cluster.block_rank();
        at[1] = cluster.num_blocks();
        at[2] = index.x;
        at[3] = index.y;
        at[4] = index.z;
        at[5] = size.x;
        at[6] = size.y;
        at[7] = size.z;
        at[8] = *remote;
        at[9] = cluster.query_shared_rank(remote);
        at[10] = cluster.query_shared_rank(&mark);
    }
    cluster.sync();
}
