/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is mapped by hand as arguments. */
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

enum { BLOCK = 0x200000 };

uint64_t new_reserved(void)
{
    CUdeviceptr address;
    MUST(driver.cuMemAddressReserve(&address, BLOCK, 0, 0, 0));
    return address;
}

static uint64_t physical(CUmemAllocationHandleType types)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = types,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    MUST(driver.cuMemCreate(&handle, BLOCK, &prop, 0));
    return handle;
}

uint64_t new_physical(void)
{
    return physical(CU_MEM_HANDLE_TYPE_NONE);
}

uint64_t new_exportable(void)
{
    return physical(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

uint64_t new_descriptor(void)
{
    int fd;
    MUST(driver.cuMemExportToShareableHandle(&fd, new_exportable(),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return (uint64_t)fd;
}

uint64_t new_exported_pool(void)
{
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    MUST(driver.cuMemPoolCreate(&pool, &props));
    return (uint64_t)(uintptr_t)pool;
}

uint64_t new_exported_pooled(void)
{
    CUdeviceptr address;
    MUST(driver.cuMemAllocFromPoolAsync(&address, BLOCK, (CUmemoryPool)new_exported_pool(), NULL));
    return address;
}

uint64_t new_pool_descriptor(void)
{
    int fd;
    MUST(driver.cuMemPoolExportToShareableHandle(&fd, (CUmemoryPool)new_exported_pool(),
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return (uint64_t)fd;
}

uint64_t new_mapped(void)
{
    CUdeviceptr address = new_reserved();
    MUST(driver.cuMemMap(address, BLOCK, 0, new_physical(), 0));
    return address;
}
