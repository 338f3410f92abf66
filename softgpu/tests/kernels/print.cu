// SPDX-License-Identifier: Apache-2.0
// printf in kernels: what the compiler makes of it, and what the engine prints.
#include <cstdio>

struct wide {
    double d;
    const char *s;
};

extern "C" __global__ void all_types(int i, long long l, double d, int *result)
{
    result[0] = printf("%d %u %x %5d|%-5d|%05d %lld %llx %c %s %%\n", i, i, i, i, i, i, l, l, 'x',
                       "text");
    result[1] = printf("%f %e %g %a %.3f %10.2f|%-10.2f|\n", d, d, d, d, d, d, d);
    result[2] = printf("nothing\n");
    result[3] = printf("%hd %hhd %p\n", (short)i, (char)i, (void *)0x1234);
    result[4] = printf("%*d|%.*f\n", 7, i, 2, d);
    result[5] = printf(NULL);
}

extern "C" __global__ void each_thread()
{
    printf("block %d thread %d\n", (int)blockIdx.x, (int)threadIdx.x);
}

extern "C" __global__ void some_threads(int *result)
{
    result[threadIdx.x] = -7;
    if (threadIdx.x % 3 == 1)
        result[threadIdx.x] = printf("thread %d of %d\n", (int)threadIdx.x, (int)blockDim.x);
}

__device__ __noinline__ int deeper(int depth, int x)
{
    char name[8] = {'l', 'o', 'c', (char)('a' + depth), 0};
    if (depth == 0)
        return printf("%s at the bottom, %d\n", name, x);
    int below = deeper(depth - 1, x + 1);
    return below + printf("%s at %d\n", name, depth);
}

// Strings in local and shared memory, and from functions that call themselves.
extern "C" __global__ void strings(int *result)
{
    __shared__ char shared[16];
    if (threadIdx.x == 0)
        for (int i = 0; i < 7; i++)
            shared[i] = "shared"[i];
    __syncthreads();
    if (threadIdx.x == 1) {
        printf("%s %.3s %8s|%-8s|\n", shared, shared, shared, shared);
        *result = deeper(3, 10);
    }
}

// Formats that no program should print.
extern "C" __global__ void formats(const char *format, long long a, long long b, int *result)
{
    *result = printf(format, a, b);
}
