// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels, in ways that are right and wrong.
#include <cuda_runtime.h>

extern "C" __global__ void one(unsigned *counter)
{
    atomicAdd(counter, 1);
}

extern "C" __global__ void from_all_threads(unsigned *counter)
{
    one<<<1, 1>>>(counter);
}

// How many of its launches succeed, and the error of the first that does not.
extern "C" __global__ void many(unsigned *out, unsigned count)
{
    out[1] = out[2] = 0;
    for (unsigned i = 0; i < count; i++) {
        one<<<1, 1>>>(out);
        cudaError_t error = cudaGetLastError();
        out[1] += error == cudaSuccess;
        if (error != cudaSuccess && out[2] == 0)
            out[2] = error;
    }
}

extern "C" __global__ void wild(unsigned *counter)
{
    atomicAdd(counter, 1);
    if (threadIdx.x == 5)
        *(volatile int *)8 = 1;
}

extern "C" __global__ void wild_child(unsigned *counter)
{
    one<<<1, 1>>>(counter);
    wild<<<1, 8>>>(counter);
    one<<<1, 1>>>(counter);
}

extern "C" __global__ void wild_fill(unsigned *counter, char *beyond)
{
    cudaMemsetAsync(beyond, 1, 100, 0);
    one<<<1, 1>>>(counter);
}

extern "C" __global__ void endless(unsigned *counter)
{
    *counter += 1;
    endless<<<1, 1, 0, cudaStreamTailLaunch>>>(counter);
}

// Buffers that are never launched.
extern "C" __global__ void forgets(unsigned *out)
{
    for (int i = 0; i < 8; i++)
        out[i] = cudaGetParameterBufferV2((void *)one, dim3(1), dim3(1), 0) != nullptr;
}

extern "C" __global__ void wrong_launches(unsigned *out, void *other)
{
    unsigned **buffer;
    out[0] = cudaLaunchDeviceV2(out, 0);
    out[1] = cudaGetParameterBufferV2(other, dim3(1), dim3(1), 0) == nullptr;
    out[2] = cudaGetLastError();
    buffer = (unsigned **)cudaGetParameterBufferV2((void *)one, dim3(1), dim3(1), 0);
    *buffer = out;
    out[3] = cudaLaunchDeviceV2(buffer, (cudaStream_t)0x777);
    out[4] = cudaLaunchDeviceV2(buffer, 0); // still whole: nothing has taken it
    out[5] = cudaLaunchDeviceV2(buffer, 0);
    out[6] = cudaStreamDestroy((cudaStream_t)0x10000);
    out[7] = cudaMemcpy2DAsync(out, 4, out, 2, 4, 2, cudaMemcpyDeviceToDevice, 0);
    out[8] = cudaGetParameterBufferV2((void *)one, dim3(1), dim3(1), 60000) == nullptr;
    out[9] = cudaGetLastError();
}

// As before CUDA 12: the launch says what is launched.
extern "C" __global__ void first_version(unsigned *out)
{
    unsigned **buffer = (unsigned **)cudaGetParameterBuffer(8, 8);
    *buffer = out + 1;
    out[0] = cudaLaunchDevice((void *)one, buffer, dim3(2), dim3(3), 0, 0);
}
