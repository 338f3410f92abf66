// SPDX-License-Identifier: Apache-2.0
// Copies of large pinned memory: any offset and length, in order with kernels, from many threads,
// and the memory is given back while copies from and to it are under way.
// semantics S11, S121
#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

static const size_t n = (3 << 20) + 4321;
static std::atomic<int> gate(0);

static void CUDART_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

__global__ void add_one(unsigned char *data, size_t count)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        data[i]++;
}

static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)(i * 7 + i / 251 + seed);
}

static void fill(unsigned char *at, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        at[i] = pattern(i, seed);
}

static void expect(const unsigned char *got, size_t count, unsigned seed, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (got[i] != pattern(i, seed))
            fail("%s: byte %zu is %u, %u is right", what, i, got[i], pattern(i, seed));
}

// There and back, synchronous and not, and nothing beside the bytes changes.
static void offsets(unsigned char *device, cudaStream_t stream)
{
    unsigned char *from, *to;
    const size_t lengths[] = {1, 4096, 65535, 65536, 65537, 131072, 262145, n - 10000};
    CHECK(cudaMallocHost(&from, n));
    CHECK(cudaMallocHost(&to, n));
    unsigned seed = 1;
    for (size_t length : lengths) {
        for (size_t offset : {(size_t)0, (size_t)1, (size_t)4095, (size_t)9999}) {
            seed++;
            fill(from + offset, length, seed);
            memset(to, 0xee, n);
            if (seed % 2 == 0) {
                CHECK(cudaMemcpy(device + offset, from + offset, length, cudaMemcpyHostToDevice));
                CHECK(cudaMemcpy(to + offset, device + offset, length, cudaMemcpyDeviceToHost));
            } else {
                CHECK(cudaMemcpyAsync(device + offset, from + offset, length, cudaMemcpyDefault,
                                      stream));
                CHECK(cudaMemcpyAsync(to + offset, device + offset, length, cudaMemcpyDefault,
                                      stream));
                CHECK(cudaStreamSynchronize(stream));
            }
            expect(to + offset, length, seed, "there and back");
            for (size_t i = 0; i < n; i++)
                if ((i < offset || i >= offset + length) && to[i] != 0xee)
                    fail("byte %zu beside a copy of %zu at %zu has changed", i, length, offset);
        }
    }
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
}

