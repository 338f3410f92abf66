// SPDX-License-Identifier: Apache-2.0
// A copy to the device that waits, like cudaMemcpy, is over when it returns, and so is all work
// that its stream was behind: for streams that do not wait for the legacy one, for streams made
// later, for graphs, for the host, and for what the program asks.
// semantics S125
#include <atomic>

#include "late.h"

static const size_t n = (1 << 20) + 321, pitch = 1100, width = 1000, rows = 900;
static std::atomic<int> called(0);

__device__ unsigned char symbol[100000];

__global__ void take(unsigned char *to, const unsigned char *from, size_t count)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        to[i] = from[i];
}

__global__ void take_symbol(unsigned char *to)
{
    for (size_t i = threadIdx.x; i < sizeof symbol; i += blockDim.x)
        to[i] = symbol[i];
}

static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)(i * 7 + i / 251 + seed * 31);
}

static void fill(unsigned char *host, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        host[i] = pattern(i, seed);
}

struct buffers {
    unsigned char *pinned, *pageable, *seen, *device, *taken;
    cudaStream_t stream;
};

// The bytes that kernels of the stream have taken.
static const unsigned char *taken(const buffers &b, size_t count)
{
    memset(b.seen, 0, n);
    CHECK(cudaMemcpyAsync(b.seen, b.taken, count, cudaMemcpyDeviceToHost, b.stream));
    CHECK(cudaStreamSynchronize(b.stream));
    return b.seen;
}

static void expect(const buffers &b, size_t count, unsigned seed, const char *what)
{
    const unsigned char *seen = taken(b, count);
    for (size_t i = 0; i < count; i++)
        if (seen[i] != pattern(i, seed))
            fail("%s: the stream has seen %d at byte %zu", what, seen[i], i);
}

static void lines(const buffers &b)
{
    for (unsigned turn = 0; turn < 40; turn++) {
        unsigned char *host = turn % 2 == 0 ? b.pinned : b.pageable;
        fill(host, turn);
        CHECK(cudaMemcpy(b.device, host, n, cudaMemcpyHostToDevice));
        take<<<1, 256, 0, b.stream>>>(b.taken, b.device, n);
        CHECK(cudaGetLastError());
        expect(b, n, turn, "cudaMemcpy");
    }
}

static void other_kinds(const buffers &b)
{
    for (unsigned turn = 100; turn < 120; turn++) {
        fill(b.pinned, turn);
        CHECK(cudaMemcpyToSymbol(symbol, b.pinned, sizeof symbol));
        take_symbol<<<1, 256, 0, b.stream>>>(b.taken);
        CHECK(cudaGetLastError());
        expect(b, sizeof symbol, turn, "cudaMemcpyToSymbol");
        CHECK(cudaMemcpy2D(b.device, pitch, b.pinned, width, width, rows, cudaMemcpyHostToDevice));
        take<<<1, 256, 0, b.stream>>>(b.taken, b.device, pitch * rows);
        CHECK(cudaGetLastError());
        const unsigned char *seen = taken(b, pitch * rows);
        for (size_t i = 0; i < width * rows; i++)
            if (seen[i / width * pitch + i % width] != pattern(i, turn))
                fail("cudaMemcpy2D: the stream has seen other bytes");
    }
}

static void work_before(const buffers &b)
{
    for (unsigned turn = 0; turn < 20; turn++) {
        unsigned char value = (unsigned char)(turn + 1);
        write_late<<<1, 32>>>(b.device + 4096, 100000, value);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(b.device, b.pinned, 100, cudaMemcpyHostToDevice));
        cudaStream_t later;
        CHECK(cudaStreamCreateWithFlags(&later, cudaStreamNonBlocking));
        take<<<1, 32, 0, later>>>(b.taken, b.device + 4096, 100000);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(later));
        CHECK(cudaStreamDestroy(later));
        const unsigned char *seen = taken(b, 100000);
        for (size_t i = 0; i < 100000; i++)
            if (seen[i] != value)
                fail("a stream made later has seen %d, not %d", seen[i], value);
    }
}

