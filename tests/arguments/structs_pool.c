/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools, and where memory is. */
#include "api/cuda_names.h"
#include "tests/arguments/structs.h"

static CUmemPoolProps props(void)
{
    return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

MEMBERS(CUmemPoolProps, pool_props, props)
MEMBERS(CUmemPoolProps, pool_props_unknown_type, props, it.allocType = (CUmemAllocationType)UNKNOWN)
MEMBERS(CUmemPoolProps, pool_props_managed, props, it.allocType = (CUmemAllocationType)2)
MEMBERS(CUmemPoolProps, pool_props_no_device, props, it.location.id = 99)
MEMBERS(CUmemPoolProps, pool_props_host, props, it.location.type = CU_MEM_LOCATION_TYPE_HOST)
MEMBERS(CUmemPoolProps, pool_props_exported, props,
        it.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
MEMBERS(CUmemPoolProps, pool_props_unknown_handle, props,
        it.handleTypes = (CUmemAllocationHandleType)UNKNOWN)
MEMBERS(CUmemPoolProps, pool_props_usage, props, it.usage = 0x100)
MEMBERS(CUmemPoolProps, pool_props_reserved, props, it.reserved[53] = 1)

static CUmemAccessDesc access_of(void)
{
    return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

MEMBERS(CUmemAccessDesc, access_none, access_of, it.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE)
MEMBERS(CUmemAccessDesc, access_unknown, access_of, it.flags = (CUmemAccess_flags)UNKNOWN)

const void *structs_threshold(void)
{
    static cuuint64_t bytes = 0;
    return &bytes;
}

static CUmemLocation location_of(void)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
}

MEMBERS(CUmemLocation, location, location_of)
MEMBERS(CUmemLocation, location_no_device, location_of, it.id = 99)
MEMBERS(CUmemLocation, location_host, location_of, it.type = CU_MEM_LOCATION_TYPE_HOST)
MEMBERS(CUmemLocation, location_unknown, location_of, it.type = (CUmemLocationType)UNKNOWN)
