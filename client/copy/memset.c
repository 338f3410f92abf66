/* SPDX-License-Identifier: Apache-2.0 */
/* Filling memory. On device memory these are as the calls with Async, and nothing waits, unless the
 * program has asked for it; what is the program's memory, too, has been filled when they return. */
#include "front/front.h"

static CUresult settled(CUdeviceptr at, CUresult rc)
{
    return front_settle(rc, NULL, at, 0);
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return settled(dstDevice, cuMemsetD8Async(dstDevice, uc, N, NULL));
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return settled(dstDevice, cuMemsetD16Async(dstDevice, us, N, NULL));
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return settled(dstDevice, cuMemsetD32Async(dstDevice, ui, N, NULL));
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height)
{
    return settled(dstDevice, cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, NULL));
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height)
{
    return settled(dstDevice, cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, NULL));
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height)
{
    return settled(dstDevice, cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, NULL));
}
