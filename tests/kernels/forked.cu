// SPDX-License-Identifier: Apache-2.0
// The child of a program that has used CUDA has none: every call says that it is not initialised,
// of the runtime and of the driver, whatever the parent has made; and the parent goes on. Not asked
// is what the runtime has kept and asks no driver for: the devices' number and properties.
// semantics S35
#include <sys/wait.h>
#include <unistd.h>

#include "check_driver.h"

__global__ void store(int *out, int value)
{
    *out = value;
}

// Memory that the parent has made.
static int *device, *pinned, *managed;
static cudaStream_t stream, capturing;
static cudaEvent_t event;
static cudaGraph_t graph;
static cudaGraphExec_t exec;
static cudaMemPool_t pool;
static CUcontext context;
static int wrong;

static void expect_none(int error, const char *call)
{
    if (error != 3) { // cudaErrorInitializationError, CUDA_ERROR_NOT_INITIALIZED
        printf("in the child, %s: %d\n", call, error);
        wrong++;
    }
}

#define NONE(call) expect_none((int)(call), #call)

static void runtime_calls()
{
    int count = 0, host = 1, *more = nullptr;
    size_t bytes = 0, total = 0;
    cudaPointerAttributes attributes;
    cudaFuncAttributes function;
    cudaGraph_t copy;
    void *alias;
    NONE(cudaGetDevice(&count));
    NONE(cudaSetDevice(0));
    NONE(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    NONE(cudaMalloc(&more, 16));
    NONE(cudaMallocHost(&more, 16));
    NONE(cudaMallocManaged(&more, 16));
    NONE(cudaMallocAsync(&more, 16, stream));
    NONE(cudaFree(device));
    NONE(cudaFree(nullptr));
    NONE(cudaFreeHost(pinned));
    NONE(cudaFreeAsync(device, stream));
    NONE(cudaHostRegister(&host, sizeof host, 0));
    NONE(cudaHostGetDevicePointer(&alias, pinned, 0));
    NONE(cudaMemGetInfo(&bytes, &total));
    NONE(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    NONE(cudaMemcpyAsync(device, pinned, sizeof host, cudaMemcpyHostToDevice, stream));
    NONE(cudaMemset(device, 0, sizeof host));
    NONE(cudaPointerGetAttributes(&attributes, device));
    NONE(cudaStreamCreate(&stream));
    NONE(cudaStreamSynchronize(stream));
    NONE(cudaStreamQuery(stream));
    NONE(cudaStreamDestroy(stream));
    NONE(cudaEventRecord(event, stream));
    NONE(cudaEventQuery(event));
    NONE(cudaEventDestroy(event));
    NONE(cudaFuncGetAttributes(&function, store));
    store<<<1, 1, 0, stream>>>(device, 2);
    NONE(cudaGetLastError());
    NONE(cudaMemsetAsync(device, 0, sizeof host, capturing));
    NONE(cudaStreamSynchronize(capturing));
    NONE(cudaStreamEndCapture(capturing, &copy));
    NONE(cudaGraphLaunch(exec, stream));
    NONE(cudaGraphClone(&copy, graph));
    NONE(cudaGraphDestroy(graph));
    NONE(cudaMemPoolTrimTo(pool, 0));
    NONE(cudaMemPoolDestroy(pool));
    NONE(cudaStreamAttachMemAsync(stream, managed));
    NONE(cudaDeviceSynchronize());
    NONE(cudaDeviceReset());
}

static void driver_calls()
{
    CUdevice number;
    CUcontext other;
    CUdeviceptr more;
    CUmodule module;
    char name[100];
    int count;
    unsigned flags;
    size_t bytes, total;
    CUstreamCaptureStatus status;
    CUmemorytype type;
    NONE(cuInit(0));
    NONE(cuDeviceGet(&number, 0));
    NONE(cuDeviceGetCount(&count));
    NONE(cuDeviceGetName(name, sizeof name, 0));
    NONE(cuDevicePrimaryCtxRetain(&other, 0));
    NONE(cuDevicePrimaryCtxRelease(0));
    NONE(cuCtxGetCurrent(&other));
    NONE(cuCtxSetCurrent(context));
    NONE(cuCtxSetCurrent(nullptr));
    NONE(cuCtxPushCurrent(context));
    NONE(cuCtxPopCurrent(&other));
    NONE(cuCtxSynchronize());
    NONE(cuCtxDestroy(context));
    NONE(cuMemGetInfo(&bytes, &total));
    NONE(cuMemAlloc(&more, 16));
    NONE(cuMemFree((CUdeviceptr)device));
    NONE(cuMemFreeHost(pinned));
    NONE(cuMemHostGetFlags(&flags, pinned));
    NONE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)device));
    NONE(cuModuleLoadData(&module, name));
    NONE(cuStreamCreate(&stream, 0));
    NONE(cuStreamIsCapturing(stream, &status));
    NONE(cuStreamDestroy(stream));
    NONE(cuEventDestroy(event));
    NONE(cuGraphExecDestroy(exec));
    NONE(cuGraphCreate(&graph, 0));
}

int main()
{
    int got = 0;
    CUcontext current;
    CHECK(cudaMalloc(&device, sizeof *device));
    CHECK(cudaMallocHost(&pinned, 1 << 20));
    CHECK(cudaMallocManaged(&managed, 4096));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    CHECK_DRIVER(cuCtxGetCurrent(&current));
    context = create_context(0);
    CHECK_DRIVER(cuCtxSetCurrent(current));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    store<<<1, 1, 0, stream>>>(device, 3);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    // And one that captures: what is put into it would be captured, were it not for the fork.
    CHECK(cudaStreamCreateWithFlags(&capturing, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed));
    fflush(stdout);
    for (int mode = 0; mode < 2; mode++) { // in the thread that forks, whichever calls are first
        pid_t child = fork();
        if (child == 0) {
            mode == 0 ? runtime_calls() : driver_calls();
            mode == 0 ? driver_calls() : runtime_calls();
            fflush(stdout);
            _exit(wrong != 0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("the child ended with status 0x%x", status);
    }
    CHECK(cudaStreamEndCapture(capturing, &graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(&got, device, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (got != 3)
        fail("the parent's kernel has stored %d", got);
    return passed();
}
