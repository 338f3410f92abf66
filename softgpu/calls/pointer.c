/* What is behind a pointer. */
#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/memory.h"

static void put(void *data, const void *value, size_t bytes)
{
    memcpy(data, value, bytes);
}

static void put_u32(void *data, unsigned value)
{
    put(data, &value, sizeof value);
}

static void put_u64(void *data, uint64_t value)
{
    put(data, &value, sizeof value);
}

static void put_bool(void *data, bool value)
{
    put(data, &value, sizeof value);
}

static int range_ordinal(const struct sg_range *range)
{
    if (range->device != NULL) {
        return (int)range->device->ordinal;
    }
    return range->context != NULL ? (int)range->context->device->ordinal : 0;
}

/* Attributes of the address space and of the memory. False: not this kind of attribute. */
static bool attribute_place(const struct sg_range *range, CUpointer_attribute attribute, void *data)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        put_u64(data, range->context != NULL ? range->context->handle : 0);
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put_u32(data, range->device != NULL ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        put_u64(data, range->id);
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put_u32(data, (unsigned)range_ordinal(range));
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        put_u64(data, range->span.base);
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        put_u64(data, range->span.bytes);
        return true;
    default:
        return false;
    }
}

/* Yes-or-no attributes and what we have none of. */
static bool attribute_feature(const struct sg_range *range, CUpointer_attribute attribute,
                              void *data)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        put_bool(data, range->sync_memops);
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put_bool(data, true);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        put_bool(data, false);
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        put_u64(data, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put_u32(data, range->rights[range_ordinal(range)] == SG_MAP_READ
                          ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                          : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        return true;
    default:
        return false;
    }
}

static CUresult attribute_get(const struct sg_range *range, CUpointer_attribute attribute,
                              uint64_t address, void *data)
{
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
        put_u64(data, address);
        return CUDA_SUCCESS;
    }
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
        if (range->device != NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        put_u64(data, address);
        return CUDA_SUCCESS;
    }
    if (attribute_place(range, attribute, data) || attribute_feature(range, attribute, data)) {
        return CUDA_SUCCESS;
    }
    return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS ? CUDA_ERROR_NOT_SUPPORTED
                                                        : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    const struct sg_range *range = sg_range_find(ptr);
    if (data == NULL || range == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return sg_leave(attribute_get(range, attribute, ptr, data));
}

/* What memory that CUDA does not know has: nothing; its ordinal is CU_DEVICE_INVALID. */
static void attribute_unknown(CUpointer_attribute attribute, uint64_t address, void *data)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        put_u64(data, address);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put_u32(data, 0);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put_u32(data, (unsigned)CU_DEVICE_INVALID);
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put_u32(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        put_bool(data, false);
        break;
    default:
        put_u64(data, 0);
        break;
    }
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (numAttributes == 0 || attributes == NULL || data == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const struct sg_range *range = sg_range_find(ptr);
    for (unsigned i = 0; i < numAttributes; i++) {
        if (data[i] == NULL) {
            return sg_leave(CUDA_ERROR_INVALID_VALUE);
        }
        if (range == NULL) {
            attribute_unknown(attributes[i], ptr, data[i]);
            continue;
        }
        if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && range->device != NULL) {
            put_u64(data[i], 0);
            continue;
        }
        result = attribute_get(range, attributes[i], ptr, data[i]);
        if (result != CUDA_SUCCESS) {
            break;
        }
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_range *range = sg_range_find(ptr);
    if (value == NULL || range == NULL || range->device == NULL ||
        attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    unsigned wish;
    memcpy(&wish, value, sizeof wish);
    range->sync_memops = wish != 0;
    return sg_leave(CUDA_SUCCESS);
}
