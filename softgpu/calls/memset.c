/* SPDX-License-Identifier: Apache-2.0 */
/* Fills. */
#include "softgpu/calls/call.h"
#include "softgpu/copy/memset.h"

static CUresult call_memset_fill(const struct sg_fill_shape *shape, CUstream handle, bool async)
{
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(handle, &stream);
    return rc == CUDA_SUCCESS ? sg_leave(sg_fill_submit(stream, shape, async)) : rc;
}

static struct sg_fill_shape call_memset_line(CUdeviceptr to, unsigned element, uint32_t value,
                                             size_t count)
{
    return (struct sg_fill_shape){
        .to = to, .width = count, .height = 1, .element = element, .value = value};
}

static struct sg_fill_shape rectangle(CUdeviceptr to, size_t pitch, unsigned element,
                                      uint32_t value, size_t width, size_t height)
{
    return (struct sg_fill_shape){.to = to,
                                  .pitch = pitch,
                                  .width = width,
                                  .height = height,
                                  .element = element,
                                  .value = value};
}

#define CALL_MEMSETS(bits, type)                                                                   \
    CUresult CUDAAPI cuMemsetD##bits##_v2(CUdeviceptr dstDevice, type value, size_t N)             \
    {                                                                                              \
        struct sg_fill_shape shape = call_memset_line(dstDevice, (bits) / 8, value, N);            \
        return call_memset_fill(&shape, CU_STREAM_LEGACY, false);                                  \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD##bits##Async(CUdeviceptr dstDevice, type value, size_t N,           \
                                            CUstream hStream)                                      \
    {                                                                                              \
        struct sg_fill_shape shape = call_memset_line(dstDevice, (bits) / 8, value, N);            \
        return call_memset_fill(&shape, hStream, true);                                            \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2(CUdeviceptr dstDevice, size_t dstPitch, type value,    \
                                            size_t Width, size_t Height)                           \
    {                                                                                              \
        struct sg_fill_shape shape =                                                               \
            rectangle(dstDevice, dstPitch, (bits) / 8, value, Width, Height);                      \
        return call_memset_fill(&shape, CU_STREAM_LEGACY, false);                                  \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD2D##bits##Async(CUdeviceptr dstDevice, size_t dstPitch, type value,  \
                                              size_t Width, size_t Height, CUstream hStream)       \
    {                                                                                              \
        struct sg_fill_shape shape =                                                               \
            rectangle(dstDevice, dstPitch, (bits) / 8, value, Width, Height);                      \
        return call_memset_fill(&shape, hStream, true);                                            \
    }

CALL_MEMSETS(8, unsigned char)
CALL_MEMSETS(16, unsigned short)
CALL_MEMSETS(32, unsigned int)