// Questions of the program find it over, too; and not what has been begun since.
static void questions(const buffers &b)
{
    cudaEvent_t begin, end, later;
    float took;
    if (sem_init(&late_gate, 0, 0) != 0)
        fail("sem_init");
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreate(&later));
    for (unsigned turn = 0; turn < 6; turn++) {
        CHECK(cudaEventRecord(begin));
        write_late<<<1, 32>>>(b.device + 4096, 100000, 9);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaMemcpy(b.device, b.pinned, 100, cudaMemcpyHostToDevice));
        if (turn % 3 == 0)
            CHECK(cudaEventElapsedTime(&took, begin, end));
        if (turn % 3 == 1)
            CHECK(cudaEventQuery(end));
        CHECK(cudaStreamQuery(0));
        write_late<<<1, 32>>>(b.device + 4096, 100000, 9);
        CHECK(cudaGetLastError());
        hold_stream(0);
        CHECK(cudaEventRecord(later));
        CHECK(cudaEventQuery(end));
        cudaError_t error = cudaEventQuery(later);
        if (error != cudaErrorNotReady)
            fail("an event behind the copy: %s", cudaGetErrorName(error));
        error = cudaStreamQuery(0);
        if (error != cudaErrorNotReady)
            fail("a stream with work behind the copy: %s", cudaGetErrorName(error));
        sem_post(&late_gate);
        CHECK(cudaEventElapsedTime(&took, begin, end));
        if (!(took > 0))
            fail("a kernel took %g ms", (double)took);
    }
    CHECK(cudaDeviceSynchronize());
    for (cudaEvent_t event : {begin, end, later})
        CHECK(cudaEventDestroy(event));
}

// Nothing has shown that the copy was not over.
static void first_stream(buffers &b)
{
    write_late<<<1, 32>>>(b.device + 4096, 100000, 9);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(b.device, b.pinned, 100, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    take<<<1, 32, 0, b.stream>>>(b.taken, b.device + 4096, 100000);
    CHECK(cudaGetLastError());
    const unsigned char *seen = taken(b, 100000);
    for (size_t i = 0; i < 100000; i++)
        if (seen[i] != 9)
            fail("the first stream has seen %d", seen[i]);
}

static void graphs(const buffers &b)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
    take<<<1, 256, 0, b.stream>>>(b.taken, b.device, n);
    CHECK(cudaStreamEndCapture(b.stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (unsigned turn = 200; turn < 220; turn++) {
        fill(b.pinned, turn);
        CHECK(cudaMemcpy(b.device, b.pinned, n, cudaMemcpyHostToDevice));
        CHECK(cudaGraphLaunch(executable, b.stream));
        expect(b, n, turn, "a graph");
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

static void CUDART_CB count_call(void *)
{
    called++;
}

static void the_host(const buffers &b)
{
    for (unsigned turn = 1; turn <= 20; turn++) {
        unsigned char value = (unsigned char)turn;
        write_late<<<1, 32>>>(b.device, n, value);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(b.seen, b.device, n, cudaMemcpyDeviceToHost, 0));
        CHECK(cudaLaunchHostFunc(0, count_call, nullptr));
        CHECK(cudaMemcpy(b.taken, b.pageable, 10, cudaMemcpyHostToDevice));
        if (called.load() != (int)turn)
            fail("a host function has not been called");
        for (size_t i = 0; i < n; i++)
            if (b.seen[i] != value)
                fail("byte %zu of a copy to the host is not there", i);
    }
}

int main()
{
    buffers b;
    b.pageable = (unsigned char *)malloc(n);
    CHECK(cudaMallocHost(&b.pinned, n));
    CHECK(cudaMallocHost(&b.seen, n));
    CHECK(cudaMalloc(&b.device, n));
    CHECK(cudaMalloc(&b.taken, n));
    questions(b);
    first_stream(b);
    the_host(b);
    lines(b);
    other_kinds(b);
    work_before(b);
    graphs(b);
    CHECK(cudaStreamDestroy(b.stream));
    CHECK(cudaFree(b.taken));
    CHECK(cudaFree(b.device));
    CHECK(cudaFreeHost(b.seen));
    CHECK(cudaFreeHost(b.pinned));
    free(b.pageable);
    return passed();
}
