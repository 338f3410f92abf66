// SPDX-License-Identifier: Apache-2.0
// Managed memory: allocated and declared, whole or attached to a stream, in copies, system calls
// and host functions. Nothing here touches memory that a kernel may be using, so it is right on
// devices that cannot share memory with the host while they work.
// semantics S61, S62, S63
#include "check.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__managed__ int counter = 5;
__managed__ float table[3000];
struct Pair {
    int first;
    double second;
};
__managed__ Pair pair = {1, 2.5};

__global__ void add(int *data, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += by;
}

__global__ void count(int by)
{
    atomicAdd(&counter, by);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3000)
        table[i] += i;
    if (i == 0)
        pair.second += pair.first;
}

static void expect(const int *data, int n, int first, int step, const char *what)
{
    for (int i = 0; i < n; i++) {
        if (data[i] != first + step * i)
            fail("%s: element %d is %d, %d is right", what, i, data[i], first + step * i);
    }
}

static void variables()
{
    if (counter != 5 || pair.first != 1 || pair.second != 2.5 || table[2999] != 0)
        fail("managed variables begin with %d, %d, %f, %f", counter, pair.first, pair.second,
             table[2999]);
    counter = 100;
    pair.first = 10;
    table[7] = 0.5f;
    count<<<12, 256>>>(1);
    CHECK(cudaDeviceSynchronize());
    if (counter != 100 + 12 * 256 || pair.second != 12.5 || table[7] != 7.5f || table[2999] != 2999)
        fail("managed variables are %d, %f, %f, %f", counter, pair.second, table[7], table[2999]);
    int seen = 0;
    CHECK(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
    if (seen != counter)
        fail("the symbol's value is %d", seen);
}

static void rounds(int n)
{
    int *data;
    CHECK(cudaMallocManaged(&data, n * sizeof *data));
    for (int i = 0; i < n; i++)
        data[i] = i;
    for (int round = 0; round < 5; round++) {
        add<<<(n + 255) / 256, 256>>>(data, n, 1);
        add<<<(n + 255) / 256, 256>>>(data, n, 1);
        CHECK(cudaDeviceSynchronize());
        if (data[n - 1] != n - 1 + 2 * (round + 1) || data[round] != round + 2 * (round + 1))
            fail("round %d: %d and %d", round, data[round], data[n - 1]);
    }
    expect(data, n, 10, 1, "after the rounds");
    data[n / 2] = -1; // one page of many
    add<<<(n + 255) / 256, 256>>>(data, n, 5);
    CHECK(cudaDeviceSynchronize());
    if (data[n / 2] != 4)
        fail("what the host wrote became %d", data[n / 2]);
    data[n / 2] = n / 2 + 15;
    expect(data, n, 15, 1, "in the end");
    CHECK(cudaFree(data));
}

static void copies()
{
    const int n = 5000;
    int *data, *other, *device, host[n];
    CHECK(cudaMallocManaged(&data, n * sizeof *data));
    CHECK(cudaMallocManaged(&other, n * sizeof *other));
    CHECK(cudaMalloc(&device, n * sizeof *device));
    for (int i = 0; i < n; i++)
        host[i] = 2 * i;
    CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    expect(data, n, 0, 2, "copied in");
    add<<<20, 256>>>(data, n, 3);
    CHECK(cudaMemcpy(device, data, sizeof host, cudaMemcpyHostToDevice)); // as the host's
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    expect(host, n, 3, 2, "copied on");
    expect(data, n, 3, 2, "what the copy waited for");
    add<<<20, 256>>>(device, n, 1);
    CHECK(cudaMemcpy(other, device, sizeof host, cudaMemcpyDeviceToHost));
    expect(other, n, 4, 2, "copied to as if it were the host's");
    CHECK(cudaMemcpy(other, data, sizeof host, cudaMemcpyDefault));
    expect(other, n, 3, 2, "from managed to managed");
    CHECK(cudaMemset(data, 0, sizeof host));
    expect(data, n, 0, 0, "cleared");
    data[3] = 9;
    CHECK(cudaMemcpy2D(other, 400, data, 200, 200, 10, cudaMemcpyDefault));
    if (other[3] != 9 || other[0] != 0 || other[50] != 103 || other[100] != 0)
        fail("2D copy: %d %d %d %d", other[3], other[0], other[50], other[100]);
    add<<<20, 256>>>(data, n, 1);
    CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(0));
    if (host[3] != 10 || host[4] != 1)
        fail("asynchronous copy: %d %d", host[3], host[4]);
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    CHECK(cudaFree(device));
}

