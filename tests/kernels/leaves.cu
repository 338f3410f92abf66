// SPDX-License-Identifier: Apache-2.0
// leaves COUNT [side]: as many programs, one after the other, each of which makes objects of every
// kind, has work under way and a function of its own that does not return, and then ends without
// giving anything back. A helper of the end-to-end tests, which look what stays behind. It says "N"
// after each hundredth. With `side` one may still be ending when the next one comes, in the same
// process: such programs reserve no addresses, which would be the same.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "check_driver.h"

__device__ int counter;
__device__ int numbers[1024];

__global__ void work(int *at, int turns)
{
    for (int i = 0; i < turns; i++)
        at[threadIdx.x] += i;
    atomicAdd(&counter, 1);
}

__global__ void read(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float *to)
{
    to[threadIdx.x] = tex1Dfetch<float>(texture, (int)threadIdx.x);
    surf2Dwrite(to[threadIdx.x], surface, (int)threadIdx.x * 4, 0);
}

static void CUDART_CB never(void *)
{
    for (;;)
        pause();
}

// Device memory of every kind.
static int *make_memory(cudaStream_t stream)
{
    int *plain, *pooled, *managed, *mapped, *pinned;
    static int own[4096];
    size_t pitch;
    void *rows;
    CHECK(cudaMalloc(&plain, 1 << 20));
    CHECK(cudaMallocPitch(&rows, &pitch, 100, 100));
    CHECK(cudaMallocAsync(&pooled, 1 << 20, stream));
    CHECK(cudaMallocManaged(&managed, 1 << 16));
    CHECK(cudaMallocHost(&pinned, 1 << 16));
    CHECK(cudaHostAlloc(&mapped, 1 << 16, cudaHostAllocMapped));
    CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    managed[0] = 1;
    work<<<1, 32, 0, stream>>>(managed, 10);
    CHECK(cudaMemcpyAsync(plain, pinned, 1 << 16, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(pinned, plain, 1 << 16, cudaMemcpyDeviceToHost, stream));
    return plain;
}

// Physical memory, mapped at an address of ours.
static void make_mappings()
{
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle memory, unmapped;
    CUdeviceptr space;
    size_t bytes;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK_DRIVER(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_DRIVER(cuMemCreate(&memory, bytes, &prop, 0));
    CHECK_DRIVER(cuMemCreate(&unmapped, bytes, &prop, 0));
    CHECK_DRIVER(cuMemAddressReserve(&space, 2 * bytes, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(space, bytes, 0, memory, 0));
    CHECK_DRIVER(cuMemSetAccess(space, bytes, &access, 1));
    CHECK_DRIVER(cuMemsetD8Async(space, 1, bytes, 0));
}

static void make_textures(cudaStream_t stream, float *memory)
{
    cudaResourceDesc linear = {}, array = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaMipmappedArray_t mipmap;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = memory;
    linear.res.linear.desc = format;
    linear.res.linear.sizeInBytes = 4096;
    array.resType = cudaResourceTypeArray;
    CHECK(cudaMallocArray(&array.res.array.array, &format, 64, 64, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(64, 64, 0), 3));
    CHECK(cudaCreateTextureObject(&texture, &linear, &how, nullptr));
    CHECK(cudaCreateSurfaceObject(&surface, &array));
    read<<<1, 32, 0, stream>>>(texture, surface, memory + 1024);
}

static cudaStream_t make_graphs(cudaStream_t stream, int *memory)
{
    cudaStream_t captured;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&captured));
    CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    work<<<1, 32, 0, captured>>>(memory, 10);
    CHECK(cudaMemsetAsync(memory, 0, 64, captured));
    CHECK(cudaStreamEndCapture(captured, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    return captured;
}

static void share(int *memory)
{
    cudaIpcMemHandle_t of_memory;
    cudaIpcEventHandle_t of_event;
    cudaEvent_t event;
    CHECK(cudaIpcGetMemHandle(&of_memory, memory));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaIpcGetEventHandle(&of_event, event));
}

static void leave(bool side)
{
    cudaStream_t stream, other;
    cudaEvent_t events[4];
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1));
    int *memory = make_memory(stream);
    if (!side)
        make_mappings();
    share(memory);
    for (cudaEvent_t &event : events) {
        CHECK(cudaEventCreate(&event));
        CHECK(cudaEventRecord(event, stream));
    }
    CHECK(cudaMemcpyToSymbolAsync(numbers, memory, sizeof numbers, 0, cudaMemcpyDeviceToDevice,
                                  stream));
    make_textures(stream, (float *)memory);
    cudaStream_t captured = make_graphs(stream, memory);
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
    work<<<1, 256, 0, other>>>(memory, 20000);
    CHECK(cudaStreamDestroy(other)); // it has work
    CHECK(cudaDeviceSynchronize());
    work<<<1, 256, 0, stream>>>(memory, 20000);
    CHECK(cudaLaunchHostFunc(stream, never, nullptr));
    work<<<1, 32, 0, stream>>>(memory, 10);
    CHECK(cudaEventRecord(events[0], stream));
    CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
    work<<<1, 32, 0, captured>>>(memory, 10); // a capture that does not end
    (void)create_context(0);
    CHECK(cudaMalloc(&memory, 1 << 20));
    CHECK(cudaMemset(memory, 1, 1 << 20));
    CHECK(cudaStreamSynchronize(0)); // what has been collected is there
    _exit(0);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 1; i <= count; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            leave(argc > 2);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            fail("program %d ends with status %x", i, (unsigned)status);
        if (i % 100 == 0) {
            printf("%d\n", i);
            fflush(stdout);
        }
    }
    return passed();
}
