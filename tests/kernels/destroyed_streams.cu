// SPDX-License-Identifier: Apache-2.0
// Work in a stream that is destroyed is work of its context all the same: whoever waits for the
// context, ends it or takes away what the work uses waits for it. semantics S126
#include <atomic>
#include <thread>
#include <unistd.h>

#include "check_driver.h"
#include "late.h"

static const size_t n = 100000;

// Lets the held stream go when the caller is likely to be waiting.
struct Release {
    std::atomic<bool> done{false};
    std::thread thread;
    Release() : thread([this] {
        usleep(50000);
        done = true;
        sem_post(&late_gate);
    })
    {
    }
    void expect_done(const char *what)
    {
        if (!done)
            fail("%s has not waited for work in a destroyed stream", what);
        thread.join();
    }
    ~Release()
    {
        if (thread.joinable())
            thread.join();
    }
};

static cudaStream_t make(unsigned flags = cudaStreamNonBlocking)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

__global__ void write(unsigned char *to, size_t count, unsigned char value)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        to[i] = value;
}

static void launch(cudaStream_t stream, unsigned char *to, unsigned char value)
{
    write<<<1, 32, 0, stream>>>(to, n, value);
    CHECK(cudaGetLastError());
}

// Is held, writes, and is destroyed.
static void leave_work(unsigned char *to, unsigned char value,
                       unsigned flags = cudaStreamNonBlocking)
{
    cudaStream_t stream = make(flags);
    hold_stream(stream);
    launch(stream, to, value);
    CHECK(cudaStreamDestroy(stream));
}

static unsigned char *allocate()
{
    unsigned char *device;
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMemset(device, 0xff, n));
    CHECK(cudaDeviceSynchronize());
    return device;
}

// In a stream that waits for no other.
static void look(const unsigned char *device, unsigned char value, const char *what)
{
    static unsigned char seen[n];
    cudaStream_t stream = make();
    CHECK(cudaMemcpyAsync(seen, device, n, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    for (size_t i = 0; i < n; i++)
        if (seen[i] != value)
            fail("%s: byte %zu is %d, %d is right", what, i, seen[i], value);
}

static void synchronize()
{
    unsigned char *device = allocate();
    for (unsigned char value = 1; value < 5; value++) {
        leave_work(device, value);
        Release release;
        CHECK(cudaDeviceSynchronize());
        release.expect_done("cudaDeviceSynchronize");
        look(device, value, "synchronized");
    }
    CHECK(cudaFree(device));
}

// Many that are under way at once, none held.
static void many()
{
    const unsigned streams = 300;
    unsigned char *device;
    CHECK(cudaMalloc(&device, streams * n));
    for (unsigned i = 0; i < streams; i++) {
        cudaStream_t stream = make(i % 3 == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
        launch(stream, device + i * n, (unsigned char)i);
        CHECK(cudaStreamDestroy(stream));
    }
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < streams; i += 23)
        look(device + i * n, (unsigned char)i, "many");
    CHECK(cudaFree(device));
}

static void legacy_stream()
{
    unsigned char *device = allocate(), first = 0;
    leave_work(device, 6, cudaStreamDefault);
    Release release;
    CHECK(cudaMemcpy(&first, device, 1, cudaMemcpyDeviceToHost));
    release.expect_done("the legacy stream");
    if (first != 6)
        fail("the legacy stream has not waited for a blocking stream that is gone");
    CHECK(cudaFree(device));
}

// Freed memory is nobody else's before the work has ended.
static void free_memory()
{
    for (int round = 0; round < 3; round++) {
        unsigned char *device = allocate(), *others[8];
        leave_work(device, 7);
        Release release;
        CHECK(cudaFree(device));
        cudaStream_t stream = make();
        for (unsigned char *&other : others) {
            CHECK(cudaMalloc(&other, n));
            CHECK(cudaMemsetAsync(other, 8, n, stream));
            CHECK(cudaStreamSynchronize(stream));
        }
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaDeviceSynchronize());
        release.expect_done("cudaDeviceSynchronize");
        for (unsigned char *other : others) {
            look(other, 8, "allocated after the free");
            CHECK(cudaFree(other));
        }
    }
}

// Memory that is not kept when it is freed.
static void free_managed()
{
    unsigned char *managed;
    CHECK(cudaMallocManaged(&managed, n));
    leave_work(managed, 9);
    Release release;
    CHECK(cudaFree(managed));
    release.expect_done("cudaFree of managed memory");
    CHECK(cudaDeviceSynchronize()); // or it says that the kernel has lost its memory
}

static void wait_managed()
{
    unsigned char *managed;
    CHECK(cudaMallocManaged(&managed, n));
    leave_work(managed, 10);
    Release release;
    CHECK(cudaDeviceSynchronize());
    release.expect_done("cudaDeviceSynchronize");
    if (managed[0] != 10 || managed[n - 1] != 10)
        fail("managed memory has not come: %d %d", managed[0], managed[n - 1]);
    CHECK(cudaFree(managed));
}

static void free_array()
{
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    unsigned char *device = allocate();
    CHECK(cudaMallocArray(&array, &format, 1024, 16));
    cudaStream_t stream = make();
    hold_stream(stream);
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, device, 1024, 1024, 16, cudaMemcpyDeviceToDevice,
                                   stream));
    CHECK(cudaStreamDestroy(stream));
    Release release;
    CHECK(cudaFreeArray(array));
    release.expect_done("cudaFreeArray");
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device));
}

