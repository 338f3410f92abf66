// SPDX-License-Identifier: Apache-2.0
// Copies behind work that only a later call of the program lets go on: more bytes than anybody has
// room for on their way, and calls of other streams still come through. Questions, records,
// launches and ends behind such copies keep their order. semantics S130
#include <atomic>
#include <cstring>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "check_driver.h"

static const size_t MiB = 1 << 20;
static CUdeviceptr words; // what streams wait for

__global__ void add(uint32_t *at, size_t count, uint32_t value)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        at[i] += value;
}

static uint32_t value_at(size_t i, uint32_t seed)
{
    return (uint32_t)(i * 2654435761u) ^ seed;
}

static void fill(uint32_t *at, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes / 4; i++)
        at[i] = value_at(i, seed);
}

static void expect(const uint32_t *at, size_t bytes, uint32_t seed, uint32_t added,
                   const char *what)
{
    for (size_t i = 0; i < bytes / 4; i++)
        if (at[i] != value_at(i, seed) + added)
            fail("%s: word %zu is %#x, not %#x", what, i, at[i], value_at(i, seed) + added);
}

static CUstream stream_new()
{
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

// Pinned memory and memory of the device.
struct Memory {
    size_t bytes;
    bool registered;
    uint32_t *host = nullptr;
    CUdeviceptr device = 0;

    explicit Memory(size_t of, bool registers = false) : bytes(of), registered(registers)
    {
        if (registered) {
            if (posix_memalign((void **)&host, 4096, bytes) != 0)
                fail("no memory");
            CHECK_DRIVER(cuMemHostRegister(host, bytes, 0));
        } else {
            CHECK_DRIVER(cuMemAllocHost((void **)&host, bytes));
        }
        CHECK_DRIVER(cuMemAlloc(&device, bytes));
    }
    ~Memory()
    {
        CHECK_DRIVER(cuMemFree(device));
        if (registered) {
            CHECK_DRIVER(cuMemHostUnregister(host));
            free(host);
        } else {
            CHECK_DRIVER(cuMemFreeHost(host));
        }
    }
};

static unsigned word_number;

// A word that nobody has written, and a stream that waits for it.
static CUdeviceptr hold(CUstream stream)
{
    CUdeviceptr word = words + 4 * word_number++;
    CHECK_DRIVER(cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    return word;
}

static void let_go(CUdeviceptr word, CUstream by)
{
    CHECK_DRIVER(cuStreamWriteValue32(by, word, 1, 0));
}

static void to_device(size_t bytes, bool registered, const char *what)
{
    Memory memory(bytes, registered);
    CUstream waits = stream_new(), other = stream_new();
    fill(memory.host, bytes, 1);
    CUdeviceptr word = hold(waits);
    CHECK_DRIVER(cuMemcpyHtoDAsync(memory.device, memory.host, bytes, waits));
    EXPECT_DRIVER(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
    let_go(word, other);
    CHECK_DRIVER(cuStreamSynchronize(waits));
    memset(memory.host, 0, bytes);
    CHECK_DRIVER(cuMemcpyDtoH(memory.host, memory.device, bytes));
    expect(memory.host, bytes, 1, 0, what);
    CHECK_DRIVER(cuStreamDestroy(waits));
    CHECK_DRIVER(cuStreamDestroy(other));
}

static void to_host(size_t bytes, const char *what)
{
    Memory memory(bytes);
    CUstream waits = stream_new(), other = stream_new();
    fill(memory.host, bytes, 2);
    CHECK_DRIVER(cuMemcpyHtoD(memory.device, memory.host, bytes));
    CHECK_DRIVER(cuCtxSynchronize());
    memset(memory.host, 0, bytes);
    CUdeviceptr word = hold(waits);
    CHECK_DRIVER(cuMemcpyDtoHAsync(memory.host, memory.device, bytes, waits));
    EXPECT_DRIVER(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
    let_go(word, other);
    CHECK_DRIVER(cuStreamSynchronize(waits));
    expect(memory.host, bytes, 2, 0, what);
    CHECK_DRIVER(cuStreamDestroy(waits));
    CHECK_DRIVER(cuStreamDestroy(other));
}

static void wait_for(void *flag)
{
    while (!*(std::atomic<bool> *)flag)
        usleep(100);
}

// The copy has returned, and only then may the function return that stands before it.
static void behind_a_host_function()
{
    Memory memory(32 * MiB);
    CUstream stream = stream_new();
    std::atomic<bool> flag{false};
    fill(memory.host, memory.bytes, 3);
    CHECK_DRIVER(cuLaunchHostFunc(stream, wait_for, &flag));
    CHECK_DRIVER(cuMemcpyHtoDAsync(memory.device, memory.host, memory.bytes, stream));
    flag = true;
    CHECK_DRIVER(cuStreamSynchronize(stream));
    memset(memory.host, 0, memory.bytes);
    CHECK_DRIVER(cuMemcpyDtoH(memory.host, memory.device, memory.bytes));
    expect(memory.host, memory.bytes, 3, 0, "behind a host function");
    CHECK_DRIVER(cuStreamDestroy(stream));
}

struct Seen {
    const uint32_t *at;
    uint32_t value;
};

static void look(void *seen)
{
    ((Seen *)seen)->value = *((Seen *)seen)->at;
}

// Copies both ways with all kinds of work between and behind them; a stream that is destroyed, and
// another one that waits for an event behind it all.
static void order()
{
    const size_t bytes = 20 * MiB, count = bytes / 4;
    Memory memory(bytes), result(bytes), late(bytes);
    CUstream waits = stream_new(), other = stream_new(), behind = stream_new();
    CUevent middle, end;
    CHECK_DRIVER(cuEventCreate(&middle, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuEventCreate(&end, CU_EVENT_DEFAULT));
    fill(memory.host, bytes, 4);
    Seen seen = {result.host + count - 1, 0};

    CUdeviceptr word = hold(waits);
    CHECK_DRIVER(cuMemcpyHtoDAsync(memory.device, memory.host, bytes, waits));
    add<<<64, 256, 0, waits>>>((uint32_t *)memory.device, count, 5);
    CHECK(cudaGetLastError());
    CHECK_DRIVER(cuEventRecord(middle, waits));
    CHECK_DRIVER(cuMemcpyDtoHAsync(result.host, memory.device, bytes, waits));
    CHECK_DRIVER(cuLaunchHostFunc(waits, look, &seen));
    CHECK_DRIVER(cuMemsetD32Async(memory.device, 6, 1, waits));
    CHECK_DRIVER(cuMemcpyDtoHAsync(late.host, memory.device, bytes, waits));
    CHECK_DRIVER(cuEventRecord(end, waits));
    CHECK_DRIVER(cuStreamDestroy(waits));
    CHECK_DRIVER(cuStreamWaitEvent(behind, middle, 0));
    CHECK_DRIVER(cuMemcpyDtoDAsync(late.device, memory.device + 4, bytes - 4, behind));
    EXPECT_DRIVER(cuEventQuery(middle), CUDA_ERROR_NOT_READY);
    EXPECT_DRIVER(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    EXPECT_DRIVER(cuStreamQuery(behind), CUDA_ERROR_NOT_READY);
    let_go(word, other);
    CHECK_DRIVER(cuStreamSynchronize(behind));
    CHECK_DRIVER(cuEventSynchronize(end));
    expect(result.host, bytes, 4, 5, "the order within a stream");
    if (seen.value != value_at(count - 1, 4) + 5)
        fail("a host function has seen %#x", seen.value);
    if (late.host[0] != 6 || late.host[1] != value_at(1, 4) + 5)
        fail("behind a fill: %#x, %#x", late.host[0], late.host[1]);
    memset(late.host, 0, bytes);
    CHECK_DRIVER(cuMemcpyDtoH(late.host + 1, late.device, bytes - 4));
    late.host[0] = value_at(0, 4) + 5;
    expect(late.host, bytes, 4, 5, "behind an event");
    CHECK_DRIVER(cuEventDestroy(middle));
    CHECK_DRIVER(cuEventDestroy(end));
    CHECK_DRIVER(cuStreamDestroy(other));
    CHECK_DRIVER(cuStreamDestroy(behind));
}

// The legacy stream waits for a blocking one whose copies wait; and it has such copies itself.
static void legacy_stream()
{
    const size_t bytes = 20 * MiB, count = bytes / 4;
    Memory memory(bytes), result(bytes);
    CUstream blocking, other = stream_new();
    CHECK_DRIVER(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    fill(memory.host, bytes, 7);
    CUdeviceptr word = hold(blocking);
    CHECK_DRIVER(cuMemcpyHtoDAsync(memory.device, memory.host, bytes, blocking));
    CHECK_DRIVER(cuMemcpyDtoHAsync(result.host, memory.device, bytes, 0));
    add<<<64, 256, 0, blocking>>>((uint32_t *)memory.device, count, 1);
    CHECK(cudaGetLastError());
    EXPECT_DRIVER(cuStreamQuery(0), CUDA_ERROR_NOT_READY);
    let_go(word, other);
    CHECK_DRIVER(cuCtxSynchronize());
    expect(result.host, bytes, 7, 0, "in the legacy stream");
    CHECK_DRIVER(cuMemcpyDtoH(result.host, memory.device, bytes));
    expect(result.host, bytes, 7, 1, "behind the legacy stream");
    CHECK_DRIVER(cuStreamDestroy(blocking));
    CHECK_DRIVER(cuStreamDestroy(other));
}

// Launched between copies that wait; its own copy comes behind them.
static void graph()
{
    const size_t bytes = 20 * MiB, count = bytes / 4;
    Memory memory(bytes), result(bytes);
    CUstream waits = stream_new(), other = stream_new();
    CUgraph captured;
    CUgraphExec exec;
    CHECK_DRIVER(cuStreamBeginCapture(waits, CU_STREAM_CAPTURE_MODE_RELAXED));
    add<<<64, 256, 0, waits>>>((uint32_t *)memory.device, count, 8);
    CHECK(cudaGetLastError());
    CHECK_DRIVER(cuMemcpyDtoHAsync(result.host, memory.device, bytes, waits));
    CHECK_DRIVER(cuStreamEndCapture(waits, &captured));
    CHECK_DRIVER(cuGraphInstantiate(&exec, captured, 0));
    fill(memory.host, bytes, 9);
    CUdeviceptr word = hold(waits);
    CHECK_DRIVER(cuMemcpyHtoDAsync(memory.device, memory.host, bytes, waits));
    CHECK_DRIVER(cuGraphLaunch(exec, waits));
    CHECK_DRIVER(cuMemcpyDtoHAsync(memory.host, memory.device, bytes, waits));
    EXPECT_DRIVER(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
    let_go(word, other);
    CHECK_DRIVER(cuStreamSynchronize(waits));
    expect(result.host, bytes, 9, 8, "in a graph");
    expect(memory.host, bytes, 9, 8, "behind a graph");
    CHECK_DRIVER(cuGraphExecDestroy(exec));
    CHECK_DRIVER(cuGraphDestroy(captured));
    CHECK_DRIVER(cuStreamDestroy(waits));
    CHECK_DRIVER(cuStreamDestroy(other));
}

// Several streams, small copies and rows among the large ones; others work all the while.
static void several()
{
    enum { STREAMS = 6 };
    const size_t bytes = 6 * MiB, width = 1000, pitch = 1024, rows = 300;
    CUstream waits[STREAMS], other = stream_new();
    CUdeviceptr word[STREAMS];
    std::vector<Memory *> in, out;
    Memory quick(4 * MiB);
    for (int i = 0; i < STREAMS; i++) {
        waits[i] = stream_new();
        in.push_back(new Memory(bytes));
        out.push_back(new Memory(bytes));
        fill(in[i]->host, bytes, 10 + i);
    }
    for (int i = 0; i < STREAMS; i++) {
        word[i] = hold(waits[i]);
        CUDA_MEMCPY2D tall = {};
        tall.srcMemoryType = CU_MEMORYTYPE_HOST;
        tall.srcHost = in[i]->host;
        tall.srcPitch = pitch;
        tall.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        tall.dstDevice = in[i]->device;
        tall.dstPitch = pitch;
        tall.WidthInBytes = width;
        tall.Height = rows;
        CHECK_DRIVER(cuMemcpy2DAsync(&tall, waits[i]));
        for (size_t at = 0; at < MiB; at += 8192)
            CHECK_DRIVER(cuMemcpyHtoDAsync(in[i]->device + at, in[i]->host + at / 4, 8192,
                                           waits[i]));
        CHECK_DRIVER(cuMemcpyHtoDAsync(in[i]->device + MiB, in[i]->host + MiB / 4, bytes - MiB,
                                       waits[i]));
        for (size_t at = 0; at < MiB; at += 8192)
            CHECK_DRIVER(cuMemcpyDtoHAsync(out[i]->host + at / 4, in[i]->device + at, 8192,
                                           waits[i]));
        CHECK_DRIVER(cuMemcpyDtoHAsync(out[i]->host + MiB / 4, in[i]->device + MiB, bytes - MiB,
                                       waits[i]));
        fill(quick.host, quick.bytes, i);
        CHECK_DRIVER(cuMemcpyHtoDAsync(quick.device, quick.host, quick.bytes, other));
        add<<<64, 256, 0, other>>>((uint32_t *)quick.device, quick.bytes / 4, 1);
        CHECK(cudaGetLastError());
        CHECK_DRIVER(cuMemcpyDtoHAsync(quick.host, quick.device, quick.bytes, other));
        CHECK_DRIVER(cuStreamSynchronize(other));
        expect(quick.host, quick.bytes, i, 1, "another stream meanwhile");
    }
    for (int i = STREAMS; i-- > 0;) {
        EXPECT_DRIVER(cuStreamQuery(waits[i]), CUDA_ERROR_NOT_READY);
        let_go(word[i], other);
        CHECK_DRIVER(cuStreamSynchronize(waits[i]));
        expect(out[i]->host, bytes, 10 + i, 0, "one of several streams");
    }
    for (int i = 0; i < STREAMS; i++) {
        CHECK_DRIVER(cuStreamDestroy(waits[i]));
        delete in[i];
        delete out[i];
    }
    CHECK_DRIVER(cuStreamDestroy(other));
}

int main()
{
    alarm(240); // what is tested here stood still for ever
    CHECK(cudaFree(0));
    CHECK_DRIVER(cuMemAlloc(&words, 4096));
    CHECK_DRIVER(cuMemsetD32(words, 0, 1024));
    CHECK_DRIVER(cuCtxSynchronize());
    to_device(32 * MiB, false, "to the device");
    to_device(32 * MiB, true, "to the device, registered");
    to_host(32 * MiB, "to the host");
    to_host(200 * MiB, "much to the host");
    behind_a_host_function();
    order();
    legacy_stream();
    graph();
    several();
    CHECK_DRIVER(cuMemFree(words));
    return passed();
}
