// SPDX-License-Identifier: Apache-2.0
// Memory in the order of streams: what a pool gives again and when, what it holds and gives back,
// and what its attributes say of that. semantics S55
#include <vector>

#include "check_driver.h"

static const size_t piece = 1 << 20;

__global__ void fill(unsigned *data, unsigned n, unsigned seed)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = i * 2654435761u + seed;
}

__global__ void wrong_ones(const unsigned *data, unsigned n, unsigned seed, unsigned *wrong)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (data[i] != i * 2654435761u + seed)
            atomicAdd(wrong, 1);
}

static uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void expect(uint64_t value, uint64_t right, const char *what)
{
    if (value != right)
        fail("%s is %llu, %llu is right", what, (unsigned long long)value,
             (unsigned long long)right);
}

// A stream that does nothing until it is let go.
struct Gate {
    cudaStream_t stream;
    unsigned *word;
    explicit Gate(cudaStream_t at) : stream(at)
    {
        CHECK(cudaMalloc(&word, 4));
        CHECK(cudaMemset(word, 0, 4));
        CHECK(cudaDeviceSynchronize());
        CHECK_DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
    }
    void open(cudaStream_t by) { CHECK_DRIVER(cuStreamWriteValue32(by, (CUdeviceptr)word, 1, 0)); }
};

// The loop that pools are for: nothing is mapped again, and the stream's own memory comes back.
static void reuse_in_stream(cudaMemPool_t pool, cudaStream_t stream)
{
    unsigned *wrong, counted, *first = nullptr;
    uint64_t none = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none));
    CHECK(cudaMalloc(&wrong, 4));
    CHECK(cudaMemset(wrong, 0, 4));
    for (unsigned round = 0; round < 50; round++) {
        unsigned *data;
        CHECK(cudaMallocAsync(&data, piece, stream));
        if (first == nullptr)
            first = data;
        if (data != first)
            fail("round %u has other memory than the first one", round);
        fill<<<8, 128, 0, stream>>>(data, piece / 4, round);
        wrong_ones<<<8, 128, 0, stream>>>(data, piece / 4, round, wrong);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(data, stream));
    }
    expect(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0, "used memory");
    expect(attribute(pool, cudaMemPoolAttrUsedMemHigh), piece, "the most used memory");
    CHECK(cudaMemcpyAsync(&counted, wrong, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(counted, 0, "the number of wrong values");
    expect(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0, "reserved memory after a wait");
    CHECK(cudaFree(wrong));
}

// Memory that work of a stream still uses no other stream gets, unless it waits for that work.
static void between_streams(cudaMemPool_t pool, cudaStream_t held, cudaStream_t other)
{
    Gate gate(held);
    unsigned *data, *next, *again;
    CHECK(cudaMallocAsync(&data, piece, held));
    fill<<<8, 128, 0, held>>>(data, piece / 4, 1);
    CHECK(cudaFreeAsync(data, held));
    CHECK(cudaMallocAsync(&next, piece, other));
    if (next >= data && next < data + piece / 4)
        fail("another stream has memory that is still in use");
    fill<<<8, 128, 0, other>>>(next, piece / 4, 2);
    gate.open(other);
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaFreeAsync(next, other));
    CHECK(cudaStreamSynchronize(other));
    int off = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    off = 1;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    CHECK(cudaMallocAsync(&again, piece, other));
    CHECK(cudaFreeAsync(again, other));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(gate.word));
}

// A pool that may not grow lets the stream wait for the other one's memory.
static void full_pool(cudaStream_t held, cudaStream_t other)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 4 << 20;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    unsigned *data, *next, *wrong, counted;
    const size_t bytes = 4 << 20;
    CHECK(cudaMalloc(&wrong, 4));
    CHECK(cudaMemset(wrong, 0, 4));
    Gate gate(held);
    CHECK(cudaMallocFromPoolAsync(&data, bytes, pool, held));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&next, bytes, pool, other), cudaErrorMemoryAllocation);
    (void)cudaGetLastError();
    fill<<<8, 128, 0, held>>>(data, bytes / 4, 7);
    wrong_ones<<<8, 128, 0, held>>>(data, bytes / 4, 7, wrong);
    CHECK(cudaFreeAsync(data, held));
    int none = 0, one = 1;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &none));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&next, bytes, pool, other), cudaErrorMemoryAllocation);
    (void)cudaGetLastError();
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &one));
    CHECK(cudaMallocFromPoolAsync(&next, bytes, pool, other));
    if (next != data)
        fail("a full pool has given other memory");
    fill<<<8, 128, 0, other>>>(next, bytes / 4, 8);
    wrong_ones<<<8, 128, 0, other>>>(next, bytes / 4, 8, wrong);
    cudaError_t state = cudaStreamQuery(other);
    if (state != cudaErrorNotReady)
        fail("the stream does not wait for the memory: %s", cudaGetErrorName(state));
    cudaStream_t third;
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    gate.open(third);
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaMemcpy(&counted, wrong, 4, cudaMemcpyDeviceToHost));
    expect(counted, 0, "the number of wrong values");
    CHECK(cudaMemPoolDestroy(pool)); // it lives on until its memory is freed
    CHECK(cudaMemsetAsync(next, 0, bytes, other));
    CHECK(cudaFreeAsync(next, other));
    CHECK(cudaStreamSynchronize(other));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&next, bytes, pool, other), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(cudaStreamDestroy(third));
    CHECK(cudaFree(gate.word));
    CHECK(cudaFree(wrong));
}

