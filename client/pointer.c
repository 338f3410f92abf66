/* What a pointer is: answered from what the client allocated and pinned. */
#include <string.h>

#include "client/state.h"
#include "front/front.h"

enum pointer_kind { POINTER_UNKNOWN, POINTER_DEVICE, POINTER_HOST };

struct pointer {
    enum pointer_kind kind;
    uint64_t address;
    struct client_memory memory;
};

union answer {
    uint64_t u64;
    void *pointer;
    uint32_t u32;
    int32_t i32;
    uint8_t flag;
};

static struct pointer look(uint64_t address)
{
    struct pointer p = {.kind = POINTER_UNKNOWN, .address = address};
    unsigned flags;
    if (client_memory_find(address, &p.memory)) {
        p.kind = POINTER_DEVICE;
    } else if (client_host_find(address, &p.memory, &flags)) {
        p.kind = POINTER_HOST;
    }
    return p;
}

static int32_t ordinal_of(const struct pointer *p)
{
    const struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, p->memory.context);
    return context != NULL ? context->device->ordinal : -2; /* CU_DEVICE_INVALID */
}

/* Bytes written to *answer; 0: the attribute does not apply to this pointer. */
static size_t attribute_of(const struct pointer *p, CUpointer_attribute attribute,
                           union answer *answer)
{
    bool device = p->kind == POINTER_DEVICE;
    memset(answer, 0, sizeof *answer);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        answer->u64 = p->memory.context;
        return device ? 8 : 0;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        answer->u32 = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        return 4;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        answer->u64 = p->address;
        return device ? 8 : 0;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        answer->u64 = p->address;
        return device ? 0 : 8;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        answer->i32 = ordinal_of(p);
        return 4;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        answer->u64 = p->memory.start;
        return 8;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        answer->u64 = p->memory.bytes;
        return 8;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        answer->flag = 1;
        return 1;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        answer->u32 = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return device ? 4 : 0;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return 1;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return 8;
    default:
        return 0;
    }
}

static bool attribute_known(CUpointer_attribute attribute)
{
    return (int)attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
           (int)attribute <= CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CUresult rc = client_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (data == NULL || !attribute_known(attribute)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct pointer p = look(ptr);
    union answer answer;
    size_t bytes = p.kind != POINTER_UNKNOWN ? attribute_of(&p, attribute, &answer) : 0;
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(data, &answer, bytes);
    return CUDA_SUCCESS;
}

/* The size of an attribute's answer, whatever the pointer is. */
static size_t size_of(CUpointer_attribute attribute)
{
    static const struct pointer device = {.kind = POINTER_DEVICE}, host = {.kind = POINTER_HOST};
    union answer answer;
    size_t bytes = attribute_of(&device, attribute, &answer);
    return bytes != 0 ? bytes : attribute_of(&host, attribute, &answer);
}

/* A pointer that CUDA does not know is no error here: its attributes are zero. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    CUresult rc = client_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (numAttributes == 0 || attributes == NULL || data == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < numAttributes; i++) {
        if (data[i] == NULL || !attribute_known(attributes[i])) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    struct pointer p = look(ptr);
    for (unsigned i = 0; i < numAttributes; i++) {
        union answer answer;
        size_t bytes = p.kind != POINTER_UNKNOWN ? attribute_of(&p, attributes[i], &answer) : 0;
        if (bytes == 0) {
            memset(&answer, 0, sizeof answer);
            if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
                answer.i32 = -2; /* CU_DEVICE_INVALID */
            }
            bytes = size_of(attributes[i]);
        }
        memcpy(data[i], &answer, bytes);
    }
    return CUDA_SUCCESS;
}

/* SYNC_MEMOPS: copies of this memory shall wait. They do not overtake each other anyway. */
CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr)
{
    struct client_memory memory;
    CUresult rc = client_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
        !client_memory_find(ptr, &memory)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return front_unsupported("cuPointerSetAttribute");
}
