// SPDX-License-Identifier: Apache-2.0
// Device code for the container tests: long enough that every compression mode has work to do.
template <int N> __global__ void step(float *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        for (int k = 0; k < N; k++)
            data[i] = data[i] * 1.5f + (float)k;
}
template __global__ void step<1>(float *, int);
template __global__ void step<2>(float *, int);
template __global__ void step<3>(float *, int);
template __global__ void step<4>(float *, int);
extern "C" __global__ void plain(int *out)
{
    *out = 42;
}