// Copies to the host, in pieces that travel one way or the other, are there when their context has
// ended.
static void end_context(size_t piece)
{
    const size_t pieces = 4, bytes = pieces * piece;
    unsigned char *to;
    CUdeviceptr device;
    CUstream stream;
    CHECK(cudaHostAlloc(&to, bytes, cudaHostAllocPortable));
    memset(to, 0, bytes);
    CUcontext context = create_context(0);
    CHECK_DRIVER(cuMemAlloc(&device, bytes));
    CHECK_DRIVER(cuMemsetD8(device, 11, bytes));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuLaunchHostFunc(stream, late_hold, nullptr));
    for (size_t at = 0; at < bytes; at += piece)
        CHECK_DRIVER(cuMemcpyDtoHAsync(to + at, device + at, piece, stream));
    CHECK_DRIVER(cuStreamDestroy(stream));
    Release release;
    CHECK_DRIVER(cuCtxDestroy(context));
    release.expect_done("cuCtxDestroy");
    for (size_t i = 0; i < bytes; i++)
        if (to[i] != 11)
            fail("byte %zu of copies to the host is %d when their context has ended", i, to[i]);
    CHECK(cudaFreeHost(to));
}

// Taking memory from the program waits for the copies into it, and for those out of it.
static void free_host(size_t bytes)
{
    unsigned char *from, *to, *device, *last = (unsigned char *)malloc(bytes);
    CHECK(cudaMallocHost(&from, bytes));
    CHECK(cudaMallocHost(&to, bytes));
    CHECK(cudaMalloc(&device, bytes));
    memset(from, 12, bytes);
    cudaStream_t stream = make();
    hold_stream(stream);
    CHECK(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamDestroy(stream));
    Release release;
    CHECK(cudaFreeHost(to));
    release.expect_done("cudaFreeHost");
    CHECK(cudaFreeHost(from));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(last, device, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        if (last[i] != 12)
            fail("byte %zu of a copy in a destroyed stream is %d", i, last[i]);
    free(last);
    CHECK(cudaFree(device));
}

static void events()
{
    unsigned char *device = allocate();
    cudaEvent_t event;
    cudaStream_t stream = make(), other = make();
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    hold_stream(stream);
    launch(stream, device, 13);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamDestroy(stream));
    if (cudaEventQuery(event) != cudaErrorNotReady)
        fail("an event in a destroyed stream is ready before its time");
    CHECK(cudaStreamWaitEvent(other, event, 0));
    Release release;
    CHECK(cudaEventSynchronize(event));
    release.expect_done("cudaEventSynchronize");
    look(device, 13, "behind the event");
    CHECK(cudaStreamSynchronize(other));
    // An event that goes as well, and who has waited for it by then.
    hold_stream(other);
    launch(other, device, 14);
    CHECK(cudaEventRecord(event, other));
    cudaStream_t third = make();
    CHECK(cudaStreamWaitEvent(third, event, 0));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaEventDestroy(event));
    Release second;
    CHECK(cudaStreamSynchronize(third));
    second.expect_done("a stream that waits for an event");
    look(device, 14, "behind an event that is gone");
    CHECK(cudaStreamDestroy(third));
    CHECK(cudaFree(device));
}

// The last memory of a pool is another stream's when the destroyed one has done with it.
static void pool()
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.maxSize = 32 << 20;
    cudaMemPool_t made;
    unsigned char *first, *second;
    const size_t bytes = 32 << 20;
    CHECK(cudaMemPoolCreate(&made, &properties));
    cudaStream_t stream = make(), other = make();
    CHECK(cudaMallocFromPoolAsync((void **)&first, bytes, made, stream));
    hold_stream(stream);
    launch(stream, first, 15);
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaStreamDestroy(stream));
    Release release;
    CHECK(cudaMallocFromPoolAsync((void **)&second, bytes, made, other));
    CHECK(cudaMemsetAsync(second, 16, n, other));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaDeviceSynchronize());
    release.expect_done("cudaDeviceSynchronize");
    look(second, 16, "memory of a pool");
    CHECK(cudaFreeAsync(second, other));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaMemPoolDestroy(made));
    CHECK(cudaDeviceSynchronize());
}

