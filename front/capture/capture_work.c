/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of calls that submit work: each makes node parameters of its call. Errors are those of
 * the call itself. */
#include "api/capture_hooks.h"
#include "front/capture/capture.h"
#include "front/capture/capture_state.h"
#include "front/front.h"
#include "front/graph/graph_add.h"
#include "front/graph/graph_memory.h"
#include "front/graph/graph_params.h"

/* `made`: the result of making the parameters, which the node then owns. */
static CUresult capture_finish(struct capture_stream *stream, CUresult made,
                               struct front_node_params *params)
{
    return capture_unlock(made == CUDA_SUCCESS ? capture_add(stream, params) : made);
}

/* ---- kernels ---- */

static CUresult capture_launch(const CUlaunchConfig *config, CUfunction f, void **values,
                               void **extra)
{
    struct capture_stream *stream;
    struct front_node_params params;
    CUresult rc = capture_enter(config->hStream, &stream);
    return rc != CUDA_SUCCESS ? rc
                              : capture_finish(stream,
                                               front_kernel_node_make(&params, stream->context, f,
                                                                      config, values, extra),
                                               &params);
}

CUresult CUDAAPI front_capture_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                                void **kernelParams, void **extra)
{
    return config == NULL ? FRONT_CAPTURE_RUN : capture_launch(config, f, kernelParams, extra);
}

CUresult CUDAAPI front_capture_cuLaunchKernel(CUfunction f, unsigned int gridDimX,
                                              unsigned int gridDimY, unsigned int gridDimZ,
                                              unsigned int blockDimX, unsigned int blockDimY,
                                              unsigned int blockDimZ, unsigned int sharedMemBytes,
                                              CUstream hStream, void **kernelParams, void **extra)
{
    const CUlaunchConfig config = {.gridDimX = gridDimX,
                                   .gridDimY = gridDimY,
                                   .gridDimZ = gridDimZ,
                                   .blockDimX = blockDimX,
                                   .blockDimY = blockDimY,
                                   .blockDimZ = blockDimZ,
                                   .sharedMemBytes = sharedMemBytes,
                                   .hStream = hStream};
    return capture_launch(&config, f, kernelParams, extra);
}

CUresult CUDAAPI front_capture_cuLaunchCooperativeKernel(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
    CUlaunchAttribute together = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                  .value = {.cooperative = 1}};
    const CUlaunchConfig config = {.gridDimX = gridDimX,
                                   .gridDimY = gridDimY,
                                   .gridDimZ = gridDimZ,
                                   .blockDimX = blockDimX,
                                   .blockDimY = blockDimY,
                                   .blockDimZ = blockDimZ,
                                   .sharedMemBytes = sharedMemBytes,
                                   .hStream = hStream,
                                   .attrs = &together,
                                   .numAttrs = 1};
    return capture_launch(&config, f, kernelParams, NULL);
}

/* ---- copies ---- */

static CUresult capture_copy_box(const CUDA_MEMCPY3D *copy, CUstream handle)
{
    struct capture_stream *stream;
    struct front_node_params params;
    CUresult rc = capture_enter(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0) {
        return capture_unlock(CUDA_SUCCESS); /* nothing to copy, as outside of a capture */
    }
    return capture_finish(stream, front_copy_node_make(&params, stream->context, copy), &params);
}

static CUDA_MEMCPY3D capture_line(CUmemorytype from, CUmemorytype to, size_t bytes)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = from, .dstMemoryType = to, .WidthInBytes = bytes, .Height = 1, .Depth = 1};
}

