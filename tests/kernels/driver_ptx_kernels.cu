// SPDX-License-Identifier: Apache-2.0
// The device half of driver_ptx: compiled to text by nvcc -ptx.
extern "C" {

__device__ int calls = 5;
__constant__ int offset;

__global__ void fill(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = value + offset + i;
    if (i == 0)
        calls++;
}

// One-byte, eight-byte and struct parameters, so that their offsets matter.
struct Mixed {
    char small;
    double wide;
    short tail[3];
};

__global__ void mixed(signed char a, double b, Mixed c, double *out)
{
    out[threadIdx.x] = a + b + c.small + c.wide + c.tail[threadIdx.x % 3];
}

__global__ void __launch_bounds__(64) reverse(int *data)
{
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
}
