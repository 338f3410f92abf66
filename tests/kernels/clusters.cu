// SPDX-License-Identifier: Apache-2.0
// Compute capability 9.0: clusters, of a size that the kernel names or the launch, that reach each
// other's shared memory; bulk copies that a barrier counts; and sizes that cannot be.
#include <vector>

#include <cooperative_groups.h>
#include <cuda/barrier>

#include "check.h"

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers are initialised by init()

namespace cg = cooperative_groups;
using barrier_t = cuda::barrier<cuda::thread_scope_block>;

static const int BINS = 256, THREADS = 128;

// Every block of a cluster of any size keeps a part of the bins.
__global__ void histogram(const unsigned char *in, int count, unsigned *out)
{
    extern __shared__ unsigned bins[];
    cg::cluster_group cluster = cg::this_cluster();
    const int blocks = cluster.num_blocks(), share = BINS / blocks;
    for (int i = threadIdx.x; i < share; i += blockDim.x)
        bins[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(cluster.map_shared_rank(&bins[in[i] % share], in[i] / share), 1u);
    cluster.sync();
    for (int i = threadIdx.x; i < share; i += blockDim.x)
        atomicAdd(&out[cluster.block_rank() * share + i], bins[i]);
}

// Each block gets its row in one bulk and gives it on to the next of the cluster.
__global__ void __cluster_dims__(4, 1, 1) rotate(const int *in, int *out)
{
    __shared__ alignas(16) int row[THREADS];
    __shared__ barrier_t barrier;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    barrier_t::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(row, in + blockIdx.x * THREADS, cuda::aligned_size_t<16>(sizeof row),
                           barrier);
        token = barrier.arrive();
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    cluster.sync();
    const int *next = cluster.map_shared_rank(row, (cluster.block_rank() + 1) % 4);
    out[blockIdx.x * THREADS + threadIdx.x] = next[threadIdx.x];
    cluster.sync();
}

// Bytes of the other block, at odd places, too.
__global__ void __cluster_dims__(2, 1, 1) bytes(unsigned char *out)
{
    __shared__ unsigned char row[THREADS];
    cg::cluster_group cluster = cg::this_cluster();
    row[threadIdx.x] = (unsigned char)(threadIdx.x * 3 + cluster.block_rank());
    cluster.sync();
    const unsigned char *next =
        cluster.map_shared_rank(&row[threadIdx.x], 1 - cluster.block_rank());
    out[blockIdx.x * THREADS + threadIdx.x] = *next;
    cluster.sync();
}

static void single_bytes()
{
    unsigned char *out, got[2 * THREADS];
    CHECK(cudaMalloc(&out, sizeof got));
    bytes<<<2, THREADS>>>(out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * THREADS; i++)
        if (got[i] != (unsigned char)(i % THREADS * 3 + 1 - i / THREADS))
            fail("byte %d of the other block is %d", i, got[i]);
}

static cudaError_t launch_histogram(unsigned blocks, unsigned cluster, const unsigned char *in,
                                    int count, unsigned *out)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = BINS / cluster * sizeof(unsigned);
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, histogram, in, count, out);
}

