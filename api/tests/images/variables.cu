// SPDX-License-Identifier: Apache-2.0
// Variables of a module, in each section that machine code has for them: 8000 bytes that begin as
// zeros, 4000 that do not, 400 constant ones; and two managed ones.
__device__ double zeros[1000];
__device__ int ones[1000] = {1};
__constant__ int constants[100] = {3, 2};
__device__ __managed__ int both[2];

extern "C" __global__ void read(double *to, int i)
{
    __shared__ double shared[64];
    shared[i % 64] = zeros[i];
    __syncthreads();
    zeros[i] = *to = shared[0] + ones[i] + constants[i] + both[i % 2];
    ones[i]++;
}