// The promise that only one stream uses it, or none: a kernel that names it in another stream sees
// what the program has written all the same, and the program what it writes. semantics S139
static void other_stream(unsigned promise)
{
    const int n = 1000;
    int *data;
    cudaStream_t own, other;
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMallocManaged(&data, n * sizeof(int)));
    CHECK(cudaStreamAttachMemAsync(own, data, 0, promise));
    CHECK(cudaStreamSynchronize(own));
    for (int round = 1; round < 4; round++) {
        for (int k = 0; k < n; k++)
            data[k] = round * 100 + k;
        add<<<4, 256, 0, other>>>(data, n, 1);
        CHECK(cudaStreamSynchronize(other));
        expect(data, n, round * 100 + 1, 1, "of another stream than its own");
    }
    add<<<4, 256, 0, own>>>(data, n, 1);
    CHECK(cudaStreamSynchronize(own));
    expect(data, n, 302, 1, "of its own stream afterwards");
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(own));
    CHECK(cudaStreamDestroy(other));
}

static void streams()
{
    const int n = 1000, count = 4;
    int *data[count];
    cudaStream_t stream[count];
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    for (int i = 0; i < count; i++) {
        CHECK(cudaStreamCreate(&stream[i]));
        CHECK(cudaMallocManaged(&data[i], n * sizeof(int), cudaMemAttachHost));
        for (int k = 0; k < n; k++)
            data[i][k] = k;
        CHECK(cudaStreamAttachMemAsync(stream[i], data[i], 0, cudaMemAttachSingle));
    }
    for (int round = 1; round < 4; round++) {
        for (int i = 0; i < count; i++)
            add<<<4, 256, 0, stream[i]>>>(data[i], n, i + 1);
        for (int i = 0; i < count; i++) {
            if (i % 2 == 0) {
                CHECK(cudaStreamSynchronize(stream[i]));
            } else {
                CHECK(cudaEventRecord(event, stream[i]));
                while (cudaEventQuery(event) == cudaErrorNotReady)
                    ;
            }
            expect(data[i], n, round * (i + 1), 1, "of a stream");
        }
    }
    // Back to the host: it may be changed while other streams work.
    CHECK(cudaStreamAttachMemAsync(stream[0], data[0], 0, cudaMemAttachHost));
    CHECK(cudaStreamSynchronize(stream[0]));
    add<<<4, 256, 0, stream[1]>>>(data[1], n, 7);
    for (int k = 0; k < n; k++)
        data[0][k] = -k;
    CHECK(cudaEventRecord(event, stream[1]));
    CHECK(cudaEventSynchronize(event));
    expect(data[1], n, 13, 1, "beside the host");
    expect(data[0], n, 0, -1, "the host's");
    for (int i = 0; i < count; i++) {
        CHECK(cudaStreamDestroy(stream[i]));
        CHECK(cudaFree(data[i]));
    }
    CHECK(cudaEventDestroy(event));
}

struct Called {
    int *data, n, seen;
};

static void CUDART_CB called(void *user)
{
    Called *what = (Called *)user;
    what->seen = what->data[1];
    what->data[1] = 1000;
}

static void host_function()
{
    Called what = {nullptr, 600, 0};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocManaged(&what.data, what.n * sizeof(int)));
    memset(what.data, 0, what.n * sizeof(int));
    add<<<3, 256, 0, stream>>>(what.data, what.n, 4);
    CHECK(cudaLaunchHostFunc(stream, called, &what));
    add<<<3, 256, 0, stream>>>(what.data, what.n, 4);
    CHECK(cudaStreamSynchronize(stream));
    if (what.seen != 4 || what.data[0] != 8 || what.data[1] != 1004)
        fail("a host function saw %d, then there are %d and %d", what.seen, what.data[0],
             what.data[1]);
    CHECK(cudaFree(what.data));
    CHECK(cudaStreamDestroy(stream));
}

// The kernel of the operating system reads and writes it as any other memory; a child has a copy.
static void system_calls(int n)
{
    int *data, ends[2];
    CHECK(cudaMallocManaged(&data, n * sizeof *data));
    add<<<(n + 255) / 256, 256>>>(data, n, 6);
    CHECK(cudaDeviceSynchronize());
    if (pipe(ends) != 0 || write(ends[1], data + n - 16, 64) != 64 || read(ends[0], data, 64) != 64)
        fail("a pipe does not take managed memory");
    add<<<(n + 255) / 256, 256>>>(data, n, 1);
    CHECK(cudaDeviceSynchronize());
    pid_t child = fork();
    if (child == 0)
        _exit(data[0] == data[n - 1] ? 7 : 1);
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        fail("a child reads managed memory otherwise");
    expect(data, n, data[1], 0, "read from a pipe");
    close(ends[0]);
    close(ends[1]);
    CHECK(cudaFree(data));
}

