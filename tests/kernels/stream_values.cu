// SPDX-License-Identifier: Apache-2.0
// Streams that wait for values in memory and write them: what a kernel, a copy, another stream or
// the program writes lets a stream go on. semantics S97
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "check_driver.h"

__global__ void store(unsigned *at, unsigned value)
{
    *at = value;
}

__global__ void copy(unsigned *to, const unsigned *from)
{
    *to = *from;
}

// Runs until another stream has written.
__global__ void spin(volatile unsigned *flag, unsigned value, unsigned *out)
{
    while (*flag != value)
        ;
    *out = value;
}

static CUstream stream_new()
{
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static unsigned read_at(CUdeviceptr at)
{
    unsigned value = 0;
    CHECK_DRIVER(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
}

// As the GPU's waits look at it: each word at once.
static void clear(volatile unsigned *word)
{
    for (int i = 0; i < 16; i++)
        word[i] = 0;
}

static void expect_held(CUstream stream, const char *what)
{
    usleep(20000);
    if (cuStreamQuery(stream) != CUDA_ERROR_NOT_READY)
        fail("%s: the stream has not waited", what);
}

// A chain through three streams, each of which waits for the one before.
static void chain(CUdeviceptr words)
{
    CUstream stream[3] = {stream_new(), stream_new(), stream_new()};
    CHECK_DRIVER(cuMemsetD32(words, 0, 64));
    CHECK_DRIVER(cuStreamSynchronize(0));
    for (unsigned round = 1; round <= 50; round++) {
        for (int i = 2; i >= 0; i--) {
            CHECK_DRIVER(
                cuStreamWaitValue32(stream[i], words + 4 * i, round, CU_STREAM_WAIT_VALUE_GEQ));
            CHECK_DRIVER(cuStreamWriteValue32(stream[i], words + 4 * (i + 1), round, 0));
        }
        store<<<1, 1, 0, cudaStreamPerThread>>>((unsigned *)words, round);
        CHECK(cudaGetLastError());
        CHECK_DRIVER(cuStreamSynchronize(stream[2]));
        if (read_at(words + 12) != round)
            fail("round %u: the end of the chain is %u", round, read_at(words + 12));
    }
    for (CUstream one : stream)
        CHECK_DRIVER(cuStreamDestroy(one));
}

static void conditions(CUdeviceptr word)
{
    CUstream stream = stream_new();
    const struct {
        unsigned flags, value, holds, lets_go;
    } tests[] = {{CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6},
                 {CU_STREAM_WAIT_VALUE_GEQ, 2, 0xfffffff0u, 3},
                 {CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
                 {CU_STREAM_WAIT_VALUE_AND, 12, 3, 8},
                 {CU_STREAM_WAIT_VALUE_NOR, 0xffff0000u, 0xffffu, 0xfffeu}};
    for (auto &test : tests) {
        CHECK_DRIVER(cuMemsetD32(word, test.holds, 1)); // not finished when it returns
        CHECK_DRIVER(cuStreamSynchronize(0));
        CHECK_DRIVER(cuStreamWaitValue32(stream, word, test.value, test.flags));
        expect_held(stream, "a condition");
        CHECK_DRIVER(cuMemsetD32(word, test.lets_go, 1));
        CHECK_DRIVER(cuStreamSynchronize(stream));
    }
    CHECK_DRIVER(cuStreamDestroy(stream));
}

// Both directions at once: a kernel that runs waits for a stream, and the stream for the kernel.
static void kernel_and_stream(CUdeviceptr words)
{
    CUstream stream = stream_new(), other = stream_new();
    CHECK_DRIVER(cuMemsetD32(words, 0, 2));
    CHECK_DRIVER(cuCtxSynchronize());
    spin<<<1, 1, 0, stream>>>((unsigned *)words, 7, (unsigned *)(words + 4));
    CHECK(cudaGetLastError());
    CUstreamBatchMemOpParams steps[3] = {};
    steps[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    steps[0].writeValue.address = words;
    steps[0].writeValue.value = 7;
    steps[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    steps[1].waitValue.address = words + 4;
    steps[1].waitValue.value = 7;
    steps[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    steps[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    steps[2].writeValue.address = words + 8;
    steps[2].writeValue.value64 = 7ull << 32;
    CHECK_DRIVER(cuStreamBatchMemOp(other, 3, steps, 0));
    CHECK_DRIVER(cuStreamSynchronize(other));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    if (read_at(words + 4) != 7 || read_at(words + 8) != 0 || read_at(words + 12) != 7)
        fail("the batch wrote %u %u %u", read_at(words + 4), read_at(words + 8),
             read_at(words + 12));
    CHECK_DRIVER(cuStreamWaitValue64(other, words + 8, 6ull << 32, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK_DRIVER(cuStreamSynchronize(other));
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuStreamDestroy(other));
}

static void await(const volatile unsigned *word, unsigned value, const char *what)
{
    for (unsigned i = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; i++) {
        usleep(1000);
        if (i == 60000)
            fail("%s: %u has not come", what, value);
    }
}

// The program and streams wait for each other's words, in memory that is only pinned: no call of
// CUDA's is between.
static void host_memory(unsigned *word)
{
    CUstream stream = stream_new(), other = stream_new();
    CUdeviceptr at = (CUdeviceptr)word;
    clear(word);
    for (unsigned round = 1; round <= 20; round++) {
        CHECK_DRIVER(cuStreamWaitValue32(stream, at, round, CU_STREAM_WAIT_VALUE_GEQ));
        CHECK_DRIVER(cuStreamWriteValue32(stream, at + 4, round, 0));
        CHECK_DRIVER(cuStreamWaitValue32(other, at + 4, round, CU_STREAM_WAIT_VALUE_EQ));
        CHECK_DRIVER(cuStreamWriteValue64(other, at + 8, (cuuint64_t)round << 32, 0));
        if (round == 1)
            expect_held(stream, "host memory");
        __atomic_store_n(word, round, __ATOMIC_RELEASE);
        await(word + 3, round, "the second stream's word");
        if (word[1] != round || word[2] != 0)
            fail("round %u: the words are %u and %u", round, word[1], word[2]);
    }
    CHECK_DRIVER(cuStreamWaitValue32(stream, at, 12, CU_STREAM_WAIT_VALUE_NOR));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    EXPECT_DRIVER(cuStreamWaitValue32(stream, at + 2, 1, CU_STREAM_WAIT_VALUE_GEQ),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuStreamDestroy(other));
}

// A function of the program that waits for a word does not hold up the stream that writes it.
static void CUDA_CB wait_for_word(void *data)
{
    await((const volatile unsigned *)data, 5, "a stream's word, in a function");
}

static void beside_functions(unsigned *word)
{
    CUstream stream = stream_new(), other = stream_new();
    *word = 0;
    CHECK_DRIVER(cuLaunchHostFunc(stream, wait_for_word, word));
    CHECK_DRIVER(cuStreamWriteValue32(other, (CUdeviceptr)word, 5, 0));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuStreamDestroy(other));
}

// Kernels use the memory, too: they see what the program wrote before the word, and what they write
// lets a stream go on.
static void with_kernels(unsigned *word)
{
    CUstream stream = stream_new(), other = stream_new();
    unsigned *device;
    CHECK(cudaHostGetDevicePointer(&device, word, 0));
    for (unsigned round = 1; round <= 5; round++) {
        clear(word);
        CHECK_DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)device, 1, CU_STREAM_WAIT_VALUE_EQ));
        copy<<<1, 1, 0, stream>>>(device + 5, device + 4);
        CHECK(cudaGetLastError());
        word[4] = 10 + round;
        __atomic_store_n(word, 1, __ATOMIC_RELEASE);
        CHECK_DRIVER(cuStreamSynchronize(stream));
        if (word[5] != 10 + round)
            fail("round %u: %u was copied behind the word", round, word[5]);
        CHECK_DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)(device + 6), round,
                                         CU_STREAM_WAIT_VALUE_EQ));
        store<<<1, 1, 0, other>>>(device + 6, round);
        CHECK(cudaGetLastError());
        CHECK_DRIVER(cuStreamSynchronize(stream));
        CHECK_DRIVER(cuStreamSynchronize(other));
        if (word[6] != round)
            fail("round %u: a kernel wrote %u", round, word[6]);
    }
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuStreamDestroy(other));
}

