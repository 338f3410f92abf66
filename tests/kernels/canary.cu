// SPDX-License-Identifier: Apache-2.0
// canary write|free|look: `write` fills memory of every kind with a pattern and says "written";
// `free` gives it back first. Then it stays until it is killed. `look` counts in memory of every
// kind that it has not written to how many words are the pattern, or anything but zero. A helper of
// the end-to-end tests, which look whether memory of one application reaches another one.
#include <unistd.h>
#include <vector>

#include "check_driver.h"

typedef unsigned word;

static const word pattern = 0xca9a12e5;
static const size_t mib = 1 << 20;

struct Seen {
    unsigned long long pattern, other;
};

__global__ void fill(word *at, size_t words)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        at[i] = pattern;
}

__device__ void count(Seen *seen, word value)
{
    if (value == pattern)
        atomicAdd(&seen->pattern, 1);
    else if (value != 0)
        atomicAdd(&seen->other, 1);
}

__global__ void look_at(const word *at, size_t words, Seen *seen)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        count(seen, at[i]);
}

// Memory that malloc gives, of each thread, of the stack and of the block.
__global__ void use_own(bool writes, Seen *heap, Seen *local, Seen *shared)
{
    const unsigned heap_words = 4096, stack_words = 256;
    extern __shared__ volatile word of_block[];
    volatile word of_thread[stack_words];
    volatile word *of_heap = (word *)malloc(heap_words * sizeof(word));
    for (unsigned i = 0; i < heap_words && of_heap != nullptr; i++)
        if (writes)
            of_heap[i] = pattern;
        else
            count(heap, of_heap[i]);
    for (unsigned i = 0; i < stack_words; i++)
        if (writes)
            of_thread[(i + threadIdx.x) % stack_words] = pattern;
        else
            count(local, of_thread[(i + threadIdx.x) % stack_words]);
    for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x)
        if (writes)
            of_block[i] = pattern;
        else
            count(shared, of_block[i]);
}

__device__ word variable[1 << 18];

static bool writes;
static Seen *seen_on_device;
static std::vector<void *> made;