static void graph()
{
    unsigned char *device = allocate();
    cudaStream_t stream = make();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(stream, device, 17);
    CHECK(cudaMemsetAsync(device, 18, n, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    hold_stream(stream);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaGraphExecDestroy(exec)); // what has been launched runs
    CHECK(cudaGraphDestroy(graph));
    Release release;
    CHECK(cudaDeviceSynchronize());
    release.expect_done("cudaDeviceSynchronize");
    look(device, 18, "a graph");
    CHECK(cudaFree(device));
}

// The stream of a thread goes with it.
static void thread()
{
    unsigned char *device = allocate();
    std::thread([device] {
        hold_stream(cudaStreamPerThread);
        launch(cudaStreamPerThread, device, 19);
    }).join();
    Release release;
    CHECK(cudaDeviceSynchronize());
    release.expect_done("cudaDeviceSynchronize");
    look(device, 19, "a thread's stream");
    CHECK(cudaFree(device));
}

#if CUDA_VERSION >= 13000
static void context_event()
{
    unsigned char *device = allocate();
    CUcontext context;
    CUevent event;
    CHECK_DRIVER(cuCtxGetCurrent(&context));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    leave_work(device, 20);
    CHECK_DRIVER(cuCtxRecordEvent(context, event));
    Release release;
    CHECK_DRIVER(cuEventSynchronize(event));
    release.expect_done("an event of the context");
    look(device, 20, "behind an event of the context");
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK(cudaFree(device));
}

static void green_context()
{
    unsigned char *device = allocate();
    CUdevResource whole;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext context;
    CUstream stream;
    CHECK_DRIVER(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &whole, 1));
    CHECK_DRIVER(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_DRIVER(cuCtxFromGreenCtx(&context, green));
    for (unsigned char value = 21; value < 24; value++) {
        CHECK_DRIVER(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
        hold_stream(stream);
        launch(stream, device, value);
        CHECK_DRIVER(cuStreamDestroy(stream));
        Release release;
        if (value == 21) { // the green context's work
            CHECK_DRIVER(cuCtxPushCurrent(context));
            CHECK_DRIVER(cuCtxSynchronize());
            CHECK_DRIVER(cuCtxPopCurrent(nullptr));
        } else if (value == 22) { // the primary one's
            CHECK(cudaDeviceSynchronize());
        } else {
            CHECK_DRIVER(cuGreenCtxDestroy(green));
        }
        release.expect_done("a wait for green contexts");
        look(device, value, "a green context's stream");
    }
    CHECK(cudaFree(device));
}
#endif

static void reset()
{
    for (unsigned char value = 30; value < 33; value++) {
        unsigned char *device = allocate();
        leave_work(device, value);
        Release release;
        CHECK(cudaDeviceReset());
        release.expect_done("cudaDeviceReset");
        device = allocate();
        look(device, 0xff, "after a reset");
    }
    CHECK(cudaDeviceSynchronize());
}

static void release_primary()
{
    CUcontext context;
    CUdeviceptr device;
    CUstream stream;
    CHECK(cudaDeviceReset());
    for (int round = 0; round < 3; round++) {
        CHECK_DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
        CHECK_DRIVER(cuCtxPushCurrent(context));
        CHECK_DRIVER(cuMemAlloc(&device, n));
        CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK_DRIVER(cuLaunchHostFunc(stream, late_hold, nullptr));
        CHECK_DRIVER(cuMemsetD8Async(device, 40, n, stream));
        CHECK_DRIVER(cuStreamDestroy(stream));
        Release release;
        CHECK_DRIVER(cuCtxPopCurrent(nullptr));
        CHECK_DRIVER(cuDevicePrimaryCtxReset(0));
        release.expect_done("cuDevicePrimaryCtxReset");
        CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
    }
}

int main()
{
    if (sem_init(&late_gate, 0, 0) != 0)
        fail("sem_init");
    synchronize();
    many();
    legacy_stream();
    free_memory();
    free_managed();
    wait_managed();
    free_array();
    for (size_t bytes : {4096, 300000, 3 << 20}) {
        end_context(bytes);
        free_host(bytes);
    }
    events();
    pool();
    graph();
    thread();
#if CUDA_VERSION >= 13000
    context_event();
    green_context();
#endif
    reset();
    release_primary();
    return passed();
}
