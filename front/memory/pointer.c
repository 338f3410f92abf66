/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of pointers.
 *
 * Note: a boolean is written as four bytes. cuda.h says bool; NVIDIA's CUDA runtime reads four
 * bytes of a variable that it has not initialised. */
#include "front/memory/pointer.h"

#include <string.h>

#include "front/front.h"

#define NO_DEVICE (-2) /* CU_DEVICE_INVALID */

struct answer {
    uint64_t value;
    size_t bytes;
    bool applies; /* the pointer has the attribute; if not, `value` is the default */
};

static struct answer answer_of(uint64_t value, size_t bytes, bool applies, uint64_t otherwise)
{
    return (struct answer){applies ? value : otherwise, bytes, applies};
}

/* `p` NULL: CUDA does not know the address. False: there is no such attribute. */
static bool attribute_of(const struct front_pointer *p, CUpointer_attribute attribute,
                         uint64_t address, struct answer *out)
{
    static const struct front_pointer nothing;
    bool known = p != NULL;
    p = known ? p : &nothing;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *out = answer_of((uint64_t)(uintptr_t)p->context, 8, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *out = answer_of(p->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST, 4, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *out = answer_of(address + p->to_device, 8, p->on_device, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *out = answer_of(address, 8, known && (!p->device || p->managed), 0);
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *out = answer_of(p->id, 8, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *out = answer_of((uint32_t)p->ordinal, 4, known, (uint32_t)NO_DEVICE);
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *out = answer_of(p->start, 8, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *out = answer_of(p->bytes, 8, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *out = answer_of(p->sync_memops, 4, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *out = answer_of(1, 4, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *out = answer_of(!p->on_device  ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                         : p->read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                        : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE,
                         4, known, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *out = answer_of(p->ipc, 4, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *out = answer_of(p->managed, 4, known, 0);
        return true;
    /* None of these features exists. */
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case 21: /* IS_HW_DECOMPRESS_CAPABLE, newer than the oldest cuda.h that we build with */
        *out = answer_of(0, 4, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *out = answer_of(0, 8, known, 0);
        return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *out = answer_of((uint64_t)(uintptr_t)p->pool, 8, known, 0);
        return true;
    default:
        return false;
    }
}

static CUresult pointer_ready(void)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.process_state() : rc;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct front_pointer pointer;
    struct answer answer;
    CUresult rc = pointer_ready();
    if (rc == CUDA_SUCCESS && data == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    bool known = front_host.pointer(ptr, &pointer);
    if (known && attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) {
        return front_unsupported("cuPointerGetAttribute of P2P_TOKENS");
    }
    if (!known || !attribute_of(&pointer, attribute, ptr, &answer) || !answer.applies) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(data, &answer.value, answer.bytes); /* little endian: the low bytes */
    return CUDA_SUCCESS;
}

/* An attribute that does not apply gives 0 (or no device) instead of an error. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    struct front_pointer pointer;
    struct answer answer;
    CUresult rc = pointer_ready();
    if (rc == CUDA_SUCCESS && (numAttributes == 0 || attributes == NULL || data == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_pointer *found = front_host.pointer(ptr, &pointer) ? &pointer : NULL;
    for (unsigned i = 0; i < numAttributes; i++) {
        if (attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS) {
            return front_unsupported("cuPointerGetAttributes of P2P_TOKENS");
        }
        if (data[i] == NULL || !attribute_of(found, attributes[i], ptr, &answer)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    for (unsigned i = 0; i < numAttributes; i++) {
        (void)attribute_of(found, attributes[i], ptr, &answer);
        memcpy(data[i], &answer.value, answer.bytes);
    }
    return CUDA_SUCCESS;
}
