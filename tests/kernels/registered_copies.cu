// SPDX-License-Identifier: Apache-2.0
// Copies of memory that the program registers, of memory that CUDA has pinned and of any other, to
// one device and to all: lengths around those of the pieces that they are cut into, more than a
// server holds at a time, behind work that is held, and memory that is given back and comes again.
// semantics S11, S123
#include <atomic>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

static const size_t most = (9 << 20) + 77;
static const size_t period = 65521;
static std::vector<unsigned char> pattern(most + 2 * period);
static std::atomic<int> gate(0);

static void CUDART_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

static void make_pattern()
{
    unsigned word = 1;
    for (size_t i = 0; i < period; i++)
        pattern[i] = (unsigned char)((word = word * 1103515245u + 12345u) >> 16);
    for (size_t i = period; i < pattern.size(); i++)
        pattern[i] = pattern[i - period];
}

static void fill(unsigned char *at, size_t count, size_t seed)
{
    memcpy(at, &pattern[seed % period], count);
}

static void expect(const unsigned char *got, size_t count, size_t seed, const char *what)
{
    if (memcmp(got, &pattern[seed % period], count) == 0)
        return;
    size_t i = 0;
    while (got[i] == pattern[seed % period + i])
        i++;
    fail("%s: byte %zu of %zu is %u, %u is right", what, i, count, got[i],
         pattern[seed % period + i]);
}

enum kind { PAGEABLE, PINNED, REGISTERED, kinds };
static const char *const names[] = {"pageable", "pinned", "registered"};

// Some bytes more on both sides: nothing there may change.
struct memory {
    enum kind kind;
    unsigned char *base, *at;
    memory(enum kind kind, size_t count) : kind(kind)
    {
        if (kind == PINNED)
            CHECK(cudaMallocHost(&base, count + 128));
        else
            base = (unsigned char *)malloc(count + 128);
        memset(base, 0xee, count + 128);
        at = base + 37;
        if (kind == REGISTERED)
            CHECK(cudaHostRegister(base + 5, count + 100, cudaHostRegisterDefault));
    }
    void check(size_t count, const char *what)
    {
        for (size_t i = 0; i < 37; i++)
            if (base[i] != 0xee || at[count + i] != 0xee)
                fail("%s %s: a byte beside it has changed", names[kind], what);
    }
    ~memory()
    {
        if (kind == REGISTERED)
            CHECK(cudaHostUnregister(base + 5));
        if (kind == PINNED)
            CHECK(cudaFreeHost(base));
        else
            free(base);
    }
};

static void there_and_back(enum kind kind, unsigned char *device, cudaStream_t stream)
{
    static size_t seed;
    std::vector<size_t> lengths = {65535, 65536, 131073, 262143, 262144, 262145};
    if (kind == PINNED)
        lengths.push_back(most);
    for (size_t count : lengths) {
        memory from(kind, count), to(kind, count);
        for (int turn = 0; turn < 2; turn++) {
            fill(from.at, count, ++seed * 77);
            if (turn == 0) {
                CHECK(cudaMemcpy(device + turn, from.at, count, cudaMemcpyHostToDevice));
                CHECK(cudaMemcpy(to.at, device + turn, count, cudaMemcpyDeviceToHost));
            } else {
                CHECK(cudaMemcpyAsync(device + turn, from.at, count, cudaMemcpyDefault, stream));
                CHECK(cudaMemcpyAsync(to.at, device + turn, count, cudaMemcpyDefault, stream));
                CHECK(cudaStreamSynchronize(stream));
            }
            expect(to.at, count, seed * 77, names[kind]);
            from.check(count, "source");
            to.check(count, "target");
        }
    }
}

// Copies behind a held stream; memory of CUDA's own is given back meanwhile, which waits for them.
static void behind_held_work(enum kind kind, unsigned char *device, cudaStream_t stream)
{
    const size_t count = 1 << 20;
    std::vector<unsigned char> got(count);
    for (bool in : {true, false}) {
        memory *host = new memory(kind, count);
        fill(host->at, count, 4711);
        CHECK(cudaMemset(device, 9, count));
        CHECK(cudaDeviceSynchronize()); // the stream does not wait for it
        gate = 0;
        CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
        std::thread later([] { usleep(30000), gate = 1; });
        CHECK(cudaMemcpyAsync(in ? device : host->at, in ? host->at : device, count,
                              cudaMemcpyDefault, stream));
        if (kind == PINNED)
            delete host;
        later.join();
        CHECK(cudaStreamSynchronize(stream));
        if (kind != PINNED) {
            expect(host->at, in ? count : 0, 4711, "the source");
            for (size_t i = 0; i < count && !in; i++)
                if (host->at[i] != 9)
                    fail("byte %zu of a copy behind held work is %u", i, host->at[i]);
            delete host;
        }
        CHECK(cudaMemcpy(got.data(), device, count, cudaMemcpyDeviceToHost));
        if (in)
            expect(got.data(), count, 4711, "memory that was given back while it was copied");
    }
}