// Rows, with gaps between them and without; of pinned memory, waiting and not.
static void rows(unsigned char *device, cudaStream_t stream)
{
    struct {
        size_t width, pitch, count;
    } shapes[] = {{1000, 1000, 1000}, {1000, 1100, 1000}, {300000, 300000, 4}, {300000, 310000, 4}};
    unsigned char *from, *to;
    unsigned seed = 100;
    CHECK(cudaMallocHost(&from, n));
    CHECK(cudaMallocHost(&to, n));
    for (auto shape : shapes) {
        for (int turn = 0; turn < 2; turn++) {
            fill(from, n, ++seed);
            memset(to, 0xee, n);
            CHECK(turn == 0 ? cudaMemcpy2D(device, shape.width, from, shape.pitch, shape.width,
                                           shape.count, cudaMemcpyHostToDevice)
                            : cudaMemcpy2DAsync(device, shape.width, from, shape.pitch, shape.width,
                                                shape.count, cudaMemcpyHostToDevice, stream));
            if (turn == 0)
                memset(from, 0, n); // it has been taken
            CHECK(turn == 0 ? cudaMemcpy2D(to, shape.pitch, device, shape.width, shape.width,
                                           shape.count, cudaMemcpyDeviceToHost)
                            : cudaMemcpy2DAsync(to, shape.pitch, device, shape.width, shape.width,
                                                shape.count, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaStreamSynchronize(stream));
            for (size_t i = 0; i < n; i++) {
                bool copied = i / shape.pitch < shape.count && i % shape.pitch < shape.width;
                if (to[i] != (copied ? pattern(i, seed) : 0xee))
                    fail("%zu rows of %zu, pitch %zu: byte %zu", shape.count, shape.width,
                         shape.pitch, i);
            }
        }
    }
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
}

// One buffer goes round, with kernels between the copies and no wait on the host.
static void relay(unsigned char *device, cudaStream_t stream)
{
    unsigned char *host;
    const size_t length = 200000;
    CHECK(cudaMallocHost(&host, length));
    fill(host, length, 0);
    for (int round = 0; round < 20; round++) {
        CHECK(cudaMemcpyAsync(device, host, length, cudaMemcpyHostToDevice, stream));
        add_one<<<1, 256, 0, stream>>>(device, length);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host, device, length, cudaMemcpyDeviceToHost, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    expect(host, length, 20, "after twenty rounds");
    CHECK(cudaFreeHost(host));
}

// A held stream: the calls return, and giving the memory back waits for both directions.
static void freed_early(unsigned char *device, cudaStream_t stream)
{
    for (bool in : {true, false}) {
        unsigned char *host;
        std::vector<unsigned char> got(n);
        CHECK(cudaMallocHost(&host, n));
        fill(host, n, 3);
        CHECK(cudaMemsetAsync(device, 9, n, stream));
        gate = 0;
        CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
        CHECK(cudaMemcpyAsync(in ? device : host, in ? host : device, n, cudaMemcpyDefault,
                              stream));
        EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
        std::thread later([] { usleep(100000), gate = 1; });
        CHECK(cudaFreeHost(host));
        // Where the bytes had to travel they have done so, and the memory is free at once.
        later.join();
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(got.data(), device, n, cudaMemcpyDeviceToHost));
        if (in)
            expect(got.data(), n, 3, "memory that was freed while it was copied");
    }
}

static void many_threads(unsigned char *device)
{
    std::vector<std::thread> threads;
    const size_t part = 300000;
    for (unsigned number = 0; number < 6; number++)
        threads.emplace_back([=] {
            cudaStream_t stream;
            unsigned char *pinned;
            std::vector<unsigned char> pageable(part), got(part);
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (unsigned round = 0; round < 10; round++) {
                unsigned char *mine = device + number * part;
                unsigned seed = number * 16 + round;
                CHECK(cudaMallocHost(&pinned, part));
                fill(pinned, part, seed);
                fill(pageable.data(), part, seed + 1);
                CHECK(cudaMemcpyAsync(mine, pinned, part, cudaMemcpyHostToDevice, stream));
                CHECK(cudaMemcpyAsync(got.data(), mine, part, cudaMemcpyDeviceToHost, stream));
                CHECK(cudaStreamSynchronize(stream));
                expect(got.data(), part, seed, "pinned, of one of many threads");
                CHECK(cudaMemcpyAsync(mine, pageable.data(), part, cudaMemcpyHostToDevice, stream));
                CHECK(cudaMemcpyAsync(pinned, mine, part, cudaMemcpyDeviceToHost, stream));
                CHECK(cudaStreamSynchronize(stream));
                expect(pinned, part, seed + 1, "pageable, of one of many threads");
                CHECK(cudaFreeHost(pinned));
            }
            CHECK(cudaStreamDestroy(stream));
        });
    for (std::thread &thread : threads)
        thread.join();
}

// More blocks than servers keep: all work.
static void many_blocks(unsigned char *device)
{
    std::vector<unsigned char *> blocks(1200);
    const size_t length = 65536;
    std::vector<unsigned char> got(length);
    for (unsigned char *&block : blocks)
        CHECK(cudaMallocHost(&block, length));
    for (size_t i = 0; i < blocks.size(); i += 97) {
        fill(blocks[i], length, (unsigned)i);
        CHECK(cudaMemcpy(device, blocks[i], length, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(got.data(), device, length, cudaMemcpyDeviceToHost));
        expect(got.data(), length, (unsigned)i, "one of many blocks");
    }
    for (unsigned char *block : blocks)
        CHECK(cudaFreeHost(block));
}

// A child of a fork finds what is there.
static void child_reads()
{
    unsigned char *host;
    CHECK(cudaMallocHost(&host, n));
    fill(host, n, 5);
    pid_t child = fork();
    if (child == 0)
        _exit(host[0] == pattern(0, 5) && host[n - 1] == pattern(n - 1, 5) ? 0 : 1);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the child has ended with %x", (unsigned)status);
    CHECK(cudaFreeHost(host));
}

int main()
{
    cudaStream_t stream;
    unsigned char *device;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, n));
    offsets(device, stream);
    rows(device, stream);
    relay(device, stream);
    freed_early(device, stream);
    many_threads(device);
    many_blocks(device);
    child_reads();
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return passed();
}
