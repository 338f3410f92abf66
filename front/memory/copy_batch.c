/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of copies: each copy is done as by cuMemcpyAsync or cuMemcpy3DAsync, in order in the
 * stream. All errors that can be found without copying are found before the first copy. */
#include <stdint.h>

#include "front/front.h"

#if CUDA_VERSION >= 12080

/* The progress of a batch, and the index that the program is told if a copy fails. */
struct batch {
    CUstream stream;
    size_t at;
    bool finish; /* the call waits: a source may be invalid after it returns */
};

static CUresult copy_batch_check(CUstream stream)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    /* cuda.h forbids the legacy stream. */
    bool legacy = stream == NULL || stream == CU_STREAM_LEGACY;
    return rc == CUDA_SUCCESS && legacy ? CUDA_ERROR_INVALID_VALUE : rc;
}

static CUresult order_check(CUmemcpySrcAccessOrder order, unsigned flags)
{
    bool known = (int)order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                 (int)order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
                 (int)order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    bool right = known && (flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) == 0;
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Pageable memory has been read when a copy returns; other memory is read in stream order. */
static void note_source(struct batch *batch, CUmemcpySrcAccessOrder order, bool array,
                        uint64_t source)
{
    struct front_pointer pointer;
    batch->finish |= order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
                     (array || front_host.pointer(source, &pointer));
}

static CUresult batch_end(const struct batch *batch, CUresult rc)
{
    return rc == CUDA_SUCCESS && batch->finish ? cuStreamSynchronize(batch->stream) : rc;
}

/* ---- lines */

struct lines {
    const CUdeviceptr *to, *from;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attributes;
    const size_t *begin; /* the first copy of each attribute */
    size_t attribute_count;
};

static CUresult lines_check(const struct lines *lines)
{
    if (lines->to == NULL || lines->from == NULL || lines->sizes == NULL || lines->count == 0 ||
        lines->attributes == NULL || lines->begin == NULL || lines->attribute_count == 0 ||
        lines->attribute_count > lines->count || lines->begin[0] != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < lines->attribute_count; i++) {
        rc = order_check(lines->attributes[i].srcAccessOrder, lines->attributes[i].flags);
        if (lines->begin[i] >= lines->count || (i > 0 && lines->begin[i] <= lines->begin[i - 1])) {
            rc = CUDA_ERROR_INVALID_VALUE;
        }
    }
    return rc;
}

/* `batch->at`: the copy that failed, or SIZE_MAX. */
static CUresult lines_copy(struct batch *batch, const struct lines *lines)
{
    CUresult rc = copy_batch_check(batch->stream);
    batch->at = SIZE_MAX;
    if (rc == CUDA_SUCCESS) {
        rc = lines_check(lines);
    }
    for (size_t i = 0, k = 0; rc == CUDA_SUCCESS && i < lines->count; i++) {
        k += k + 1 < lines->attribute_count && lines->begin[k + 1] == i;
        note_source(batch, lines->attributes[k].srcAccessOrder, false, lines->from[i]);
        rc = cuMemcpyAsync(lines->to[i], lines->from[i], lines->sizes[i], batch->stream);
        batch->at = rc == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    return batch_end(batch, rc);
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, size_t *failIdx, CUstream hStream)
{
    struct batch batch = {.stream = hStream};
    const struct lines lines = {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs};
    CUresult rc = lines_copy(&batch, &lines);
    if (rc != CUDA_SUCCESS && failIdx != NULL) {
        *failIdx = batch.at;
    }
    return rc;
}

/* ---- boxes */

/* The size of the elements that the box is counted in. 0: two arrays of different elements. */
static CUresult element_of(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *bytes)
{
    const CUmemcpy3DOperand *sides[2] = {&op->src, &op->dst};
    struct front_array array;
    *bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        if ((int)sides[i]->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
            continue;
        }
        if ((int)sides[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        CUresult rc =
            front_host.array((uint64_t)(uintptr_t)sides[i]->op.array.array, false, &array);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        if (*bytes != 0 && *bytes != array.element) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *bytes = array.element;
    }
    *bytes += *bytes == 0;
    return CUDA_SUCCESS;
}

/* One side of a cuMemcpy3D. */
struct side {
    CUmemorytype type;
    CUdeviceptr at;
    CUarray array;
    size_t pitch, height, x, y, z;
};

static CUresult copy_batch_side(const CUmemcpy3DOperand *operand, const CUextent3D *extent,
                                size_t element, struct side *side)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        *side = (struct side){.type = CU_MEMORYTYPE_ARRAY,
                              .array = operand->op.array.array,
                              .y = operand->op.array.offset.y,
                              .z = operand->op.array.offset.z};
        return __builtin_mul_overflow(operand->op.array.offset.x, element, &side->x)
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    }
    size_t row = operand->op.ptr.rowLength, layer = operand->op.ptr.layerHeight;
    row = row != 0 ? row : extent->width;
    layer = layer != 0 ? layer : extent->height;
    *side =
        (struct side){.type = CU_MEMORYTYPE_UNIFIED, .at = operand->op.ptr.ptr, .height = layer};
    bool wrong = row < extent->width || layer < extent->height ||
                 __builtin_mul_overflow(row, element, &side->pitch);
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult copy_batch_box_read(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *copy)
{
    struct side from, to;
    size_t element, width;
    CUresult rc = order_check(op->srcAccessOrder, op->flags);
    if (rc == CUDA_SUCCESS) {
        rc = element_of(op, &element);
    }
    if (rc == CUDA_SUCCESS &&
        (op->extent.width == 0 || op->extent.height == 0 || op->extent.depth == 0 ||
         __builtin_mul_overflow(op->extent.width, element, &width))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = copy_batch_side(&op->src, &op->extent, element, &from);
    }
    if (rc == CUDA_SUCCESS) {
        rc = copy_batch_side(&op->dst, &op->extent, element, &to);
    }
    if (rc == CUDA_SUCCESS) {
        *copy = (CUDA_MEMCPY3D){.srcXInBytes = from.x,
                                .srcY = from.y,
                                .srcZ = from.z,
                                .srcMemoryType = from.type,
                                .srcDevice = from.at,
                                .srcArray = from.array,
                                .srcPitch = from.pitch,
                                .srcHeight = from.height,
                                .dstXInBytes = to.x,
                                .dstY = to.y,
                                .dstZ = to.z,
                                .dstMemoryType = to.type,
                                .dstDevice = to.at,
                                .dstArray = to.array,
                                .dstPitch = to.pitch,
                                .dstHeight = to.height,
                                .WidthInBytes = width,
                                .Height = op->extent.height,
                                .Depth = op->extent.depth};
    }
    return rc;
}

/* Reads the whole batch before its first copy. */
static CUresult boxes_copy(struct batch *batch, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count,
                           unsigned long long flags)
{
    CUDA_MEMCPY3D copy;
    CUresult rc = copy_batch_check(batch->stream);
    batch->at = SIZE_MAX;
    if (rc == CUDA_SUCCESS && (ops == NULL || count == 0 || flags != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = copy_batch_box_read(&ops[i], &copy);
        batch->at = rc == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        note_source(batch, ops[i].srcAccessOrder, ops[i].src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY,
                    ops[i].src.op.ptr.ptr);
        rc = copy_batch_box_read(&ops[i], &copy);
        if (rc == CUDA_SUCCESS) {
            rc = cuMemcpy3DAsync_v2(&copy, batch->stream);
        }
        batch->at = rc == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    return batch_end(batch, rc);
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                      size_t *failIdx, unsigned long long flags, CUstream hStream)
{
    struct batch batch = {.stream = hStream};
    CUresult rc = boxes_copy(&batch, opList, numOps, flags);
    if (rc != CUDA_SUCCESS && failIdx != NULL) {
        *failIdx = batch.at;
    }
    return rc;
}

#endif

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                       size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                       size_t numAttrs, CUstream hStream)
{
    return cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, hStream);
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                         unsigned long long flags, CUstream hStream)
{
    return cuMemcpy3DBatchAsync(numOps, opList, NULL, flags, hStream);
}
#endif
