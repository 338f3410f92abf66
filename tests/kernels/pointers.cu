// SPDX-License-Identifier: Apache-2.0
// What a pointer is said to be: device memory, pinned and registered host memory, variables, plain
// and freed memory; by the runtime and by the driver. Where it matters which of two kinds a GPU has
// (may a kernel use pinned memory?), the answer must fit the device's attribute.
#include "check_driver.h"

__device__ int variable[100];

struct Facts {
    CUmemorytype type;
    int device;
    unsigned long long start, size;
    unsigned managed, mapped;
};

static Facts facts_of(CUdeviceptr pointer)
{
    // Not initialised to 0: an answer that is too short must be seen.
    Facts f;
    memset(&f, 0x55, sizeof f);
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_MAPPED};
    void *to[] = {&f.type, &f.device, &f.start, &f.size, &f.managed, &f.mapped};
    CHECK_DRIVER(cuPointerGetAttributes(6, which, to, pointer));
    for (int i = 0; i < 6; i++) { // one by one, the same
        unsigned long long one = 0, same = 0;
        size_t bytes = i == 2 || i == 3 ? 8 : 4;
        CUresult result = cuPointerGetAttribute(&one, which[i], pointer);
        memcpy(&same, to[i], bytes);
        if (f.mapped && (result != CUDA_SUCCESS || one != same))
            fail("attribute %d alone: %d, %llx, not %llx", (int)which[i], (int)result, one, same);
        if (!f.mapped && result != CUDA_ERROR_INVALID_VALUE)
            fail("attribute %d of an unknown pointer alone: %d", (int)which[i], (int)result);
    }
    return f;
}

static void expect(const char *what, const void *pointer, int type, int device, const void *start,
                   size_t size, cudaMemoryType runtime_type)
{
    Facts f = facts_of((CUdeviceptr)pointer);
    if ((int)f.type != type || f.device != device || f.start != (CUdeviceptr)start ||
        f.size != size || f.managed != 0 || f.mapped != (type != 0))
        fail("%s: type %d device %d %llx + %llu, managed %u mapped %u", what, (int)f.type, f.device,
             f.start, f.size, f.managed, f.mapped);
    cudaPointerAttributes attributes;
    memset(&attributes, 0x55, sizeof attributes);
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    if (attributes.type != runtime_type || attributes.device != device)
        fail("%s: the runtime says type %d, device %d", what, (int)attributes.type,
             attributes.device);
    printf("%s: type %d, device %d\n", what, (int)attributes.type, attributes.device);
}

static void expect_unknown(const char *what, const void *pointer)
{
    expect(what, pointer, 0, -2, nullptr, 0, cudaMemoryTypeUnregistered);
}

static void check_mapping(void *pinned)
{
    CUdeviceptr address = 0, device = 0;
    CHECK_DRIVER(cuMemHostGetDevicePointer(&device, pinned, 0));
    CHECK_DRIVER(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                       (CUdeviceptr)pinned));
    if (address != device)
        fail("the device's address of pinned memory is %llx and %llx", address, device);
    CHECK_DRIVER(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                       (CUdeviceptr)pinned + 5));
    if (address != (CUdeviceptr)pinned + 5)
        fail("the host address of pinned memory is another");
}