// Other memory at equal addresses: facts about the memory before count no more.
static void comes_again(unsigned char *device)
{
    const size_t count = 300000;
    std::vector<unsigned char> got(count);
    for (size_t turn = 0; turn < 6; turn++) {
        memory host(turn % 2 == 0 ? REGISTERED : PINNED, count);
        for (size_t twice = 0; twice < 2; twice++) {
            fill(host.at, count, turn * 99 + twice);
            CHECK(cudaMemcpy(device, host.at, count, cudaMemcpyHostToDevice));
            CHECK(cudaMemcpy(got.data(), device, count, cudaMemcpyDeviceToHost));
            expect(got.data(), count, turn * 99 + twice, "memory that came again");
        }
    }
}

static void rows(enum kind kind, unsigned char *device, cudaStream_t stream)
{
    const size_t width = 1000, height = 300, pitch = 1100;
    memory host(kind, pitch * height);
    fill(host.at, pitch * height, 5);
    CHECK(
        cudaMemcpy2DAsync(device, 1024, host.at, pitch, width, height, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    memset(host.at, 0xaa, pitch * height);
    CHECK(
        cudaMemcpy2DAsync(host.at, pitch, device, 1024, width, height, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t row = 0; row < height; row++) {
        expect(host.at + row * pitch, width, 5 + row * pitch, "a row");
        for (size_t i = width; i < pitch; i++)
            if (host.at[row * pitch + i] != 0xaa)
                fail("a byte between two rows has changed");
    }
}

// One memory that two threads and all devices use.
static void used_by_all(int count)
{
    const size_t bytes = 400000;
    memory host(REGISTERED, 2 * bytes);
    fill(host.at, 2 * bytes, 31);
    std::vector<std::thread> threads;
    for (int number = 0; number < 2 * count; number++)
        threads.emplace_back([=, &host] {
            unsigned char *device, *from = host.at + number % 2 * bytes;
            std::vector<unsigned char> got(bytes);
            CHECK(cudaSetDevice(number / 2));
            CHECK(cudaMalloc(&device, bytes));
            for (int round = 0; round < 3; round++) {
                CHECK(cudaMemset(device, round, bytes));
                CHECK(cudaMemcpy(device, from, bytes, cudaMemcpyHostToDevice));
                CHECK(cudaMemcpy(got.data(), device, bytes, cudaMemcpyDeviceToHost));
                expect(got.data(), bytes, 31 + number % 2 * bytes, "memory of several threads");
            }
            CHECK(cudaFree(device));
        });
    for (std::thread &thread : threads)
        thread.join();
}

// A child has been there: the program writes into its pages as before, and copies see it.
static void after_a_fork(unsigned char *device)
{
    const size_t count = 500000;
    for (enum kind kind : {PINNED, REGISTERED}) {
        int ends[2];
        char byte;
        memory host(kind, count);
        for (size_t turn = 0; turn < 3; turn++) {
            fill(host.at, count, turn);
            CHECK(cudaMemcpy(device, host.at, count, cudaMemcpyHostToDevice));
        }
        if (pipe(ends) != 0)
            fail("no pipe");
        pid_t child = fork();
        if (child == 0)
            _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
        fill(host.at, count, 77);
        CHECK(cudaMemcpy(device, host.at, count, cudaMemcpyHostToDevice));
        memset(host.at, 0, count);
        CHECK(cudaMemcpy(host.at, device, count, cudaMemcpyDeviceToHost));
        expect(host.at, count, 77, "memory of a program that has forked");
        int status = -1;
        if (write(ends[1], "x", 1) != 1 || waitpid(child, &status, 0) != child || status != 0)
            fail("the child has ended with %x", (unsigned)status);
        close(ends[0]);
        close(ends[1]);
    }
}

int main()
{
    int count;
    make_pattern();
    CHECK(cudaGetDeviceCount(&count));
    cudaStream_t stream;
    unsigned char *device;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, most + 1));
    for (enum kind kind : {PAGEABLE, PINNED, REGISTERED}) {
        there_and_back(kind, device, stream);
        rows(kind, device, stream);
        if (kind != PAGEABLE)
            behind_held_work(kind, device, stream);
    }
    comes_again(device);
    after_a_fork(device);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    used_by_all(count);
    return passed();
}
