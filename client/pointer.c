/* What a pointer is: answered from what the client allocated and pinned. */
#include <string.h>

#include "client/state.h"
#include "front/front.h"

bool client_pointer(uint64_t address, struct front_pointer *pointer)
{
    struct client_memory memory;
    unsigned flags;
    bool device = client_memory_find(address, &memory);
    if (!device && !client_host_find(address, &memory, &flags)) {
        return false;
    }
    const struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, memory.context);
    *pointer = (struct front_pointer){.device = device,
                                      .on_device = device,
                                      .context = (CUcontext)(uintptr_t)memory.context,
                                      .ordinal = context != NULL ? context->device->ordinal : 0,
                                      .start = memory.start,
                                      .bytes = memory.bytes,
                                      .id = memory.start};
    return true;
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