CUresult CUDAAPI front_capture_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                                             CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED, ByteCount);
    copy.srcDevice = src;
    copy.dstDevice = dst;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost,
                                                    size_t ByteCount, CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, ByteCount);
    copy.srcHost = srcHost;
    copy.dstDevice = dstDevice;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice,
                                                    size_t ByteCount, CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, ByteCount);
    copy.srcDevice = srcDevice;
    copy.dstHost = dstHost;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                                    size_t ByteCount, CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, ByteCount);
    copy.srcDevice = srcDevice;
    copy.dstDevice = dstDevice;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                                 CUdeviceptr srcDevice, CUcontext srcContext,
                                                 size_t ByteCount, CUstream hStream)
{
    (void)dstContext; /* addresses are unified */
    (void)srcContext;
    return front_capture_cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset,
                                                    const void *srcHost, size_t ByteCount,
                                                    CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY, ByteCount);
    copy.srcHost = srcHost;
    copy.dstArray = dstArray;
    copy.dstXInBytes = dstOffset;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray,
                                                    size_t srcOffset, size_t ByteCount,
                                                    CUstream hStream)
{
    CUDA_MEMCPY3D copy = capture_line(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, ByteCount);
    copy.srcArray = srcArray;
    copy.srcXInBytes = srcOffset;
    copy.dstHost = dstHost;
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    if (pCopy == NULL) {
        return FRONT_CAPTURE_RUN;
    }
    const CUDA_MEMCPY3D copy = {.srcXInBytes = pCopy->srcXInBytes,
                                .srcY = pCopy->srcY,
                                .srcMemoryType = pCopy->srcMemoryType,
                                .srcHost = pCopy->srcHost,
                                .srcDevice = pCopy->srcDevice,
                                .srcArray = pCopy->srcArray,
                                .srcPitch = pCopy->srcPitch,
                                .dstXInBytes = pCopy->dstXInBytes,
                                .dstY = pCopy->dstY,
                                .dstMemoryType = pCopy->dstMemoryType,
                                .dstHost = pCopy->dstHost,
                                .dstDevice = pCopy->dstDevice,
                                .dstArray = pCopy->dstArray,
                                .dstPitch = pCopy->dstPitch,
                                .WidthInBytes = pCopy->WidthInBytes,
                                .Height = pCopy->Height,
                                .Depth = 1};
    return capture_copy_box(&copy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return pCopy == NULL ? FRONT_CAPTURE_RUN : capture_copy_box(pCopy, hStream);
}

CUresult CUDAAPI front_capture_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy,
                                                   CUstream hStream)
{
    if (pCopy == NULL) {
        return FRONT_CAPTURE_RUN;
    }
    const CUDA_MEMCPY3D copy = {.srcXInBytes = pCopy->srcXInBytes,
                                .srcY = pCopy->srcY,
                                .srcZ = pCopy->srcZ,
                                .srcLOD = pCopy->srcLOD,
                                .srcMemoryType = pCopy->srcMemoryType,
                                .srcHost = pCopy->srcHost,
                                .srcDevice = pCopy->srcDevice,
                                .srcArray = pCopy->srcArray,
                                .srcPitch = pCopy->srcPitch,
                                .srcHeight = pCopy->srcHeight,
                                .dstXInBytes = pCopy->dstXInBytes,
                                .dstY = pCopy->dstY,
                                .dstZ = pCopy->dstZ,
                                .dstLOD = pCopy->dstLOD,
                                .dstMemoryType = pCopy->dstMemoryType,
                                .dstHost = pCopy->dstHost,
                                .dstDevice = pCopy->dstDevice,
                                .dstArray = pCopy->dstArray,
                                .dstPitch = pCopy->dstPitch,
                                .dstHeight = pCopy->dstHeight,
                                .WidthInBytes = pCopy->WidthInBytes,
                                .Height = pCopy->Height,
                                .Depth = pCopy->Depth};
    return capture_copy_box(&copy, hStream);
}

/* ---- fills ---- */

static CUresult capture_fill(CUdeviceptr to, size_t pitch, unsigned element, unsigned value,
                             size_t width, size_t height, CUstream handle)
{
    const CUDA_MEMSET_NODE_PARAMS_v1 what = {.dst = to,
                                             .pitch = pitch,
                                             .value = value,
                                             .elementSize = element,
                                             .width = width,
                                             .height = height};
    struct capture_stream *stream;
    struct front_node_params params;
    CUresult rc = capture_enter(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (width == 0 || height == 0) {
        return capture_unlock(CUDA_SUCCESS);
    }
    return capture_finish(stream, front_fill_node_make(&params, stream->context, &what), &params);
}

#define FILLS(bits, type)                                                                          \
    CUresult CUDAAPI front_capture_cuMemsetD##bits##Async(CUdeviceptr dstDevice, type value,       \
                                                          size_t N, CUstream hStream)              \
    {                                                                                              \
        return capture_fill(dstDevice, 0, (bits) / 8, value, N, 1, hStream);                       \
    }                                                                                              \
    CUresult CUDAAPI front_capture_cuMemsetD2D##bits##Async(                                       \
        CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, size_t Height,           \
        CUstream hStream)                                                                          \
    {                                                                                              \
        return capture_fill(dstDevice, dstPitch, (bits) / 8, value, Width, Height, hStream);       \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)

