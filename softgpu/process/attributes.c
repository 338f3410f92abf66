/* SPDX-License-Identifier: Apache-2.0 */
/* Device attributes of a software GPU.
 *
 * What a reader would get wrong: 0 means "has not", and is the answer for everything that is not
 * built yet: an application must never be told of a feature that a later call refuses. */
#include "softgpu/process/attributes.h"

#include "softgpu/process/device.h"

#include <limits.h>

#define ATTRIBUTE(name, number) [CU_DEVICE_ATTRIBUTE_##name] = (int)(number)

static const int table[CU_DEVICE_ATTRIBUTE_MAX] = {
    ATTRIBUTE(MAX_THREADS_PER_BLOCK, SG_BLOCK_THREADS_MAX),
    ATTRIBUTE(MAX_BLOCK_DIM_X, 1024),
    ATTRIBUTE(MAX_BLOCK_DIM_Y, 1024),
    ATTRIBUTE(MAX_BLOCK_DIM_Z, 64),
    ATTRIBUTE(MAX_GRID_DIM_X, 2147483647),
    ATTRIBUTE(MAX_GRID_DIM_Y, 65535),
    ATTRIBUTE(MAX_GRID_DIM_Z, 65535),
    ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, SG_SHARED_BLOCK_DEFAULT),
    ATTRIBUTE(TOTAL_CONSTANT_MEMORY, 65536),
    ATTRIBUTE(WARP_SIZE, SG_WARP_LANES),
    ATTRIBUTE(MAX_PITCH, 2147483647),
    ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, SG_REGISTERS_SM),
    ATTRIBUTE(TEXTURE_ALIGNMENT, 512),
    ATTRIBUTE(GPU_OVERLAP, 1),
    ATTRIBUTE(MAXIMUM_TEXTURE1D_WIDTH, 131072),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_WIDTH, 131072),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_HEIGHT, 65536),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH, 16384),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT, 16384),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH, 16384),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
    ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192),
    ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
    ATTRIBUTE(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120),
    ATTRIBUTE(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768),
    ATTRIBUTE(MAXIMUM_SURFACE1D_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_SURFACE2D_WIDTH, 131072),
    ATTRIBUTE(MAXIMUM_SURFACE2D_HEIGHT, 65536),
    ATTRIBUTE(MAXIMUM_SURFACE3D_WIDTH, 16384),
    ATTRIBUTE(MAXIMUM_SURFACE3D_HEIGHT, 16384),
    ATTRIBUTE(MAXIMUM_SURFACE3D_DEPTH, 16384),
    ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048),
    ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768),
    ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
    ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768),
    ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
    ATTRIBUTE(CAN_MAP_HOST_MEMORY, 1),
    ATTRIBUTE(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT),
    ATTRIBUTE(SURFACE_ALIGNMENT, 512),
    ATTRIBUTE(UNIFIED_ADDRESSING, 1),
    ATTRIBUTE(TEXTURE_PITCH_ALIGNMENT, 32),
    ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED, 1),
    ATTRIBUTE(GLOBAL_L1_CACHE_SUPPORTED, 1),
    ATTRIBUTE(LOCAL_L1_CACHE_SUPPORTED, 1),
    ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, SG_REGISTERS_SM),
    ATTRIBUTE(MANAGED_MEMORY, 1),
    ATTRIBUTE(CONCURRENT_MANAGED_ACCESS, 1),
    ATTRIBUTE(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1),
    ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    ATTRIBUTE(COOPERATIVE_LAUNCH, 1),
    ATTRIBUTE(HOST_REGISTER_SUPPORTED, 1),
    ATTRIBUTE(IPC_EVENT_SUPPORTED, 1),
    ATTRIBUTE(MEM_SYNC_DOMAIN_COUNT, 1),
    ATTRIBUTE(CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
    ATTRIBUTE(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
    ATTRIBUTE(NUMA_ID, -1),
    ATTRIBUTE(HOST_NUMA_ID, -1),
};

static const struct sg_capability capabilities[] = {
    {75, 64 << 10, 64 << 10, 0, 1024, 16},      {80, 164 << 10, 163 << 10, 1024, 2048, 32},
    {86, 100 << 10, 99 << 10, 1024, 1536, 16},  {89, 100 << 10, 99 << 10, 1024, 1536, 24},
    {90, 228 << 10, 227 << 10, 1024, 2048, 32}, {100, 228 << 10, 227 << 10, 1024, 2048, 32},
    {120, 100 << 10, 99 << 10, 1024, 1536, 24},
};

const struct sg_capability *sg_device_capability(const struct sg_device *device)
{
    size_t i = sizeof capabilities / sizeof capabilities[0] - 1;
    while (i > 0 && capabilities[i].number != device->config.capability) {
        i--;
    }
    return &capabilities[i];
}

/* False: not one of those that differ. */
static bool capability_attribute(const struct sg_capability *capability,
                                 CUdevice_attribute attribute, int *value)
{
    const struct {
        CUdevice_attribute attribute;
        unsigned value;
    } differing[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability->number / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability->number % 10},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, capability->shared_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, capability->shared_block_optin},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, capability->shared_reserved},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, capability->threads_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, capability->blocks_sm},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, capability->number >= 90},
    };
    for (size_t i = 0; i < sizeof differing / sizeof differing[0]; i++) {
        if (differing[i].attribute == attribute) {
            *value = (int)differing[i].value;
            return true;
        }
    }
    return false;
}

/* Likewise: what the device's description says. CUDA's memory clock is that of memory which
 * transfers twice per tick. */
static bool config_attribute(const struct soft_device *config, CUdevice_attribute attribute,
                             int *value)
{
    const struct {
        CUdevice_attribute attribute;
        uint64_t value;
    } described[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, config->sms},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, config->clock_mhz * UINT64_C(1000)},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
         config->memory_mbs * UINT64_C(4000) / config->bus_bits},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, config->bus_bits},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, config->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, config->copy_engines},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, config->concurrent_kernels},
        {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, config->kernel_limit_ns != 0},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, config->f64_ratio},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, config->vmm},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, config->vmm},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, config->vmm}, /* servers need it for them */
        {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
         config->vmm ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE},
    };
    for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
        if (described[i].attribute == attribute) {
            *value = described[i].value < INT_MAX ? (int)described[i].value : INT_MAX;
            return true;
        }
    }
    return false;
}

CUresult sg_device_attribute(const struct sg_device *device, CUdevice_attribute attribute,
                             int *value)
{
    if ((int)attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = sg_device_pci_bus(device);
        break;
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
        *value = (int)device->ordinal;
        break;
    default:
        if (!capability_attribute(sg_device_capability(device), attribute, value) &&
            !config_attribute(&device->config, attribute, value)) {
            *value = table[attribute];
        }
        break;
    }
    return CUDA_SUCCESS;
}
