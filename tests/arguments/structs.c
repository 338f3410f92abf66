/* SPDX-License-Identifier: Apache-2.0 */
/* Structures and arrays as arguments. */
#include "tests/arguments/structs.h"

#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"

#define ARRAY(T, name, ...)                                                                        \
    const void *structs_##name(void)                                                               \
    {                                                                                              \
        static T it[4];                                                                            \
        T const given[] = {__VA_ARGS__};                                                           \
        for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {                              \
            it[i] = given[i];                                                                      \
        }                                                                                          \
        return it;                                                                                 \
    }

/* ---- numbers and names */

static uint64_t room[4];
static uint64_t address;

ARRAY(unsigned, one, 1)
ARRAY(unsigned, capture_mode, 0)
ARRAY(unsigned, capture_mode_unknown, 3)

const void *structs_parameters(void)
{
    static void *parameters[2];
    static unsigned value = 7;
    address = good_block();
    parameters[0] = &address;
    parameters[1] = &value;
    return parameters;
}

ARRAY(void *, extra, CU_LAUNCH_PARAM_END)

/* The table that every program with the CUDA runtime asks for: contexts' storage. */
const void *structs_table_id(void)
{
    static const unsigned char id[16] = {0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11,
                                         0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93};
    return id;
}

ARRAY(unsigned, unknown_table_id, 1, 2, 3, 4)
ARRAY(CUpointer_attribute, attributes, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
ARRAY(CUpointer_attribute, attributes_unknown, (CUpointer_attribute)UNKNOWN)
ARRAY(void *, attribute_values, room)
ARRAY(void *, attribute_values_null, NULL)
ARRAY(CUjit_option, jit_options, CU_JIT_MAX_REGISTERS)
ARRAY(CUjit_option, jit_options_unknown, (CUjit_option)UNKNOWN)
ARRAY(CUstreamAttrValue, stream_priority, {.priority = 0})
ARRAY(void *, jit_values, (void *)(uintptr_t)32)
ARRAY(CUlibraryOption, library_options_unknown, (CUlibraryOption)UNKNOWN)

/* ---- a rectangle of 16 x 4 bytes, from the host to the device */

static CUDA_MEMCPY2D rectangle(void)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = (const void *)good_host(),
                           .srcPitch = 32,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = good_block(),
                           .dstPitch = 64,
                           .WidthInBytes = 16,
                           .Height = 4};
}

MEMBERS(CUDA_MEMCPY2D, rectangle, rectangle)
MEMBERS(CUDA_MEMCPY2D, rectangle_too_wide, rectangle, it.WidthInBytes = 33)
MEMBERS(CUDA_MEMCPY2D, rectangle_narrow, rectangle, it.dstPitch = 8)
MEMBERS(CUDA_MEMCPY2D, rectangle_unknown, rectangle, it.srcMemoryType = (CUmemorytype)UNKNOWN)
MEMBERS(CUDA_MEMCPY2D, rectangle_array, rectangle, it.dstMemoryType = CU_MEMORYTYPE_ARRAY)
MEMBERS(CUDA_MEMCPY2D, rectangle_high, rectangle, it.Height = (size_t)1 << 40)
MEMBERS(CUDA_MEMCPY2D, rectangle_empty, rectangle, it.Height = 0)
MEMBERS(CUDA_MEMCPY2D, rectangle_endless, rectangle, it.WidthInBytes = SIZE_MAX)
MEMBERS(CUDA_MEMCPY2D, rectangle_beyond, rectangle, it.dstXInBytes = 48, it.dstY = 0x200000)
MEMBERS(CUDA_MEMCPY2D, rectangle_wrapped_x, rectangle, it.dstXInBytes = SIZE_MAX - 7)
MEMBERS(CUDA_MEMCPY2D, rectangle_wrapped_y, rectangle, it.dstY = SIZE_MAX / 64)
MEMBERS(CUDA_MEMCPY2D, rectangle_null_host, rectangle, it.srcHost = NULL)

/* ---- a box of 16 x 4 x 2 bytes, likewise; one between contexts */

static CUDA_MEMCPY3D box(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = (const void *)good_host(),
                           .srcPitch = 32,
                           .srcHeight = 4,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = good_block(),
                           .dstPitch = 64,
                           .dstHeight = 5,
                           .WidthInBytes = 16,
                           .Height = 4,
                           .Depth = 2};
}