// Values as nodes of a graph, each time new.
static void in_graphs(unsigned *word)
{
    CUstream stream = stream_new();
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr at = (CUdeviceptr)word;
    CHECK_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_DRIVER(cuStreamWaitValue32(stream, at, 3, CU_STREAM_WAIT_VALUE_EQ));
    CHECK_DRIVER(cuStreamWriteValue32(stream, at + 4, 4, 0));
    CHECK_DRIVER(cuStreamEndCapture(stream, &graph));
    CHECK_DRIVER(cuGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        clear(word);
        CHECK_DRIVER(cuGraphLaunch(exec, stream));
        if (round == 0)
            expect_held(stream, "a graph");
        __atomic_store_n(word, 3, __ATOMIC_RELEASE);
        await(word + 1, 4, "a graph's word");
    }
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuGraphExecDestroy(exec));
    CHECK_DRIVER(cuGraphDestroy(graph));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

static void all_host_memory()
{
    unsigned *pinned, *mapped, *own = (unsigned *)aligned_alloc(64, 64);
    CHECK_DRIVER(cuMemHostAlloc((void **)&pinned, 64, CU_MEMHOSTALLOC_PORTABLE));
    CHECK_DRIVER(cuMemHostAlloc((void **)&mapped, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK_DRIVER(cuMemHostRegister(own, 64, CU_MEMHOSTREGISTER_DEVICEMAP));
    for (unsigned *word : {pinned, mapped, own}) {
        host_memory(word);
        beside_functions(word);
        with_kernels(word);
        in_graphs(word);
    }
    CHECK_DRIVER(cuMemHostUnregister(own));
    CHECK_DRIVER(cuMemFreeHost(mapped));
    CHECK_DRIVER(cuMemFreeHost(pinned));
    free(own);
}

int main()
{
    CUdeviceptr words;
    CHECK(cudaFree(0));
    CHECK_DRIVER(cuMemAlloc(&words, 256));
    chain(words);
    conditions(words);
    kernel_and_stream(words);
    all_host_memory();
    return passed();
}