/* ---- host functions, values ---- */

CUresult CUDAAPI front_capture_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct capture_stream *stream;
    struct front_node_params params;
    CUresult rc = fn == NULL ? FRONT_CAPTURE_RUN : capture_enter(hStream, &stream);
    return rc != CUDA_SUCCESS
               ? rc
               : capture_finish(stream, front_host_node_make(&params, fn, userData), &params);
}

CUresult CUDAAPI front_capture_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                                     CUstreamBatchMemOpParams *paramArray,
                                                     unsigned int flags)
{
    struct capture_stream *found;
    struct front_node_params params;
    CUresult rc = capture_enter(stream, &found);
    return rc != CUDA_SUCCESS ? rc
                              : capture_finish(found,
                                               front_values_node_make(&params, found->context,
                                                                      count, paramArray, flags),
                                               &params);
}

#define VALUES(bits, member)                                                                       \
    CUresult CUDAAPI front_capture_cuStreamWaitValue##bits##_v2(                                   \
        CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags)             \
    {                                                                                              \
        CUstreamBatchMemOpParams op = {                                                            \
            .waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_##bits,                         \
                          .address = addr,                                                         \
                          .member = value,                                                         \
                          .flags = flags}};                                                        \
        return front_capture_cuStreamBatchMemOp_v2(stream, 1, &op, 0);                             \
    }                                                                                              \
    CUresult CUDAAPI front_capture_cuStreamWriteValue##bits##_v2(                                  \
        CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags)             \
    {                                                                                              \
        CUstreamBatchMemOpParams op = {                                                            \
            .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_##bits,                       \
                           .address = addr,                                                        \
                           .member = value,                                                        \
                           .flags = flags}};                                                       \
        return front_capture_cuStreamBatchMemOp_v2(stream, 1, &op, 0);                             \
    }

VALUES(32, value)
VALUES(64, value64)

/* ---- graphs ---- */

CUresult CUDAAPI front_capture_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    struct capture_stream *stream;
    CUgraphNode node;
    CUresult rc = capture_enter(hStream, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct capture_set *set = &stream->set;
    rc = front_graph_add_exec(stream->capture->graph, set->nodes, set->edges, set->count, hGraph,
                              &node);
    return capture_unlock(rc == CUDA_SUCCESS ? capture_became(stream, node) : rc);
}

/* ---- memory ---- */

static CUresult capture_allocate(CUdeviceptr *address, size_t bytes, CUstream handle)
{
    struct capture_stream *stream;
    struct front_node_params params;
    CUdevice device;
    CUresult rc = address == NULL ? FRONT_CAPTURE_RUN : capture_enter(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = front_host.context_device(stream->context, &device);
    if (rc != CUDA_SUCCESS) {
        return capture_unlock(rc);
    }
    const CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
        .bytesize = bytes};
    rc = front_alloc_node_make(&params, &wanted);
    CUdeviceptr made = rc == CUDA_SUCCESS ? params.alloc.wanted.dptr : 0;
    rc = rc == CUDA_SUCCESS ? capture_add(stream, &params) : rc;
    if (rc == CUDA_SUCCESS) {
        *address = made;
    }
    return capture_unlock(rc);
}

CUresult CUDAAPI front_capture_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return capture_allocate(dptr, bytesize, hStream);
}

/* The pool is ignored: a graph has memory of its own. */
CUresult CUDAAPI front_capture_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize,
                                                       CUmemoryPool pool, CUstream hStream)
{
    (void)pool;
    return capture_allocate(dptr, bytesize, hStream);
}

CUresult CUDAAPI front_capture_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct capture_stream *stream;
    struct front_node_params params;
    CUresult rc = capture_enter(hStream, &stream);
    return rc != CUDA_SUCCESS
               ? rc
               : capture_finish(stream, front_free_node_make(&params, dptr), &params);
}
