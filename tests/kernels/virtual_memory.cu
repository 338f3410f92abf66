// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: memory without an address, mapped side by side, twice and anew; who
// may use it. With "apart": devices of two servers, in one reservation. semantics S96
#include <string.h>

#include <vector>

#include "check_driver.h"

static const unsigned marker = 0x9e3779b9u;
static size_t piece; // bytes
static std::vector<CUdevice> devices;
static std::vector<CUcontext> contexts;

__global__ void fill(unsigned *data, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = (unsigned)i * marker + seed;
}

__global__ void count_wrong(const unsigned *data, size_t n, unsigned seed, unsigned *wrong)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (data[i] != (unsigned)i * marker + seed)
            atomicAdd(wrong, 1);
}

static CUmemAllocationProp property(CUdevice device)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
}

static CUmemGenericAllocationHandle memory_of(CUdevice device, size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = property(device);
    CHECK_DRIVER(cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

static CUresult let(CUdeviceptr at, size_t bytes, CUdevice device, CUmemAccess_flags flags)
{
    CUmemAccessDesc desc = {};
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = device;
    desc.flags = flags;
    return cuMemSetAccess(at, bytes, &desc, 1);
}

static void expect_words(CUdeviceptr at, size_t bytes, unsigned seed, const char *what)
{
    std::vector<unsigned> found(bytes / 4);
    CHECK_DRIVER(cuMemcpyDtoH(found.data(), at, bytes));
    for (size_t i = 0; i < found.size(); i++)
        if (found[i] != (unsigned)i * marker + seed)
            fail("%s: word %zu is %#x", what, i, found[i]);
}

static size_t free_memory()
{
    size_t left, total;
    CHECK_DRIVER(cuMemGetInfo(&left, &total));
    return left;
}

// Memory counts from cuMemCreate until both its handles and its mappings have gone.
static void is_counted()
{
    size_t before = free_memory();
    CUdeviceptr space;
    CUmemGenericAllocationHandle handle = memory_of(devices[0], 8 * piece), again;
    if (before - free_memory() != 8 * piece)
        fail("%zu bytes were taken for %zu", before - free_memory(), 8 * piece);
    CHECK_DRIVER(cuMemAddressReserve(&space, 8 * piece, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(space, 8 * piece, 0, handle, 0));
    EXPECT_DRIVER(cuMemAddressFree(space, 8 * piece), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemRelease(handle));
    EXPECT_DRIVER(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemRetainAllocationHandle(&again, (void *)(space + piece)));
    CUmemAllocationProp prop = {};
    CHECK_DRIVER(cuMemGetAllocationPropertiesFromHandle(&prop, again));
    if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED || prop.location.id != devices[0])
        fail("the properties are not those of cuMemCreate");
    CHECK_DRIVER(cuMemUnmap(space, 8 * piece));
    if (before - free_memory() != 8 * piece)
        fail("memory has gone that is still held");
    CHECK_DRIVER(cuMemRelease(again));
    CHECK_DRIVER(cuMemAddressFree(space, 8 * piece));
    if (free_memory() != before)
        fail("%zu bytes have not come back", before - free_memory());
    prop = property(devices[0]);
    EXPECT_DRIVER(cuMemCreate(&handle, (size_t)1 << 44, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

// More address space than any device has memory, of which parts are used, as growing arrays do it.
static void grows()
{
    const size_t space_bytes = (size_t)32 << 30;
    CUdeviceptr space;
    unsigned *wrong, counted;
    CHECK_DRIVER(cuMemAddressReserve(&space, space_bytes, 16 * piece, 0, 0));
    if (space % (16 * piece) != 0)
        fail("the alignment was not kept");
    CHECK(cudaMalloc(&wrong, 4));
    CHECK(cudaMemset(wrong, 0, 4));
    for (unsigned pieces = 1; pieces <= 5; pieces++) {
        CUdeviceptr end = space + (pieces - 1) * piece;
        CUmemGenericAllocationHandle handle = memory_of(devices[0], piece);
        CHECK_DRIVER(cuMemMap(end, piece, 0, handle, 0));
        CHECK_DRIVER(cuMemRelease(handle));
        if (pieces == 1)
            EXPECT_DRIVER(cuMemsetD8(end, 0, piece), CUDA_ERROR_INVALID_VALUE);
        CHECK_DRIVER(let(end, piece, devices[0], CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
        fill<<<8, 128>>>((unsigned *)space, pieces * piece / 4, pieces);
        count_wrong<<<8, 128>>>((unsigned *)space, pieces * piece / 4, pieces, wrong);
        CHECK(cudaGetLastError());
        expect_words(space, pieces * piece, pieces, "grown memory");
    }
    CHECK(cudaMemcpy(&counted, wrong, 4, cudaMemcpyDefault));
    if (counted != 0)
        fail("kernels have found %u wrong words", counted);
    CUdeviceptr base;
    size_t bytes;
    CHECK_DRIVER(cuMemGetAddressRange(&base, &bytes, space + piece + 5));
    if (base != space + piece || bytes != piece)
        fail("an address belongs to another mapping");
    EXPECT_DRIVER(cuMemsetD8(space, 0, 5 * piece + 1), CUDA_ERROR_INVALID_VALUE);
    // A part is unmapped, and other memory takes its place.
    CHECK_DRIVER(cuMemUnmap(space + piece, 2 * piece));
    EXPECT_DRIVER(cuMemsetD8(space + piece, 0, 4), CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle handle = memory_of(devices[0], 2 * piece);
    EXPECT_DRIVER(cuMemMap(space, 2 * piece, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemMap(space + piece, 2 * piece, 0, handle, 0));
    CHECK_DRIVER(cuMemRelease(handle));
    CHECK_DRIVER(let(space, 5 * piece, devices[0], CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    CHECK_DRIVER(cuMemsetD8(space, 7, 5 * piece));
    CHECK_DRIVER(cuCtxSynchronize()); // unmapping does not wait
    CHECK_DRIVER(cuMemUnmap(space, 5 * piece));
    CHECK_DRIVER(cuMemAddressFree(space, space_bytes));
    CHECK(cudaFree(wrong));
}

// One memory at two addresses; a kernel writes by one and the program reads by the other.
static void is_twice()
{
    CUdeviceptr one, two;
    CHECK_DRIVER(cuMemAddressReserve(&one, piece, 0, 0, 0));
    CHECK_DRIVER(cuMemAddressReserve(&two, piece, 0, one + piece, 0));
    CUmemGenericAllocationHandle handle = memory_of(devices[0], piece);
    CHECK_DRIVER(cuMemMap(one, piece, 0, handle, 0));
    CHECK_DRIVER(cuMemMap(two, piece, 0, handle, 0));
    CHECK_DRIVER(let(one, piece, devices[0], CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    CHECK_DRIVER(let(two, piece, devices[0], CU_MEM_ACCESS_FLAGS_PROT_READ));
    unsigned long long flags = 0;
    CUmemLocation location = {};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = devices[0];
    CHECK_DRIVER(cuMemGetAccess(&flags, &location, two));
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_READ)
        fail("access is %llu, reading was given", flags);
    fill<<<8, 128>>>((unsigned *)one, piece / 4, 77);
    CHECK(cudaGetLastError());
    expect_words(two, piece, 77, "the other address");
    CHECK_DRIVER(cuMemUnmap(one, piece));
    expect_words(two, piece, 77, "the address that is left");
    CHECK_DRIVER(cuMemUnmap(two, piece));
    CHECK_DRIVER(cuMemRelease(handle));
    CHECK_DRIVER(cuMemAddressFree(one, piece));
    CHECK_DRIVER(cuMemAddressFree(two, piece));
}

// Memory of two devices side by side: one array for the kernels of either.
static void is_of_two_devices()
{
    CUdeviceptr space;
    CHECK_DRIVER(cuMemAddressReserve(&space, 2 * piece, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        CUmemGenericAllocationHandle handle = memory_of(devices[i], piece);
        CHECK_DRIVER(cuMemMap(space + i * piece, piece, 0, handle, 0));
        CHECK_DRIVER(cuMemRelease(handle));
    }
    for (unsigned i = 0; i < 2; i++)
        CHECK_DRIVER(let(space, 2 * piece, devices[i], CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cudaSetDevice((int)i));
        fill<<<8, 128>>>((unsigned *)space, 2 * piece / 4, 1000 + i);
        CHECK(cudaDeviceSynchronize());
        expect_words(space, 2 * piece, 1000 + i, "memory of two devices");
    }
    CHECK(cudaSetDevice(0));
    CHECK_DRIVER(cuMemUnmap(space, 2 * piece));
    CHECK_DRIVER(cuMemAddressFree(space, 2 * piece));
}

// Devices of two servers: a reservation for both, but memory is for those of its own.
static void is_of_two_servers()
{
    CUdeviceptr space;
    CHECK_DRIVER(cuMemAddressReserve(&space, 2 * piece, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cudaSetDevice((int)i));
        CUmemGenericAllocationHandle handle = memory_of(devices[i], piece);
        CHECK_DRIVER(cuMemMap(space + i * piece, piece, 0, handle, 0));
        CHECK_DRIVER(cuMemRelease(handle));
        CHECK_DRIVER(let(space + i * piece, piece, devices[i],
                         CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
        EXPECT_DRIVER(let(space + i * piece, piece, devices[1 - i],
                          CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_NOT_SUPPORTED);
        fill<<<8, 128>>>((unsigned *)(space + i * piece), piece / 4, i);
        CHECK(cudaGetLastError());
    }
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cudaSetDevice((int)i));
        expect_words(space + i * piece, piece, i, "memory of two servers");
    }
    EXPECT_DRIVER(cuMemsetD8(space, 0, 2 * piece), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemUnmap(space, 2 * piece));
    CHECK_DRIVER(cuMemAddressFree(space, 2 * piece));
}

// A kernel that writes where nothing is mapped any more has left its memory.
static void ends_with_a_fault()
{
    CUdeviceptr space;
    CHECK_DRIVER(cuMemAddressReserve(&space, piece, 0, 0, 0));
    CUmemGenericAllocationHandle handle = memory_of(devices[0], piece);
    CHECK_DRIVER(cuMemMap(space, piece, 0, handle, 0));
    CHECK_DRIVER(let(space, piece, devices[0], CU_MEM_ACCESS_FLAGS_PROT_READ));
    fill<<<1, 32>>>((unsigned *)space, 1, 1);
    EXPECT_DRIVER(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_DRIVER(cuMemUnmap(space, piece), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(int argc, char **argv)
{
    int count, works;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGetCount(&count));
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CHECK_DRIVER(cuDeviceGet(&device, i));
        CHECK_DRIVER(cuDeviceGetAttribute(
            &works, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
        if (!works)
            fail("device %d maps no memory", i);
        devices.push_back(device);
    }
    CUmemAllocationProp prop = property(devices[0]);
    CHECK_DRIVER(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    if (argc > 1 && strcmp(argv[1], "apart") == 0) {
        is_of_two_servers();
    } else {
        is_counted();
        grows();
        is_twice();
        is_of_two_devices();
        ends_with_a_fault();
    }
    return passed();
}