static void histograms()
{
    const int count = 20000;
    std::vector<unsigned char> in(count);
    std::vector<unsigned> want(BINS), got(BINS);
    unsigned char *din;
    unsigned *out;
    for (int i = 0; i < count; i++) {
        in[i] = (unsigned char)((i * 2654435761u) >> 21);
        want[in[i]]++;
    }
    CHECK(cudaMalloc(&din, count));
    CHECK(cudaMalloc(&out, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(din, in.data(), count, cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (unsigned cluster = 1; cluster <= 16; cluster *= 2) {
        CHECK(cudaMemset(out, 0, BINS * sizeof(unsigned)));
        CHECK(launch_histogram(16, cluster, din, count, out));
        CHECK(cudaMemcpy(got.data(), out, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
        if (got != want)
            fail("clusters of %u count wrongly", cluster);
    }
    EXPECT_ERROR(launch_histogram(16, 3, din, count, out), cudaErrorInvalidClusterSize);
    EXPECT_ERROR(launch_histogram(64, 32, din, count, out), cudaErrorInvalidClusterSize);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
    EXPECT_ERROR(launch_histogram(16, 16, din, count, out), cudaErrorInvalidClusterSize);
    cudaGetLastError();
}

// Decided by the driver that has the GPU; without clusters the blocks would be as many.
static void occupancy()
{
    int size = 0, count = 0, blocks = 0, sms = 0;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(16);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = 40000;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, histogram, THREADS, 40000));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config));
    if (size != (sms * blocks < 8 ? sms * blocks : 8))
        fail("clusters of %d blocks at most", size);
    EXPECT_ERROR(cudaOccupancyMaxActiveClusters(&count, histogram, &config),
                 cudaErrorInvalidClusterSize);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config));
    if (size != (sms * blocks < 16 ? sms * blocks : 16))
        fail("clusters of %d blocks at most where 16 are allowed", size);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&count, histogram, &config));
    if (blocks < 1 || count != sms * blocks / 4)
        fail("%d clusters of 4 with %d blocks on each of %d multiprocessors", count, blocks, sms);
    const unsigned divides[3] = {4, 3, 5}; /* one side of the grid each, and no other one */
    config.gridDim = dim3(4, 6, 5);
    for (int i = 0; i < 3; i++) {
        unsigned sides[3] = {1, 1, 1};
        sides[i] = divides[i];
        attribute.val.clusterDim.x = sides[0];
        attribute.val.clusterDim.y = sides[1];
        attribute.val.clusterDim.z = sides[2];
        CHECK(cudaOccupancyMaxActiveClusters(&count, histogram, &config));
        if (count != sms * blocks / (int)divides[i])
            fail("%d clusters of %u blocks on side %d", count, divides[i], i);
    }
    attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(16);
    config.dynamicSmemBytes = 0;
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, rotate, &config));
    if (size != 4)
        fail("rotate demands clusters of 4, not of %d", size);
    config.numAttrs = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&count, rotate, &config));
    attribute.val.clusterDim.x = 2;
    config.numAttrs = 1;
    EXPECT_ERROR(cudaOccupancyMaxActiveClusters(&count, rotate, &config),
                 cudaErrorInvalidClusterSize);
    cudaGetLastError();
}

// Writes the sides of the launch as a kernel sees them, and the number of threads.
__global__ void sides(unsigned *to)
{
    const dim3 cluster = cg::this_cluster().dim_blocks();
    const unsigned all[9] = {gridDim.x,  gridDim.y, gridDim.z, blockDim.x, blockDim.y,
                             blockDim.z, cluster.x, cluster.y, cluster.z};
    for (int i = 0; i < 9; i++)
        atomicMax(&to[i], all[i]);
    atomicAdd(&to[9], 1u);
}

// Each side of the grid, of the blocks and of the clusters has a size of its own.
static void shapes()
{
    unsigned *to, got[10];
    CHECK(cudaMalloc(&to, sizeof got));
    cudaLaunchAttribute all[3] = {};
    all[0].id = cudaLaunchAttributePriority;
    all[1].id = cudaLaunchAttributeCooperative;
    all[1].val.cooperative = 1;
    all[2].id = cudaLaunchAttributeClusterDimension;
    all[2].val.clusterDim.x = 1;
    all[2].val.clusterDim.y = 2;
    all[2].val.clusterDim.z = 4;
    const struct {
        unsigned first, count;
    } launches[] = {{0, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 3}};
    for (const auto &launch : launches) {
        const bool clusters = launch.first + launch.count == 3;
        const unsigned two = clusters ? 2 : 1, four = clusters ? 4 : 1;
        const unsigned want[10] = {3, 2, 4, 2, 5, 3, 1, two, four, 24 * 30};
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(3, 2, 4);
        config.blockDim = dim3(2, 5, 3);
        config.attrs = all + launch.first;
        config.numAttrs = launch.count;
        CHECK(cudaMemset(to, 0, sizeof got));
        CHECK(cudaLaunchKernelEx(&config, sides, to));
        CHECK(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 10; i++)
            if (got[i] != want[i])
                fail("%u attributes from %u: %d is %u", launch.count, launch.first, i, got[i]);
    }
    CHECK(cudaFree(to));
}

static void rotations()
{
    const int blocks = 12;
    std::vector<int> in(blocks * THREADS), got(blocks * THREADS);
    int *din, *out;
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 31);
    CHECK(cudaMalloc(&din, in.size() * sizeof(int)));
    CHECK(cudaMalloc(&out, in.size() * sizeof(int)));
    CHECK(cudaMemcpy(din, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
    rotate<<<blocks, THREADS>>>(din, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks * THREADS; i++) {
        int block = i / THREADS, next = block / 4 * 4 + (block + 1) % 4;
        if (got[i] != in[next * THREADS + i % THREADS])
            fail("rotate: at %d: %d", i, got[i]);
    }
    rotate<<<6, THREADS>>>(din, out);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidClusterSize);
}

int main()
{
    int clusters = 0;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
    if (properties.major != 9 || clusters != 1)
        fail("a device of %d.%d, clusters: %d", properties.major, properties.minor, clusters);
    histograms();
    rotations();
    single_bytes();
    shapes();
    occupancy();
    printf("clusters of 1 to 16 blocks share their memory\n");
    return passed();
}