static void check_registering(char *memory)
{
    unsigned flags = 0;
    void *pinned;
    EXPECT_DRIVER(cuMemHostRegister(memory, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_DRIVER(cuMemHostRegister(memory + 4096, 4096, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_DRIVER(cuMemHostUnregister(memory + 8), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemHostGetFlags(&flags, memory), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemHostUnregister(memory));
    EXPECT_DRIVER(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    // Neither needs to begin with a page, and two may share one.
    CHECK_DRIVER(cuMemHostRegister(memory + 3, 1000, 0));
    CHECK_DRIVER(cuMemHostRegister(memory + 2000, 100, 0));
    CHECK_DRIVER(cuMemHostUnregister(memory + 3));
    CHECK_DRIVER(cuMemHostUnregister(memory + 2000));
    CHECK_DRIVER(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    EXPECT_DRIVER(cuMemHostUnregister(pinned), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemFreeHost((char *)pinned + 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFreeHost(pinned));
}

// With unified addressing all of it is mapped, whether that was asked for or not: semantics S137
static void check_flags()
{
    for (unsigned asked = 0; asked < 8; asked++) {
        unsigned flags = 0, inside = 0;
        char *pinned;
        CHECK_DRIVER(cuMemHostAlloc((void **)&pinned, 100, asked));
        CHECK_DRIVER(cuMemHostGetFlags(&flags, pinned));
        CHECK_DRIVER(cuMemHostGetFlags(&inside, pinned + 99));
        if (flags != (asked | CU_MEMHOSTALLOC_DEVICEMAP) || inside != flags)
            fail("the flags of memory that was pinned with %u are %u and %u", asked, flags, inside);
        CHECK_DRIVER(cuMemFreeHost(pinned));
    }
    unsigned flags = 0;
    void *pinned;
    CHECK(cudaMallocHost(&pinned, 100));
    CHECK(cudaHostGetFlags(&flags, pinned));
    if (flags != cudaHostAllocMapped)
        fail("the runtime says %u", flags);
    CHECK(cudaFreeHost(pinned));
}

// Nothing is pinned, and there is nothing to free.
static void check_empty()
{
    for (unsigned asked = 0; asked < 8; asked++) {
        void *pinned = &asked;
        CHECK_DRIVER(cuMemHostAlloc(&pinned, 0, asked));
        if (pinned != nullptr)
            fail("0 bytes of pinned memory are at %p", pinned);
    }
    void *pinned = &pinned, *same = &pinned;
    CHECK_DRIVER(cuMemAllocHost(&pinned, 0));
    CHECK(cudaMallocHost(&same, 0));
    if (pinned != nullptr || same != nullptr)
        fail("0 bytes of pinned memory are at %p and %p", pinned, same);
    EXPECT_DRIVER(cuMemHostAlloc(&pinned, 0, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFreeHost(nullptr));
    CHECK(cudaFreeHost(nullptr));
}

static void check_ranges(void *device, void *symbol)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    CHECK_DRIVER(cuMemGetAddressRange(&base, &size, (CUdeviceptr)device + 999));
    if (base != (CUdeviceptr)device || size != 1000)
        fail("the range of device memory is %llx + %zu", (unsigned long long)base, size);
    CHECK_DRIVER(cuMemGetAddressRange(nullptr, &size, (CUdeviceptr)symbol + 4));
    CHECK_DRIVER(cuMemGetAddressRange(&base, nullptr, (CUdeviceptr)symbol + 4));
    if (base != (CUdeviceptr)symbol || size != sizeof variable)
        fail("the range of a variable is %llx + %zu", (unsigned long long)base, size);
    // Pinned memory is in the same address space, whether a device has used it or not.
    char *pinned;
    CHECK_DRIVER(cuMemHostAlloc((void **)&pinned, 5000, 0));
    CHECK_DRIVER(cuMemGetAddressRange(&base, &size, (CUdeviceptr)pinned + 4999));
    if (base != (CUdeviceptr)pinned || size != 5000)
        fail("the range of pinned memory is %llx + %zu", (unsigned long long)base, size);
    CHECK_DRIVER(cuMemFreeHost(pinned));
    // Memory that is a device's as well cannot be registered.
    CUdeviceptr managed;
    CHECK_DRIVER(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    EXPECT_DRIVER(cuMemHostRegister((void *)managed, 4096, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFree(managed));
    static int plain;
    EXPECT_DRIVER(cuMemGetAddressRange(&base, &size, (CUdeviceptr)&plain), CUDA_ERROR_NOT_FOUND);
}

int main()
{
    void *device, *pinned, *symbol, *other, *freed;
    int plain[10];
    CHECK(cudaMalloc(&device, 1000));
    CHECK(cudaMallocHost(&pinned, 1000));
    char *memory = (char *)aligned_alloc(4096, 8192);
    CHECK(cudaHostRegister(memory, 8192, 0));
    CHECK(cudaGetSymbolAddress(&symbol, variable));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&other, 5 << 20));
    CHECK(cudaMalloc(&freed, 5 << 20));
    CHECK(cudaFree(freed));
    CHECK(cudaSetDevice(0));

    expect("device memory", (char *)device + 999, 2, 0, device, 1000, cudaMemoryTypeDevice);
    expect("of the other device", (char *)other + (1 << 20), 2, 1, other, 5 << 20,
           cudaMemoryTypeDevice);
    expect("pinned", (char *)pinned + 8, 1, 0, pinned, 1000, cudaMemoryTypeHost);
    expect("registered", memory + 4096, 1, 0, memory, 8192, cudaMemoryTypeHost);
    expect("a variable", (char *)symbol + 4, 2, 0, symbol, sizeof variable, cudaMemoryTypeDevice);
    expect_unknown("plain", plain);
    expect_unknown("freed", freed);
    expect_unknown("NULL", nullptr);
    check_mapping(pinned);
    check_ranges(device, symbol);
    check_registering(memory);
    check_flags();
    check_empty();
    expect_unknown("unregistered", memory + 4096);
    CHECK(cudaFreeHost(pinned));
    expect_unknown("freed pinned", pinned);

    unsigned long long ids[2] = {};
    CHECK_DRIVER(
        cuPointerGetAttribute(&ids[0], CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)other + 8));
    CHECK_DRIVER(
        cuPointerGetAttribute(&ids[1], CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)device + 8));
    if (ids[0] == ids[1])
        fail("two allocations have the same number %llu", ids[0]);
    CHECK(cudaFree(other));
    CHECK(cudaFree(device));
    free(memory);
    return passed();
}
