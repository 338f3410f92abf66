// SPDX-License-Identifier: Apache-2.0
// Streams with copies, kernels and events: results, order between streams, elapsed time, and the
// order that the default stream imposes.
#include "check.h"

static const int streams = 4, n = 1 << 14;

__global__ void scale(int *data, int factor, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = data[i];
    for (int round = 0; round < rounds; round++)
        value = value * factor + round;
    data[i] = value;
}

__global__ void add(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}

static int scaled(int value, int factor, int rounds)
{
    unsigned result = (unsigned)value;
    for (int round = 0; round < rounds; round++)
        result = result * (unsigned)factor + (unsigned)round;
    return (int)result;
}

static void pipelines()
{
    cudaStream_t stream[streams];
    cudaEvent_t start[streams], stop[streams];
    int *host[streams], *device[streams];
    for (int s = 0; s < streams; s++) {
        CHECK(s % 2 ? cudaStreamCreate(&stream[s])
                    : cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&start[s]));
        CHECK(cudaEventCreate(&stop[s]));
        CHECK(cudaMallocHost(&host[s], n * sizeof(int)));
        CHECK(cudaMalloc(&device[s], n * sizeof(int)));
        for (int i = 0; i < n; i++)
            host[s][i] = i + s;
    }
    for (int s = 0; s < streams; s++) {
        CHECK(cudaEventRecord(start[s], stream[s]));
        CHECK(cudaMemcpyAsync(device[s], host[s], n * sizeof(int), cudaMemcpyHostToDevice,
                              stream[s]));
        scale<<<n / 256, 256, 0, stream[s]>>>(device[s], s + 3, 20 * (s + 1));
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host[s], device[s], n * sizeof(int), cudaMemcpyDeviceToHost,
                              stream[s]));
        CHECK(cudaEventRecord(stop[s], stream[s]));
    }
    for (int s = streams - 1; s >= 0; s--) {
        float milliseconds = -1;
        CHECK(cudaEventSynchronize(stop[s]));
        CHECK(cudaEventQuery(stop[s]));
        CHECK(cudaStreamQuery(stream[s]));
        CHECK(cudaEventElapsedTime(&milliseconds, start[s], stop[s]));
        if (!(milliseconds > 0 && milliseconds < 1e6f))
            fail("stream %d took %g ms", s, milliseconds);
        for (int i = 0; i < n; i++) {
            if (host[s][i] != scaled(i + s, s + 3, 20 * (s + 1)))
                fail("stream %d element %d is %d", s, i, host[s][i]);
        }
        CHECK(cudaEventDestroy(start[s]));
        CHECK(cudaEventDestroy(stop[s]));
        CHECK(cudaStreamDestroy(stream[s]));
        CHECK(cudaFreeHost(host[s]));
        CHECK(cudaFree(device[s]));
    }
    printf("%d pipelines are right and their times plausible\n", streams);
}

// b waits for an event of a; without it the short kernel on b would read before the long one wrote.
static void order()
{
    cudaStream_t a, b;
    cudaEvent_t written;
    int *from, *to, result[2];
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    CHECK(cudaMalloc(&from, n * sizeof(int)));
    CHECK(cudaMalloc(&to, n * sizeof(int)));
    CHECK(cudaMemsetAsync(from, 0, n * sizeof(int), a));
    CHECK(cudaMemsetAsync(to, 0, n * sizeof(int), b));
    scale<<<n / 256, 256, 0, a>>>(from, 3, 200);
    CHECK(cudaEventRecord(written, a));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    add<<<n / 256, 256, 0, b>>>(to, from, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaEventQuery(written));
    CHECK(cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost));
    if (result[0] != scaled(0, 3, 200) || result[1] != result[0])
        fail("the second stream did not wait: %d", result[0]);

    float unused;
    cudaError_t error = cudaEventElapsedTime(&unused, written, written);
    if (error != cudaErrorInvalidResourceHandle)
        fail("elapsed time of an event without timing gave %s", cudaGetErrorName(error));
    (void)cudaGetLastError();

    // The default stream waits for blocking streams, and they wait for it.
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaMemsetAsync(from, 0, n * sizeof(int), blocking));
    scale<<<n / 256, 256, 0, blocking>>>(from, 5, 200);
    scale<<<n / 256, 256>>>(from, 7, 3);
    scale<<<n / 256, 256, 0, blocking>>>(from, 2, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result, from, sizeof result, cudaMemcpyDeviceToHost));
    int right = scaled(scaled(scaled(0, 5, 200), 7, 3), 2, 1);
    if (result[0] != right)
        fail("the default stream's order is broken: %d, %d is right", result[0], right);
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaEventDestroy(written));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    printf("events and the default stream order the work\n");
}

int main()
{
    pipelines();
    order();
    return passed();
}
