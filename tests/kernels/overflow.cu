// SPDX-License-Identifier: Apache-2.0
// overflow to_device|to_host|patient|held|fault [MIB]: copies of MIB behind a stream that waits for
// a value in memory; patient: behind a kernel, which ends by itself. A server that has no room for
// them gives an error: each call says which. held: stays there until it is killed. fault: meanwhile
// a kernel leaves its memory.
#include <cstring>
#include <unistd.h>

#include "check_driver.h"

__global__ void spin(long long clocks)
{
    long long start = clock64();
    while (clock64() - start < clocks)
        ;
}

__global__ void leave(int *nowhere)
{
    *nowhere = 1;
}

static bool refused;

static void say(const char *call, CUresult result)
{
    refused = refused || result != CUDA_SUCCESS;
    printf("%s: %s\n", call, result == CUDA_SUCCESS ? "good" : driver_error_name(result));
    fflush(stdout);
}

static void expect(const char *at, size_t bytes, char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != value)
            fail("byte %zu is %d, not %d", i, at[i], value);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    size_t part = 32 << 20, parts = (argc > 2 ? strtoul(argv[2], nullptr, 10) : 64) / 32;
    CUstream waits, other;
    CUdeviceptr device, word;
    char *host;
    CHECK(cudaFree(0));
    CHECK_DRIVER(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemAlloc(&device, part));
    CHECK_DRIVER(cuMemAlloc(&word, 4));
    CHECK_DRIVER(cuMemAllocHost((void **)&host, part));
    CHECK_DRIVER(cuMemsetD32(word, 0, 1));
    memset(host, 1, part);
    CHECK_DRIVER(cuMemcpyHtoD(device, host, part));
    CHECK_DRIVER(cuCtxSynchronize());
    memset(host, 2, part);
    if (strcmp(what, "patient") == 0) {
        spin<<<1, 1, 0, waits>>>(3000000000); // some seconds
        CHECK(cudaGetLastError());
    } else {
        CHECK_DRIVER(cuStreamWaitValue32(waits, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    }
    bool to_host = strcmp(what, "to_host") == 0;
    bool both = strcmp(what, "held") == 0 || strcmp(what, "fault") == 0;
    for (size_t i = 0; i < parts; i++) {
        CHECK_DRIVER(to_host ? cuMemcpyDtoHAsync(host, device, part, waits)
                             : cuMemcpyHtoDAsync(device, host, part, waits));
        if (both)
            CHECK_DRIVER(cuMemcpyDtoHAsync(host, device, part, waits));
    }
    if (strcmp(what, "held") == 0) {
        CHECK_DRIVER(cuStreamQuery(other));
        say("started", CUDA_SUCCESS);
        pause();
    }
    if (strcmp(what, "fault") == 0) {
        leave<<<1, 1, 0, other>>>(nullptr);
        CHECK(cudaGetLastError());
        say("another stream", cuStreamSynchronize(other));
        say("the stream", cuStreamSynchronize(waits));
        return passed();
    }
    if (strcmp(what, "patient") != 0) {
        say("another stream", cuStreamSynchronize(other));
        CHECK_DRIVER(cuStreamWriteValue32(other, word, 1, 0));
    }
    say("the stream", cuStreamSynchronize(waits));
    if (!refused && !to_host) {
        memset(host, 0, part);
        CHECK_DRIVER(cuMemcpyDtoH(host, device, part));
    }
    if (!refused)
        expect(host, part, to_host ? 1 : 2);
    // Whatever has been, it goes on.
    memset(host, 3, part);
    CHECK_DRIVER(cuMemcpyHtoDAsync(device, host, part, waits));
    CHECK_DRIVER(cuStreamSynchronize(waits));
    memset(host, 0, part);
    CHECK_DRIVER(cuMemcpyDtoHAsync(host, device, part, waits));
    CHECK_DRIVER(cuStreamSynchronize(waits));
    expect(host, part, 3);
    return passed();
}