static void thresholds(cudaMemPool_t pool, cudaStream_t stream)
{
    uint64_t keep = UINT64_MAX, none = 0;
    void *data[5];
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    expect(attribute(pool, cudaMemPoolAttrReleaseThreshold), keep, "the threshold");
    for (void *&at : data)
        CHECK(cudaMallocAsync(&at, 3 * piece, stream));
    expect(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 15 * piece, "used memory");
    for (void *at : data)
        CHECK(cudaFreeAsync(at, stream));
    CHECK(cudaStreamSynchronize(stream));
    uint64_t reserved = attribute(pool, cudaMemPoolAttrReservedMemCurrent);
    if (reserved < 15 * piece)
        fail("only %llu bytes are kept", (unsigned long long)reserved);
    CHECK(cudaMemPoolTrimTo(pool, 6 * piece));
    uint64_t trimmed = attribute(pool, cudaMemPoolAttrReservedMemCurrent);
    if (trimmed < 6 * piece || trimmed >= reserved)
        fail("%llu bytes are reserved after trimming", (unsigned long long)trimmed);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &none));
    expect(attribute(pool, cudaMemPoolAttrReservedMemHigh), trimmed, "the most reserved memory");
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &none));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    expect(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0, "reserved memory");
    EXPECT_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &keep),
                 cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

// All that a device has, and not a byte more; what cuMemAlloc holds counts too.
static void used_up(cudaStream_t stream)
{
    size_t free_bytes, total, step = 64 << 20;
    std::vector<void *> held;
    CHECK(cudaDeviceSynchronize()); // the pool gives back what it holds
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    void *data;
    cudaError_t error;
    while ((error = cudaMallocAsync(&data, step, stream)) == cudaSuccess)
        held.push_back(data);
    if (error != cudaErrorMemoryAllocation || held.size() != free_bytes / step)
        fail("%zu pieces of %zu bytes of %zu free bytes, then %s", held.size(), step, free_bytes,
             cudaGetErrorName(error));
    (void)cudaGetLastError();
    for (void *at : held)
        CHECK(cudaFreeAsync(at, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMalloc(&data, free_bytes - step));
    CHECK(cudaFree(data));
}

static void pointers(cudaMemPool_t pool, cudaStream_t stream)
{
    CUdeviceptr data, start;
    size_t bytes;
    CUmemoryPool of;
    CHECK(cudaMallocAsync((void **)&data, 1000, stream));
    CHECK_DRIVER(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, data + 10));
    if (of != (CUmemoryPool)pool)
        fail("the memory is of another pool");
    CHECK_DRIVER(cuMemGetAddressRange(&start, &bytes, data + 10));
    if (start != data || bytes != 1000)
        fail("the allocation begins %lld off and has %zu bytes", (long long)(start - data), bytes);
    EXPECT_DRIVER(cuMemsetD8(data, 1, 1001), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemsetD8Async(data, 1, 1000, (CUstream)stream));
    EXPECT_DRIVER(cuMemFreeAsync(data + 8, (CUstream)stream), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFree(data));
    EXPECT_DRIVER(cuMemFreeAsync(data, (CUstream)stream), CUDA_ERROR_INVALID_VALUE);
    CHECK(cudaMalloc((void **)&data, 1000));
    CHECK_DRIVER(cuMemFreeAsync(data, (CUstream)stream)); // of cuMemAlloc: as cuMemFree
    EXPECT_DRIVER(cuMemAllocAsync(&data, 0, (CUstream)stream), CUDA_ERROR_INVALID_VALUE);
}

int main()
{
    int supported = 0;
    cudaMemPool_t pool, current;
    cudaStream_t stream, other;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    expect((uint64_t)supported, 1, "the attribute MemoryPoolsSupported");
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    if (pool != current)
        fail("the current pool is not the default one");
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    reuse_in_stream(pool, stream);
    between_streams(pool, stream, other);
    full_pool(stream, other);
    thresholds(pool, stream);
    pointers(pool, stream);
    used_up(stream);
    reuse_in_stream(pool, nullptr);
    EXPECT_ERROR(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
    CHECK(cudaDeviceReset());
    return passed();
}