MEMBERS(CUDA_MEMCPY3D, box, box)
MEMBERS(CUDA_MEMCPY3D, box_too_wide, box, it.WidthInBytes = 33)
MEMBERS(CUDA_MEMCPY3D, box_low, box, it.dstHeight = 3)
MEMBERS(CUDA_MEMCPY3D, box_unknown, box, it.srcMemoryType = (CUmemorytype)UNKNOWN)
MEMBERS(CUDA_MEMCPY3D, box_array, box, it.dstMemoryType = CU_MEMORYTYPE_ARRAY)
MEMBERS(CUDA_MEMCPY3D, box_deep, box, it.Depth = (size_t)1 << 40)
MEMBERS(CUDA_MEMCPY3D, box_empty, box, it.Depth = 0)
MEMBERS(CUDA_MEMCPY3D, box_null_host, box, it.srcHost = NULL)
MEMBERS(CUDA_MEMCPY3D, box_level, box, it.dstLOD = 1)
MEMBERS(CUDA_MEMCPY3D, box_reserved, box, it.reserved1 = room)

static CUDA_MEMCPY3D_PEER box_peer(void)
{
    return (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = good_block_2(),
                                .srcContext = (CUcontext)good_context(),
                                .srcPitch = 32,
                                .srcHeight = 4,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = good_block(),
                                .dstContext = (CUcontext)good_context(),
                                .dstPitch = 64,
                                .dstHeight = 5,
                                .WidthInBytes = 16,
                                .Height = 4,
                                .Depth = 2};
}

MEMBERS(CUDA_MEMCPY3D_PEER, box_peer, box_peer)
MEMBERS(CUDA_MEMCPY3D_PEER, box_peer_low, box_peer, it.dstHeight = 3)
MEMBERS(CUDA_MEMCPY3D_PEER, box_peer_nowhere, box_peer, it.dstContext = NULL)
MEMBERS(CUDA_MEMCPY3D_PEER, box_peer_host, box_peer, it.srcDevice = good_host())

/* ---- the same into arrays */

static CUDA_MEMCPY2D rectangle_to_array(void)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = (const void *)good_host(),
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = (CUarray)good_array(),
                           .dstXInBytes = 8,
                           .WidthInBytes = 16,
                           .Height = 4};
}

MEMBERS(CUDA_MEMCPY2D, rectangle_into, rectangle_to_array)
MEMBERS(CUDA_MEMCPY2D, rectangle_into_beyond, rectangle_to_array, it.dstY = 1)
MEMBERS(CUDA_MEMCPY2D, rectangle_into_half, rectangle_to_array, it.dstXInBytes = 2)
MEMBERS(CUDA_MEMCPY2D, rectangle_into_stale, rectangle_to_array,
        it.dstArray = (CUarray)new_dead_array())

static CUDA_MEMCPY3D box_to_array(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = good_block(),
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = (CUarray)good_array(),
                           .WidthInBytes = 16,
                           .Height = 4,
                           .Depth = 1};
}

MEMBERS(CUDA_MEMCPY3D, box_into, box_to_array)
MEMBERS(CUDA_MEMCPY3D, box_into_deep, box_to_array, it.dstZ = 1)
MEMBERS(CUDA_MEMCPY3D, box_into_level, box_to_array, it.dstLOD = 1)

/* ---- a launch */

static CUlaunchConfig config(void)
{
    return (CUlaunchConfig){.gridDimX = 1,
                            .gridDimY = 1,
                            .gridDimZ = 1,
                            .blockDimX = 32,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .hStream = (CUstream)good_stream()};
}

static CUlaunchAttribute unknown_attribute = {.id = (CUlaunchAttributeID)UNKNOWN};

static CUlaunchAttribute cluster_of_one = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                           .value.clusterDim = {.x = 1, .y = 1, .z = 1}};
static CUlaunchAttribute cluster_of_two = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                           .value.clusterDim = {.x = 2, .y = 1, .z = 1}};
static CUlaunchAttribute cluster_of_none = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                            .value.clusterDim = {.x = 1, .y = 0, .z = 1}};

MEMBERS(CUlaunchConfig, launch_config, config)
MEMBERS(CUlaunchConfig, launch_config_clusters, config, it.numAttrs = 1, it.attrs = &cluster_of_one)
MEMBERS(CUlaunchConfig, launch_config_large_clusters, config, it.gridDimX = 2, it.numAttrs = 1,
        it.attrs = &cluster_of_two)
