// SPDX-License-Identifier: Apache-2.0
// Memory that pools of the device hold and do not use is there for every other allocation: nobody
// is told that memory is used up because of it. Memory that has been given back to a pool with a
// largest size counts from when the work that used it has ended. semantics S55
#include <vector>

#include "check_driver.h"

static const size_t mega = 1 << 20;

static size_t free_memory()
{
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

// The default pool keeps all but `rest` of the device, and uses nothing.
static void hoard(cudaMemPool_t pool, cudaStream_t stream, size_t rest, bool wait)
{
    const size_t step = 32 * mega;
    size_t left = free_memory();
    std::vector<void *> held;
    while (left > rest + step) {
        void *data;
        CHECK(cudaMallocFromPoolAsync(&data, step, pool, stream));
        held.push_back(data);
        left -= step;
    }
    for (void *at : held)
        CHECK(cudaFreeAsync(at, stream));
    if (wait)
        CHECK(cudaStreamSynchronize(stream));
    uint64_t reserved;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    if (reserved < held.size() * step)
        fail("the pool has not kept its memory");
}

static void plain(size_t bytes)
{
    void *data;
    CHECK(cudaMalloc(&data, bytes));
    CHECK(cudaMemset(data, 1, bytes));
    CHECK(cudaFree(data));
}

static void created(size_t bytes)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle;
    CHECK_DRIVER(cuMemCreate(&handle, bytes, &prop, 0));
    CHECK_DRIVER(cuMemRelease(handle));
}

static void of_another_pool(size_t bytes)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    void *data;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync(&data, bytes, pool, nullptr));
    CHECK(cudaFreeAsync(data, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
}

static void an_array(size_t bytes)
{
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    CHECK(cudaMallocArray(&array, &format, 4096, bytes / sizeof(float4) / 4096));
    CHECK(cudaFreeArray(array));
}

// Freed behind the work of a stream: what is small may come from anywhere, what is larger only when
// the pool knows that the work has ended. Nobody waits by a call that a pool takes notice of.
static void largest_size(cudaStream_t stream)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 8 * mega;
    cudaMemPool_t pool;
    void *one, *two, *both;
    cudaEvent_t done;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMallocFromPoolAsync(&one, 4 * mega, pool, stream));
        CHECK(cudaMallocFromPoolAsync(&two, 4 * mega, pool, stream));
        EXPECT_ERROR(cudaMallocFromPoolAsync(&both, mega, pool, stream), cudaErrorMemoryAllocation);
        (void)cudaGetLastError();
        CHECK(cudaMemsetAsync(one, 0, 4 * mega, stream));
        CHECK(cudaFreeAsync(one, stream));
        CHECK(cudaFreeAsync(two, stream));
        CHECK(cudaEventRecord(done, stream));
        cudaError_t state;
        while ((state = cudaEventQuery(done)) == cudaErrorNotReady)
            continue;
        CHECK(state);
        CHECK(cudaMallocFromPoolAsync(&both, 8 * mega, pool, stream));
        CHECK(cudaMemsetAsync(both, 0, 8 * mega, stream));
        CHECK(cudaFreeAsync(both, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaEventDestroy(done));
    CHECK(cudaMemPoolDestroy(pool));
}

int main()
{
    cudaMemPool_t pool;
    cudaStream_t stream;
    uint64_t keep = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    const size_t part = 2 * mega; // memory is created in multiples of it
    const size_t wanted = free_memory() / 2 / part * part;
    void (*const takers[])(size_t) = {plain, created, of_another_pool, an_array};
    for (auto taker : takers)
        for (bool wait : {true, false}) {
            hoard(pool, stream, wanted / 2, wait);
            if (!wait && (taker == of_another_pool || taker == an_array))
                CHECK(cudaStreamSynchronize(stream)); // these wait for no work
            taker(wanted);
        }
    largest_size(stream);
    return passed();
}
