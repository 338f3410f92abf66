// SPDX-License-Identifier: Apache-2.0
// late_fault device|stream|event|copy: a kernel leaves its memory after a while, and the program
// waits or asks until it is told. The first answer that is not "not yet" is the fault. A helper of
// the tests.
#include "check.h"

__global__ void fault_after(long long ns, int *wrong)
{
    long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < ns);
    *wrong = 1;
}

static cudaError_t ask(cudaStream_t stream, cudaEvent_t event, const char *how, int *device)
{
    cudaError_t error;
    int value;
    if (!strcmp(how, "device"))
        return cudaDeviceSynchronize();
    if (!strcmp(how, "copy"))
        return cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
    do
        error = !strcmp(how, "event") ? cudaEventQuery(event) : cudaStreamQuery(stream);
    while (error == cudaErrorNotReady);
    return error;
}

int main(int argc, char **argv)
{
    int *device;
    cudaStream_t stream;
    cudaEvent_t event;
    if (argc != 2)
        fail("usage: late_fault device|stream|event|copy");
    CHECK(cudaMalloc(&device, sizeof *device));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    fault_after<<<1, 1, 0, stream>>>(100000000, (int *)64);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, stream));
    EXPECT_ERROR(ask(stream, event, argv[1], device), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorIllegalAddress);
    return passed();
}
