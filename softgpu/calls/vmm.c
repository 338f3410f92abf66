/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management. No current context is needed. */
#include <limits.h>
#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/vmm.h"
#include "softgpu/stream/waits.h"

/* The only type of handle for other processes. */
#define EXPORTED_AS CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

/* Leaves a call that frees resources: it works in a condemned process, too, and returns its
 * error. */
static CUresult leave_teardown(CUresult rc)
{
    return sg_leave(rc == CUDA_SUCCESS ? sg_process_state() : rc);
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint64_t address = 0;
    rc = ptr == NULL || flags != 0 ? CUDA_ERROR_INVALID_VALUE
                                   : sg_vmm_reserve(addr, size, alignment, &address);
    if (rc == CUDA_SUCCESS) {
        *ptr = address;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult rc = sg_enter_teardown();
    return rc == CUDA_SUCCESS ? leave_teardown(sg_vmm_unreserve(ptr, size)) : rc;
}

static CUresult prop_check(const CUmemAllocationProp *prop, struct sg_device **device)
{
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = sg_call_device(prop->location.id, device);
    return rc == CUDA_SUCCESS && !(*device)->config.vmm ? CUDA_ERROR_NOT_SUPPORTED : rc;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    rc = prop_check(prop, &device);
    if (granularity == NULL || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *granularity = SG_CHUNK_BYTES;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    uint64_t made = 0;
    rc = prop_check(prop, &device);
    if (handle == NULL || flags != 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && ((prop->requestedHandleTypes & ~(unsigned)EXPORTED_AS) != 0 ||
                               prop->allocFlags.gpuDirectRDMACapable != 0)) {
        rc = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_vmm_create(device, size, &made);
        if (rc == CUDA_ERROR_OUT_OF_MEMORY &&
            front_mempool_release(
                (CUdevice)device->ordinal)) { /* some memory is free after the work */
            rc = sg_process_wait();
            rc = rc == CUDA_SUCCESS ? sg_vmm_create(device, size, &made) : rc;
        }
    }
    if (rc == CUDA_SUCCESS) {
        if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
            sg_vmm_allow_export(made);
        }
        *handle = made;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle,
                                              CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    int fd = -1;
    rc = shareableHandle == NULL || handleType != EXPORTED_AS || flags != 0
             ? CUDA_ERROR_INVALID_VALUE
             : sg_vmm_export(handle, &fd);
    if (rc == CUDA_SUCCESS) {
        memcpy(shareableHandle, &fd, sizeof fd);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint64_t made = 0;
    uintptr_t fd = (uintptr_t)osHandle; /* the descriptor itself */
    rc = handle == NULL || shHandleType != EXPORTED_AS || fd > INT_MAX
             ? CUDA_ERROR_INVALID_VALUE
             : sg_vmm_import((int)fd, &made);
    if (rc == CUDA_SUCCESS) {
        *handle = made;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult rc = sg_enter_teardown();
    return rc == CUDA_SUCCESS ? leave_teardown(sg_vmm_release(handle)) : rc;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CU_TRY(sg_enter_process());
    return sg_leave(flags != 0 ? CUDA_ERROR_INVALID_VALUE : sg_vmm_map(ptr, size, offset, handle));
}

static bool nothing_runs(void)
{
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        for (unsigned kind = 0; kind < SG_ENGINES; kind++) {
            if (sg_process.devices[i].engines[kind].running != 0) {
                return false;
            }
        }
    }
    return true;
}

/* On hardware, work that still uses the memory has a page fault of the GPU; here the process would
 * have it. Therefore other pages lie at the addresses while anything runs. */
CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CU_TRY(sg_enter_teardown());
    return leave_teardown(sg_vmm_unmap(ptr, size, !nothing_runs()));
}

static CUresult call_vmm_access_check(const CUmemAccessDesc *desc, unsigned *rights)
{
    struct sg_device *device;
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch ((int)desc->flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
        *rights = 0;
        break;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
        *rights = SG_MAP_READ;
        break;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
        *rights = SG_MAP_READ | SG_MAP_WRITE;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return sg_call_device(desc->location.id, &device);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (desc == NULL || count == 0) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    unsigned rights = 0;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = call_vmm_access_check(&desc[i], &rights);
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        (void)call_vmm_access_check(&desc[i], &rights);
        rc = sg_vmm_access(ptr, size, (unsigned)desc[i].location.id, rights);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr ptr)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    unsigned rights = 0;
    bool wrong = flags == NULL || location == NULL ||
                 location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
                 sg_call_device(location->id, &device) != CUDA_SUCCESS;
    rc = wrong ? CUDA_ERROR_INVALID_VALUE : sg_vmm_rights(ptr, (unsigned)location->id, &rights);
    if (rc == CUDA_SUCCESS) {
        *flags = rights == 0             ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                 : rights == SG_MAP_READ ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                         : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint64_t found = 0;
    rc = handle == NULL ? CUDA_ERROR_INVALID_VALUE
                        : sg_vmm_retain((uint64_t)(uintptr_t)addr, &found);
    if (rc == CUDA_SUCCESS) {
        *handle = found;
    }
    return sg_leave(rc);
}

/* The properties that it was made with. */
CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle)
{
    CU_TRY(sg_enter_process());
    const struct sg_device *device = sg_vmm_device(handle);
    if (prop == NULL || device == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *prop = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = sg_vmm_exportable(handle) ? EXPORTED_AS : CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)device->ordinal}};
    return sg_leave(CUDA_SUCCESS);
}
