// Streams that wait for values in device memory and write them: what a kernel, a copy or another
// stream writes lets a stream go on. In host memory only where the device sees that.
#include <unistd.h>

#include "check.h"
#include "check_driver.h"

__global__ void store(unsigned *at, unsigned value)
{
    *at = value;
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

// The host writes the word that a stream waits for, where the device can see it.
static void host_memory()
{
    unsigned *word;
    int mapped = 0;
    CUdevice device;
    CUstream stream = stream_new();
    CHECK_DRIVER(cuCtxGetDevice(&device));
    CHECK_DRIVER(
        cuDeviceGetAttribute(&mapped, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
    CHECK_DRIVER(cuMemHostAlloc((void **)&word, sizeof *word, CU_MEMHOSTALLOC_PORTABLE));
    *word = 0;
    CUresult result = cuStreamWaitValue32(stream, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_GEQ);
    if (result != (mapped ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED))
        fail("waiting for host memory that is %s: %d", mapped ? "mapped" : "not mapped", result);
    if (mapped) {
        expect_held(stream, "host memory");
        __atomic_store_n(word, 1, __ATOMIC_RELEASE);
        CHECK_DRIVER(cuStreamSynchronize(stream));
    }
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuMemFreeHost(word));
}

int main()
{
    CUdeviceptr words;
    CHECK(cudaFree(0));
    CHECK_DRIVER(cuMemAlloc(&words, 256));
    chain(words);
    conditions(words);
    kernel_and_stream(words);
    host_memory();
    return passed();
}