MEMBERS(CUlaunchConfig, launch_config_empty_clusters, config, it.numAttrs = 1,
        it.attrs = &cluster_of_none)
MEMBERS(CUlaunchConfig, launch_config_no_block, config, it.blockDimZ = 0)
MEMBERS(CUlaunchConfig, launch_config_no_grid, config, it.gridDimY = 0)
MEMBERS(CUlaunchConfig, launch_config_huge_block, config, it.blockDimX = 1025)
MEMBERS(CUlaunchConfig, launch_config_null_attributes, config, it.numAttrs = 1)
MEMBERS(CUlaunchConfig, launch_config_unknown_attribute, config, it.numAttrs = 1,
        it.attrs = &unknown_attribute)
MEMBERS(CUlaunchConfig, launch_config_rubbish_stream, config, it.hStream = (CUstream)0x1230)

/* ---- memory that is mapped */

static CUmemAllocationProp allocation(void)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

static CUmemAccessDesc access_to(void)
{
    return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

MEMBERS(CUmemAllocationProp, allocation, allocation)
MEMBERS(CUmemAllocationProp, allocation_unknown_type, allocation,
        it.type = (CUmemAllocationType)UNKNOWN)
MEMBERS(CUmemAllocationProp, allocation_unknown_location, allocation,
        it.location.type = (CUmemLocationType)UNKNOWN)
MEMBERS(CUmemAllocationProp, allocation_no_device, allocation, it.location.id = 99)
MEMBERS(CUmemAccessDesc, access, access_to)
MEMBERS(CUmemAccessDesc, access_no_device, access_to, it.location.id = 99)
MEMBERS(CUmemAccessDesc, access_unknown_location, access_to,
        it.location.type = (CUmemLocationType)UNKNOWN)

/* ---- values in memory: what a stream writes, then waits for */

static CUstreamBatchMemOpParams write_step(CUdeviceptr at, unsigned flags)
{
    return (CUstreamBatchMemOpParams){.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = at,
                                                     .value = 7,
                                                     .flags = flags}};
}

static CUstreamBatchMemOpParams wait_step(CUstreamBatchMemOpType operation)
{
    return (CUstreamBatchMemOpParams){.waitValue = {.operation = operation,
                                                    .address = good_block(),
                                                    .value = 7,
                                                    .flags = CU_STREAM_WAIT_VALUE_EQ}};
}

#define WAIT wait_step(CU_STREAM_MEM_OP_WAIT_VALUE_32)
ARRAY(CUstreamBatchMemOpParams, value_steps, write_step(good_block(), 0), WAIT)
ARRAY(CUstreamBatchMemOpParams, value_steps_unknown, write_step(good_block(), 0),
      wait_step((CUstreamBatchMemOpType)UNKNOWN))
ARRAY(CUstreamBatchMemOpParams, value_steps_wrong_flags, write_step(good_block(), 1), WAIT)
ARRAY(CUstreamBatchMemOpParams, value_steps_wild, write_step(0x1000, 0), WAIT)

/* ---- managed memory: parts of it, places for them, what is asked of it */

#define PLACE(kind, number)                                                                        \
    (CUmemLocation)                                                                                \
    {                                                                                              \
        .type = CU_MEM_LOCATION_TYPE_##kind, .id = number                                          \
    }
ARRAY(CUdeviceptr, ranges, good_managed(), good_managed() + 4096)
ARRAY(CUdeviceptr, ranges_wild, good_managed(), 0x1000)
ARRAY(size_t, range_sizes, 4096, 64)
ARRAY(CUmemLocation, places, PLACE(DEVICE, 0), PLACE(HOST, 0))
ARRAY(CUmemLocation, places_nowhere, PLACE(DEVICE, 0), PLACE(DEVICE, 99))
ARRAY(size_t, place_firsts, 0, 1)
ARRAY(size_t, place_firsts_late, 1, 2)
ARRAY(size_t, place_firsts_twice, 0, 0)
ARRAY(CUmem_range_attribute, range_attributes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
      CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY)
ARRAY(CUmem_range_attribute, range_attributes_unknown, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
      (CUmem_range_attribute)UNKNOWN)
ARRAY(void *, range_values, &room[0], &room[1])
ARRAY(size_t, range_value_sizes, 4, 8)
