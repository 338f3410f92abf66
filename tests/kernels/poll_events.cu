// SPDX-License-Identifier: Apache-2.0
// Never waits: asks cudaEventQuery and cuEventQuery until they say done. Whatever lies between the
// program and the GPU must make progress on questions alone.
#include "check_driver.h"

__global__ void work(unsigned *slot, unsigned value, int rounds)
{
    unsigned noise = value;
    for (int round = 0; round < rounds; round++)
        noise = noise * 1664525u + 1013904223u;
    *slot = noise == 1 ? value + 1 : value;
}

int main()
{
    const int rounds = 50;
    unsigned *slot, *pinned;
    long questions = 0;
    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaMalloc(&slot, sizeof(unsigned)));
    CHECK(cudaMallocHost(&pinned, sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int round = 0; round < rounds; round++) {
        *pinned = 0;
        work<<<1, 1, 0, stream>>>(slot, 7u + round, 2000 * (round % 5));
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(pinned, slot, sizeof *pinned, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventRecord(event, stream));
        if (round % 2) {
            cudaError_t error;
            for (; (error = cudaEventQuery(event)) == cudaErrorNotReady; questions++)
                ;
            CHECK(error);
        } else {
            CUresult result;
            for (; (result = cuEventQuery(event)) == CUDA_ERROR_NOT_READY; questions++)
                ;
            CHECK_DRIVER(result);
        }
        if (*(volatile unsigned *)pinned != 7u + round)
            fail("round %d: done, but the value is %u", round, *pinned);
    }
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(slot));
    printf("%d rounds by asking alone, %s\n", rounds,
           questions > 0 ? "some were asked about more than once" : "all done when first asked");
    return passed();
}
