/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: the two sides of each call; softgpu/copy/copy.c does the rest. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/copy/copy.h"
#include "softgpu/stream/events.h"
#include "softgpu/texture/array.h"

/* The kinds of memory that a call copies between. */
struct sides {
    enum front_place to, from;
};

static const struct sides host_to_device = {FRONT_DEVICE, FRONT_HOST};
static const struct sides device_to_host = {FRONT_HOST, FRONT_DEVICE};
static const struct sides device_to_device = {FRONT_DEVICE, FRONT_DEVICE};
static const struct sides any_to_any = {FRONT_UNIFIED, FRONT_UNIFIED};

static struct front_box call_copy_line(uint64_t to, uint64_t from, size_t bytes, struct sides sides)
{
    return (struct front_box){.to = {.place = sides.to, .start = to, .pitch = bytes},
                              .from = {.place = sides.from, .start = from, .pitch = bytes},
                              .width = bytes,
                              .height = 1,
                              .depth = 1};
}

static CUresult call_copy_box(const struct front_box *box, CUstream handle, bool async)
{
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_box linear = *box;
    rc = sg_array_resolve(&linear);
    return sg_leave(rc == CUDA_SUCCESS ? sg_copy_submit(stream, &linear, async) : rc);
}

static CUresult call_copy(uint64_t to, uint64_t from, size_t bytes, struct sides sides,
                          CUstream handle, bool async)
{
    struct front_box box = call_copy_line(to, from, bytes, sides);
    return call_copy_box(&box, handle, async);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return call_copy(dst, src, ByteCount, any_to_any, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return call_copy(dst, src, ByteCount, any_to_any, hStream, true);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return call_copy(dstDevice, (uintptr_t)srcHost, ByteCount, host_to_device, CU_STREAM_LEGACY,
                     false);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return call_copy(dstDevice, (uintptr_t)srcHost, ByteCount, host_to_device, hStream, true);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return call_copy((uintptr_t)dstHost, srcDevice, ByteCount, device_to_host, CU_STREAM_LEGACY,
                     false);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return call_copy((uintptr_t)dstHost, srcDevice, ByteCount, device_to_host, hStream, true);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return call_copy(dstDevice, srcDevice, ByteCount, device_to_device, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream)
{
    return call_copy(dstDevice, srcDevice, ByteCount, device_to_device, hStream, true);
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

/* Makes `stream` wait for the present work of `other`. */
static CUresult stream_after(struct sg_stream *stream, struct sg_stream *other)
{
    struct sg_mark *mark = stream != other ? sg_mark_make() : NULL;
    if (mark == NULL) {
        return stream != other ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    CUresult rc = sg_submit_record(other, mark);
    if (rc == CUDA_SUCCESS) {
        rc = sg_submit_wait_mark(stream, mark);
    }
    sg_mark_drop(mark);
    return rc;
}

/* Ordered with the earlier and later work of all three contexts. */
static CUresult peer_sync(const struct front_box *box, CUcontext to, CUcontext from)
{
    struct sg_context *context, *contexts[2];
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_stream *stream = context->legacy;
    rc = peer_contexts(to, from, contexts);
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < 2; i++) {
        rc = stream_after(stream, contexts[i]->legacy);
    }
    struct front_box linear = *box;
    if (rc == CUDA_SUCCESS) {
        rc = sg_array_resolve(&linear);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_copy_submit(stream, &linear, false);
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < 2; i++) {
        rc = stream_after(contexts[i]->legacy, stream);
    }
    return sg_leave(rc);
}

static CUresult peer_async(const struct front_box *box, CUcontext to, CUcontext from,
                           CUstream handle)
{
    struct sg_context *context, *contexts[2];
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_leave(peer_contexts(to, from, contexts));
    return rc == CUDA_SUCCESS ? call_copy_box(box, handle, true) : rc;
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount)
{
    struct front_box box = call_copy_line(dstDevice, srcDevice, ByteCount, device_to_device);
    return peer_sync(&box, dstContext, srcContext);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream)
{
    struct front_box box = call_copy_line(dstDevice, srcDevice, ByteCount, device_to_device);
    return peer_async(&box, dstContext, srcContext, hStream);
}

static CUresult box_of_peers(const CUDA_MEMCPY3D_PEER *copy, struct front_box *box)
{
    CUresult rc = sg_process_state();
    return rc == CUDA_SUCCESS ? front_box_peer(copy, box) : rc;
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    struct front_box box;
    CUresult rc = box_of_peers(pCopy, &box);
    return rc == CUDA_SUCCESS ? peer_sync(&box, pCopy->dstContext, pCopy->srcContext) : rc;
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    struct front_box box;
    CUresult rc = box_of_peers(pCopy, &box);
    return rc == CUDA_SUCCESS ? peer_async(&box, pCopy->dstContext, pCopy->srcContext, hStream)
                              : rc;
}

/* ---- rectangles and boxes ---- */

static CUresult call_copy_2d(const CUDA_MEMCPY2D *copy, CUstream handle, bool async)
{
    struct front_box box;
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = front_box_2d(copy, &box);
    if (rc == CUDA_SUCCESS) {
        rc = sg_array_resolve(&box);
    }
    return sg_leave(rc == CUDA_SUCCESS ? sg_copy_submit(stream, &box, async) : rc);
}

static CUresult call_copy_3d(const CUDA_MEMCPY3D *copy, CUstream handle, bool async)
{
    struct front_box box;
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = front_box_3d(copy, &box);
    if (rc == CUDA_SUCCESS) {
        rc = sg_array_resolve(&box);
    }
    return sg_leave(rc == CUDA_SUCCESS ? sg_copy_submit(stream, &box, async) : rc);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return call_copy_2d(pCopy, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return call_copy_2d(pCopy, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return call_copy_2d(pCopy, hStream, true);
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return call_copy_3d(pCopy, CU_STREAM_LEGACY, false);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return call_copy_3d(pCopy, hStream, true);
}