static void prefetch(void *data, size_t bytes, int device)
{
#if CUDART_VERSION >= 13000
    const cudaMemLocation place = {
        device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
        device == cudaCpuDeviceId ? 0 : device};
    CHECK(cudaMemPrefetchAsync(data, bytes, place, 0, 0));
    CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetReadMostly, place));
#else
    CHECK(cudaMemPrefetchAsync(data, bytes, device, 0));
    CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetReadMostly, device));
#endif
}

// Batches: places are said by the first range that goes there, ever later ones.
static void batches()
{
#if CUDART_VERSION >= 13000
    const size_t bytes = 4096;
    void *ranges[3];
    size_t sizes[3] = {bytes, bytes, bytes};
    cudaMemLocation places[3] = {};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaMallocManaged(&ranges[i], bytes));
        places[i].type = cudaMemLocationTypeDevice;
    }
    const struct {
        size_t first[3], count;
        bool good;
    } all[] = {{{0}, 1, true},        {{0, 1}, 2, true},     {{0, 2}, 2, true},
               {{0, 1, 2}, 3, true},  {{0, 0}, 2, false},    {{0, 3}, 2, false},
               {{0, 2, 1}, 3, false}, {{0, 2, 2}, 3, false}, {{0, 1, 1}, 3, false},
               {{1}, 1, false},       {{1, 2}, 2, false}};
    for (const auto &batch : all) {
        size_t first[3] = {batch.first[0], batch.first[1], batch.first[2]};
        cudaError_t result =
            cudaMemPrefetchBatchAsync(ranges, sizes, 3, places, first, batch.count, 0, stream);
        if (result != (batch.good ? cudaSuccess : cudaErrorInvalidValue))
            fail("%zu places from %zu, %zu, %zu: %d", batch.count, first[0], first[1], first[2],
                 (int)result);
    }
    (void)cudaGetLastError();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    for (void *range : ranges)
        CHECK(cudaFree(range));
#endif
}

static void facts()
{
    int *data, value = 0, device;
    cudaPointerAttributes attributes;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrManagedMemory, device));
    if (value != 1)
        fail("the device has no managed memory");
    CHECK(cudaMallocManaged(&data, 10000));
    CHECK(cudaPointerGetAttributes(&attributes, data + 5));
    if (attributes.type != cudaMemoryTypeManaged || attributes.devicePointer != data + 5 ||
        attributes.hostPointer != data + 5)
        fail("type %d, %p and %p", attributes.type, attributes.devicePointer,
             attributes.hostPointer);
    data[0] = 3;
    prefetch(data, 10000, device);
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, data,
                                   10000));
    if (value != 1)
        fail("what was advised is not known");
    add<<<1, 32>>>(data, 32, 1);
    prefetch(data, 10000, cudaCpuDeviceId);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value,
                                   cudaMemRangeAttributeLastPrefetchLocation, data, 10000));
    if (data[0] != 4 || value != cudaCpuDeviceId)
        fail("prefetched: %d, last to %d", data[0], value);
    CHECK(cudaFree(data));
    if (cudaFree(data) != cudaErrorInvalidValue)
        fail("managed memory can be freed twice");
    (void)cudaGetLastError();
}

// The kernels of a graph see what the program has written before the launch.
static void graphs()
{
    const int count = 3000;
    int *data;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMallocManaged(&data, count * sizeof *data));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add<<<12, 256, 0, stream>>>(data, count, 1);
    add<<<12, 256, 0, stream>>>(data, count, 10);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++)
            data[i] = i * round;
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < count; i++)
            if (data[i] != i * round + 11)
                fail("graph, round %d: data[%d] is %d", round, i, data[i]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
}

int main()
{
    variables();
    rounds(1000);
    rounds(1 << 20);
    copies();
    streams();
    other_stream(cudaMemAttachSingle);
    other_stream(cudaMemAttachHost);
    host_function();
    system_calls(5000);
    system_calls(1 << 19);
    facts();
    batches();
    graphs();
    return passed();
}
