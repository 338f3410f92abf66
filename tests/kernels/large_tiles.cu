// SPDX-License-Identifier: Apache-2.0
// Tiles of cooperative groups that are larger than a warp. From compute capability 8.0 on their
// barriers lie in shared memory that is reserved for the system: it is there, it is nobody else's,
// and what a kernel may have of shared memory does not get less.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

static void expect(int is, int due, const char *what, int at)
{
    if (is != due)
        fail("%s, %d: %d where %d is due", what, at, is, due);
}

static const int THREADS = 512;

// Each thread leaves its number in static and in dynamic shared memory; the tile syncs, sums and
// broadcasts; what is in shared memory stays.
template <int Size>
__global__ void tiles(int *out, int *sums)
{
    __shared__ int user[THREADS];
    extern __shared__ int dynamic[];
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const int t = threadIdx.x, at = blockIdx.x * THREADS + t;
    user[t] = 1000 + t;
    dynamic[t] = 5000 + t;
    tile.sync();
    out[at] = user[t ^ 1] - 1000 + (dynamic[t ^ 32] - 5000) * 1000;
    for (int i = 0; i < 3; i++)
        tile.sync();
    const int sum = cg::reduce(tile, t, cg::plus<int>());
    sums[at] = sum + tile.shfl(tile.thread_rank() == 7 ? 1 : 0, 7);
    tile.sync();
    if (user[t] != 1000 + t || dynamic[t] != 5000 + t)
        sums[at] = -1;
}

template <int Size>
static void expect_tiles(int blocks)
{
    int *out, *sums;
    CHECK(cudaMallocManaged(&out, blocks * THREADS * sizeof *out));
    CHECK(cudaMallocManaged(&sums, blocks * THREADS * sizeof *sums));
    tiles<Size><<<blocks, THREADS, THREADS * sizeof(int)>>>(out, sums);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < blocks * THREADS; i++) {
        const int t = i % THREADS, first = t / Size * Size;
        expect(out[i], (t ^ 1) + (t ^ 32) * 1000, "what others have written", i);
        expect(sums[i], Size * first + Size * (Size - 1) / 2 + 1, "sum of a tile", i);
    }
    CHECK(cudaFree(out));
    CHECK(cudaFree(sums));
}

// A block may have all that the attributes promise besides what is reserved.
static void expect_most_memory()
{
    int optin, reserved, sm, blocks = 0;
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0));
    CHECK(cudaDeviceGetAttribute(&sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    expect(reserved, 1024, "reserved bytes", 0);
    expect(optin, sm - reserved, "bytes of a block", 0);
    cudaFuncAttributes facts;
    CHECK(cudaFuncGetAttributes(&facts, tiles<64>));
    expect((int)facts.sharedSizeBytes, THREADS * 4, "static bytes", 0);
    const int most = optin - THREADS * 4;
    CHECK(cudaFuncSetAttribute(tiles<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiles<64>, THREADS, most));
    expect(blocks, 1, "blocks that fit", 0);
    int *out, *sums;
    CHECK(cudaMallocManaged(&out, THREADS * sizeof *out));
    CHECK(cudaMallocManaged(&sums, THREADS * sizeof *sums));
    tiles<64><<<1, THREADS, most>>>(out, sums);
    CHECK(cudaDeviceSynchronize());
    expect(sums[THREADS - 1], 64 * 448 + 64 * 63 / 2 + 1, "sum with all memory", 0);
    CHECK(cudaFree(out));
    CHECK(cudaFree(sums));
}

int main()
{
    expect_tiles<64>(3);
    expect_tiles<128>(2);
    expect_tiles<512>(2);
    expect_most_memory();
    return passed();
}
