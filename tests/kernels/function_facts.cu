// SPDX-License-Identifier: Apache-2.0
// What kernels say about themselves: shared and constant memory as ptxas counts them, registers and
// local memory within what they must be, launch bounds, where parameters lie.
#include "check_driver.h"

__constant__ int table[100];
__constant__ double other;

struct Wide {
    double d[3];
    char c;
};

__global__ void plain(int *p) { *p = 1; }
__global__ void two_arrays(int *p)
{
    __shared__ char a[3];
    __shared__ double b[7];
    a[threadIdx.x % 3] = 1;
    b[threadIdx.x % 7] = 2;
    __syncthreads();
    *p = a[*p % 3] + (int)b[*p % 7];
}
__global__ void odd_array(int *p)
{
    __shared__ int a[33];
    a[threadIdx.x] = *p;
    __syncthreads();
    *p = a[*p % 33];
}
// With dynamic memory behind it.
__global__ void little(int *p)
{
    extern __shared__ int few[];
    __shared__ int b[5];
    b[threadIdx.x % 5] = few[1];
    __syncthreads();
    *p = b[*p % 5];
}
__global__ void constants(int *p) { *p = table[*p] + (int)other; }
__global__ void __launch_bounds__(96) bounded(int *p) { *p = 4; }
__global__ void parameters(char a, Wide w, short b, int *p) { *p = a + w.c + b; }
__device__ __noinline__ int stacked(int *p)
{
    volatile int a[10];
    for (int i = 0; i < 10; i++)
        a[i] = p[i];
    return a[p[2] % 10];
}
__global__ void calling(int *p) { *p = stacked(p) + stacked(p + 1); }

static cudaFuncAttributes facts(const char *name, const void *kernel, size_t shared)
{
    cudaFuncAttributes is;
    CHECK(cudaFuncGetAttributes(&is, kernel));
    if (is.sharedSizeBytes != shared)
        fail("%s: %zu bytes of shared memory, %zu are right", name, is.sharedSizeBytes, shared);
    if (is.constSizeBytes != 408)
        fail("%s: %zu bytes of constants, the module has 408", name, is.constSizeBytes);
    if (is.numRegs < 1 || is.numRegs > 255)
        fail("%s: %d registers", name, is.numRegs);
    if (is.maxDynamicSharedSizeBytes != (int)(49152 - shared))
        fail("%s: %d bytes of dynamic shared memory", name, is.maxDynamicSharedSizeBytes);
    printf("%s: %d registers, %zu bytes of local memory\n", name, is.numRegs, is.localSizeBytes);
    return is;
}

int main()
{
    if (facts("plain", (void *)plain, 0).localSizeBytes != 0)
        fail("plain has local memory");
    facts("two_arrays", (void *)two_arrays, 64);
    facts("odd_array", (void *)odd_array, 144);
    facts("little", (void *)little, 32);
    facts("constants", (void *)constants, 0);
    if (facts("bounded", (void *)bounded, 0).maxThreadsPerBlock != 96)
        fail("bounded takes more than 96 threads");
    if (facts("calling", (void *)calling, 0).localSizeBytes < 40)
        fail("calling has less local memory than its array");
    const size_t offsets[] = {0, 8, 40, 48}, sizes[] = {1, sizeof(Wide), 2, sizeof(int *)};
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (void *)parameters));
    for (size_t i = 0; i < 5; i++) {
        size_t offset = 1, size = 0;
        CUresult rc = cuFuncGetParamInfo(function, i, &offset, &size);
        if (i == 4 ? rc != CUDA_ERROR_INVALID_VALUE
                   : rc != CUDA_SUCCESS || offset != offsets[i] || size != sizes[i])
            fail("parameter %zu: error %d, %zu bytes at %zu", i, (int)rc, size, offset);
    }
    return passed();
}
