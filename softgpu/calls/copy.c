/* Copies: what each call says about its two sides; the rest is softgpu/copy.c. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/work.h"

struct sides {
    enum sg_side to, from;
};

static const struct sides host_to_device = {SG_SIDE_DEVICE, SG_SIDE_HOST};
static const struct sides device_to_host = {SG_SIDE_HOST, SG_SIDE_DEVICE};
static const struct sides device_to_device = {SG_SIDE_DEVICE, SG_SIDE_DEVICE};
static const struct sides any_to_any = {SG_SIDE_ANY, SG_SIDE_ANY};

static CUresult copy(uint64_t to, uint64_t from, size_t bytes, struct sides sides, CUstream handle,
                     bool async)
{
    struct sg_stream *stream;
    CUresult result = sg_enter_stream(handle, &stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_copy_shape shape = {.to = to,
                                  .from = from,
                                  .to_pitch = bytes,
                                  .from_pitch = bytes,
                                  .width = bytes,
                                  .height = 1};
    return sg_leave(sg_copy_submit(stream, &shape, sides.to, sides.from, async));
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(dst, src, ByteCount, any_to_any, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(dst, src, ByteCount, any_to_any, hStream, true);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(dstDevice, (uintptr_t)srcHost, ByteCount, host_to_device, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(dstDevice, (uintptr_t)srcHost, ByteCount, host_to_device, hStream, true);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy((uintptr_t)dstHost, srcDevice, ByteCount, device_to_host, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return copy((uintptr_t)dstHost, srcDevice, ByteCount, device_to_host, hStream, true);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(dstDevice, srcDevice, ByteCount, device_to_device, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream)
{
    return copy(dstDevice, srcDevice, ByteCount, device_to_device, hStream, true);
}

/* ---- between devices ---- */

static CUresult peer_contexts(CUcontext to, CUcontext from, struct sg_context *contexts[2])
{
    contexts[0] = sg_context_find(to);
    contexts[1] = sg_context_find(from);
    for (unsigned i = 0; i < 2; i++) {
        if (contexts[i] == NULL || !contexts[i]->alive) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return CUDA_SUCCESS;
}

/* Lets `stream` wait for what `other` holds now. */
static CUresult stream_after(struct sg_stream *stream, struct sg_stream *other)
{
    struct sg_mark *mark = stream != other ? sg_mark_make() : NULL;
    if (mark == NULL) {
        return stream != other ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    CUresult result = sg_submit_record(other, mark);
    if (result == CUDA_SUCCESS) {
        result = sg_submit_wait_mark(stream, mark);
    }
    sg_mark_drop(mark);
    return result;
}

/* Serialised with the past and future work of all three contexts. */
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount)
{
    struct sg_context *context, *contexts[2];
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_stream *stream = context->legacy;
    struct sg_copy_shape shape = {.to = dstDevice,
                                  .from = srcDevice,
                                  .to_pitch = ByteCount,
                                  .from_pitch = ByteCount,
                                  .width = ByteCount,
                                  .height = 1};
    result = peer_contexts(dstContext, srcContext, contexts);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < 2; i++) {
        result = stream_after(stream, contexts[i]->legacy);
    }
    if (result == CUDA_SUCCESS) {
        result = sg_copy_submit(stream, &shape, SG_SIDE_DEVICE, SG_SIDE_DEVICE, false);
    }
    for (unsigned i = 0; result == CUDA_SUCCESS && i < 2; i++) {
        result = stream_after(contexts[i]->legacy, stream);
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream)
{
    struct sg_context *context, *contexts[2];
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = peer_contexts(dstContext, srcContext, contexts);
    sg_unlock();
    return result == CUDA_SUCCESS
               ? copy(dstDevice, srcDevice, ByteCount, device_to_device, hStream, true)
               : result;
}

/* ---- rectangles ---- */

struct side {
    enum sg_side kind;
    uint64_t start, pitch;
};

/* One side of a CUDA_MEMCPY2D. A pitch of 0 means rows without a gap. */
static CUresult side_read(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch,
                          size_t x, size_t y, size_t width, struct side *side)
{
    uint64_t base = (uint64_t)(uintptr_t)host;
    switch ((int)type) {
    case CU_MEMORYTYPE_HOST:
        side->kind = SG_SIDE_HOST;
        break;
    case CU_MEMORYTYPE_DEVICE:
        side->kind = SG_SIDE_DEVICE;
        base = device;
        break;
    case CU_MEMORYTYPE_UNIFIED:
        side->kind = SG_SIDE_ANY;
        base = device;
        break;
    case CU_MEMORYTYPE_ARRAY:
        return front_unsupported("cuMemcpy2D with arrays");
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t row, offset;
    side->pitch = pitch != 0 ? pitch : width + x;
    if (__builtin_add_overflow(width, x, &row) || side->pitch < row || base == 0 ||
        __builtin_mul_overflow(side->pitch, y, &offset) ||
        __builtin_add_overflow(offset, x, &offset) ||
        __builtin_add_overflow(base, offset, &side->start)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream handle, bool async)
{
    struct side to = {0}, from = {0};
    struct sg_stream *stream;
    CUresult result = sg_enter_stream(handle, &stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (c == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    result = side_read(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstPitch, c->dstXInBytes,
                       c->dstY, c->WidthInBytes, &to);
    if (result == CUDA_SUCCESS) {
        result = side_read(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcPitch, c->srcXInBytes,
                           c->srcY, c->WidthInBytes, &from);
    }
    if (result == CUDA_SUCCESS) {
        struct sg_copy_shape shape = {.to = to.start,
                                      .from = from.start,
                                      .to_pitch = to.pitch,
                                      .from_pitch = from.pitch,
                                      .width = c->WidthInBytes,
                                      .height = c->Height};
        result = sg_copy_submit(stream, &shape, to.kind, from.kind, async);
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, true);
}
