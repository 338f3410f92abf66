/* SPDX-License-Identifier: Apache-2.0 */
/* The device attributes that programs may see.
 *
 * An attribute that promises something which this library does not do yet has a fixed value until
 * it does; numbers that are newer than this table are 0: a program then takes its careful way. */
#include "client/session/device_attributes.h"

#include <string.h>

#include "client/session/server_devices.h"

struct attribute_rule {
    uint16_t attribute;
    int32_t value;
};

/* Everything else up to LAST_KNOWN passes. */
static const struct attribute_rule fixed[] = {
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0}, /* its memory is not the host's: the host is elsewhere */
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1}, /* see client/memory/mirror.h */
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},  /* the client tells pointers apart */
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1}, /* pinning is the client's */
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 0},
    {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1}, /* its memory is no NUMA node of this machine */
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
};

#define LAST_KNOWN CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS

void client_attributes_apply(int32_t *seen, const int32_t *driver, uint32_t count)
{
    memset(seen, 0, CLIENT_ATTRIBUTES * sizeof *seen);
    for (uint32_t i = 1; i < count && i <= LAST_KNOWN; i++) {
        seen[i] = driver[i];
    }
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        seen[fixed[i].attribute] = fixed[i].value;
    }
    /* Pools are the client's: all it needs is that the driver maps memory at given addresses. */
    const unsigned vmm = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    const unsigned posix = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    bool pools = vmm < count && driver[vmm] != 0;
    seen[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = pools;
    /* Descriptors are the client's, too, and the driver's for the server. */
    seen[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] =
        pools && posix < count && driver[posix] != 0 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                     : CU_MEM_HANDLE_TYPE_NONE;
}
