/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of copies: one of 16 bytes, one of a box of 16 x 4 x 1 bytes; from the host to the
 * device. */
#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/structs.h"

#define ONE(T, name, value)                                                                        \
    const void *structs_##name(void)                                                               \
    {                                                                                              \
        static T it;                                                                               \
        it = (value);                                                                              \
        return &it;                                                                                \
    }

ONE(CUdeviceptr, batch_to, good_block())
ONE(CUdeviceptr, batch_from, good_host())
ONE(CUdeviceptr, batch_wild, good_block_last())
ONE(size_t, batch_sizes, 16)
ONE(size_t, batch_begin, 0)
ONE(size_t, batch_begin_late, 1)

#if CUDA_VERSION >= 12080
static CUmemcpyAttributes attributes(void)
{
    return (CUmemcpyAttributes){.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

MEMBERS(CUmemcpyAttributes, batch_attributes, attributes)
MEMBERS(CUmemcpyAttributes, batch_no_order, attributes,
        it.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID)
MEMBERS(CUmemcpyAttributes, batch_flags, attributes, it.flags = 2)

static CUDA_MEMCPY3D_BATCH_OP box(void)
{
    return (CUDA_MEMCPY3D_BATCH_OP){
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = good_host()}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                .op.ptr = {.ptr = good_block(), .rowLength = 64}},
        .extent = {.width = 16, .height = 4, .depth = 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes, box)
MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes_flat, box, it.extent.depth = 0)
MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes_narrow, box, it.dst.op.ptr.rowLength = 8)
MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes_unknown, box,
        it.src.type = (CUmemcpy3DOperandType)UNKNOWN)
MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes_stale, box, it.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
        it.dst.op.array.array = (CUarray)(uintptr_t)new_dead_array())
MEMBERS(CUDA_MEMCPY3D_BATCH_OP, batch_boxes_no_order, box,
        it.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID)
#else
#define NONE(name)                                                                                 \
    const void *structs_##name(void)                                                               \
    {                                                                                              \
        return NULL; /* nobody asks */                                                             \
    }
NONE(batch_attributes)
NONE(batch_no_order)
NONE(batch_flags)
NONE(batch_boxes)
NONE(batch_boxes_flat)
NONE(batch_boxes_narrow)
NONE(batch_boxes_unknown)
NONE(batch_boxes_stale)
NONE(batch_boxes_no_order)
#endif
