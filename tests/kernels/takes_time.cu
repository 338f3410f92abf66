// Says what its work took, by events. Everything is submitted behind a gate, work that takes long,
// so that what is measured begins when the gate ends, however slowly this process runs.
//
// takes_time kernels|adds|busy: `kernels` gates with a kernel (where kernels take a configured
// time), `adds` with copies, and measures a kernel that adds vectors; `busy` says when ten kernels
// that fill the device began and when they were done.
#include <time.h>

#include "check.h"

static const size_t bytes = 16 << 20;
static const int streams = 2;

static float *device_memory[streams], *pinned[streams];
static cudaStream_t stream[streams];
static cudaEvent_t gate, begin, end[streams];

__global__ void spin(float *out, int rounds)
{
    float value = threadIdx.x;
    for (int round = 0; round < rounds; round++)
        value = value * 1.5f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(const float *a, float *b, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        b[i] += a[i];
}

static void up(int i)
{
    CHECK(cudaMemcpyAsync(device_memory[i], pinned[i], bytes, cudaMemcpyHostToDevice, stream[i]));
}
static void down(int i)
{
    CHECK(cudaMemcpyAsync(pinned[i], device_memory[i], bytes, cudaMemcpyDeviceToHost, stream[i]));
}
static void small(int i)
{
    spin<<<2, 128, 0, stream[i]>>>(device_memory[i], 10);
}
static void large(int i)
{
    spin<<<4096, 128, 0, stream[i]>>>(device_memory[i], 10);
}
static void vectors(int i)
{
    add<<<bytes / 4 / 256, 256, 0, stream[i]>>>(device_memory[1 - i], device_memory[i], bytes / 4);
}

// Milliseconds from the gate's end until all of it is done.
static void measure(const char *name, bool kernels, void (*first)(int), void (*second)(int))
{
    for (int i = 0; kernels ? i < 1 : i < 8; i++)
        kernels ? large(0) : up(0);
    CHECK(cudaEventRecord(gate, stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], gate, 0));
    CHECK(cudaEventRecord(begin, stream[0]));
    first(0);
    CHECK(cudaEventRecord(end[0], stream[0]));
    if (second)
        second(1);
    CHECK(cudaEventRecord(end[1], stream[1]));
    CHECK(cudaDeviceSynchronize());
    float took[streams];
    for (int i = 0; i < streams; i++)
        CHECK(cudaEventElapsedTime(&took[i], begin, end[i]));
    printf("%s %.4f\n", name, took[0] > took[1] ? took[0] : took[1]);
}

static double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int busy()
{
    printf("begin %.3f\n", now_ms());
    for (int i = 0; i < 10; i++)
        large(0);
    CHECK(cudaDeviceSynchronize());
    printf("end %.3f\n", now_ms());
    return passed();
}

int main(int count, char **arguments)
{
    bool kernels = count > 1 && strcmp(arguments[1], "kernels") == 0;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("name %s\n", properties.name);
    for (int i = 0; i < streams; i++) {
        CHECK(cudaMalloc(&device_memory[i], bytes));
        CHECK(cudaMallocHost(&pinned[i], bytes));
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&end[i]));
    }
    cudaFuncAttributes loaded; // now, and not while something is measured
    CHECK(cudaFuncGetAttributes(&loaded, spin));
    CHECK(cudaFuncGetAttributes(&loaded, add));
    CHECK(cudaEventCreate(&gate));
    CHECK(cudaEventCreate(&begin));
    if (count > 1 && strcmp(arguments[1], "busy") == 0)
        return busy();
    measure("up", kernels, up, nullptr);
    measure("up_down", kernels, up, down);
    if (kernels) {
        measure("small", kernels, small, nullptr);
        measure("small_small", kernels, small, small);
        measure("large_large", kernels, large, large);
        measure("large_up", kernels, large, up);
    } else {
        measure("add", kernels, vectors, nullptr);
    }
    return passed();
}