static void report(const char *what)
{
    Seen seen;
    CHECK(cudaMemcpy(&seen, seen_on_device, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(seen_on_device, 0, sizeof seen));
    if (!writes) {
        printf("%s: %llu of another, %llu not zero\n", what, seen.pattern, seen.other);
        fflush(stdout);
    }
}

static void use(void *at, size_t bytes)
{
    if (writes)
        fill<<<32, 64>>>((word *)at, bytes / sizeof(word));
    else
        look_at<<<32, 64>>>((word *)at, bytes / sizeof(word), seen_on_device);
    CHECK(cudaDeviceSynchronize());
}

// All there is, or nearly.
static void use_allocations()
{
    size_t sizes[] = {512, 100000, 600000, mib + 4096, 3 * mib};
    for (int round = 0; round < 12; round++)
        for (size_t bytes : sizes) {
            void *at;
            CHECK(cudaMalloc(&at, bytes));
            use(at, bytes);
            made.push_back(at);
        }
    report("cudaMalloc");
}

static void use_pool()
{
    void *at;
    CHECK(cudaMallocAsync(&at, 4 * mib, 0));
    use(at, 4 * mib);
    CHECK(cudaFreeAsync(at, 0));
    CHECK(cudaStreamSynchronize(0));
    report("cudaMallocAsync");
}

static void use_physical()
{
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle memory;
    CUdeviceptr space;
    const size_t bytes = 8 * mib;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK_DRIVER(cuMemCreate(&memory, bytes, &prop, 0));
    CHECK_DRIVER(cuMemAddressReserve(&space, bytes, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(space, bytes, 0, memory, 0));
    CHECK_DRIVER(cuMemSetAccess(space, bytes, &access, 1));
    use((void *)space, bytes);
    CHECK_DRIVER(cuMemUnmap(space, bytes));
    CHECK_DRIVER(cuMemAddressFree(space, bytes));
    CHECK_DRIVER(cuMemRelease(memory));
    report("cuMemCreate");
}

static void use_array_of(CUarray array, size_t side, size_t depth)
{
    std::vector<word> rows(side * side * depth, pattern);
    CUDA_MEMCPY3D copy = {};
    copy.WidthInBytes = side * sizeof(word);
    copy.Height = side;
    copy.Depth = depth;
    copy.srcMemoryType = writes ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = writes ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = rows.data();
    copy.dstHost = rows.data();
    copy.srcArray = copy.dstArray = array;
    copy.srcPitch = copy.dstPitch = side * sizeof(word);
    copy.srcHeight = copy.dstHeight = side;
    CHECK_DRIVER(cuMemcpy3D(&copy));
    Seen seen = {};
    for (word value : rows)
        (value == pattern ? seen.pattern : seen.other) += value != 0;
    if (!writes)
        CHECK(cudaMemcpy(seen_on_device, &seen, sizeof seen, cudaMemcpyHostToDevice));
}

static void use_arrays()
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    CUarray array;
    CUmipmappedArray mipmap;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    shape.NumChannels = 1;
    shape.Width = shape.Height = 1000;
    CHECK_DRIVER(cuArray3DCreate(&array, &shape));
    use_array_of(array, 1000, 1);
    CHECK_DRIVER(cuArrayDestroy(array));
    report("array");
    shape.Width = shape.Height = 256;
    shape.Depth = 6;
    shape.Flags = CUDA_ARRAY3D_LAYERED;
    CHECK_DRIVER(cuArray3DCreate(&array, &shape));
    use_array_of(array, 256, 6);
    CHECK_DRIVER(cuArrayDestroy(array));
    report("layered array");
    shape.Depth = 0;
    shape.Flags = 0;
    CHECK_DRIVER(cuMipmappedArrayCreate(&mipmap, &shape, 3));
    CHECK_DRIVER(cuMipmappedArrayGetLevel(&array, mipmap, 1));
    use_array_of(array, 128, 1);
    CHECK_DRIVER(cuMipmappedArrayDestroy(mipmap));
    report("mipmapped array");
}

static void use_managed()
{
    word *at, *pinned, *of_device;
    CHECK(cudaMallocManaged(&at, 4 * mib));
    use(at, 4 * mib);
    made.push_back(at);
    report("cudaMallocManaged");
    CHECK(cudaHostAlloc(&pinned, mib, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&of_device, pinned, 0));
    use(of_device, mib);
    report("mapped memory");
    CHECK(cudaFreeHost(pinned));
}

static void use_module()
{
    void *at;
    CHECK(cudaGetSymbolAddress(&at, variable));
    use(at, sizeof variable);
    report("variable");
}

static void use_threads()
{
    Seen *all;
    CHECK(cudaMalloc(&all, 3 * sizeof(Seen)));
    CHECK(cudaMemset(all, 0, 3 * sizeof(Seen)));
    use_own<<<16, 32, 32768>>>(writes, all, all + 1, all + 2);
    CHECK(cudaDeviceSynchronize());
    const char *names[] = {"malloc in a kernel", "stack", "shared memory"};
    for (int i = 0; i < 3; i++) {
        CHECK(cudaMemcpy(seen_on_device, all + i, sizeof(Seen), cudaMemcpyDeviceToDevice));
        report(names[i]);
    }
    CHECK(cudaFree(all));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    writes = strcmp(what, "look") != 0;
    CHECK(cudaMalloc(&seen_on_device, sizeof(Seen)));
    CHECK(cudaMemset(seen_on_device, 0, sizeof(Seen)));
    use_threads();
    use_allocations();
    use_pool();
    use_physical();
    use_arrays();
    use_managed();
    use_module();
    if (strcmp(what, "free") == 0)
        for (void *at : made)
            CHECK(cudaFree(at));
    if (writes) {
        CHECK(cudaDeviceSynchronize());
        printf("written\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    return passed();
}
