/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: mappings, and the devices that may use them. */
#include "api/calls.h"
#include "api/client_calls.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/context/context.h"
#include "client/memory/mappings.h"
#include "client/memory/vmm.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

CUresult client_vmm_map(struct client_physical *physical, uint64_t start, uint64_t bytes,
                        uint64_t space, uint64_t space_bytes)
{
    struct client_call call;
    const struct ga_physical_map_args args = {.physical = physical->object.handle,
                                              .address = start,
                                              .bytes = bytes,
                                              .space = space,
                                              .space_bytes = space_bytes};
    CU_TRY(client_call_enter_session(&call, API_OP_ga_physical_map, physical->session));
    return client_wait_ga_physical_map(&call, &args, true);
}

static CUresult map(uint64_t start, uint64_t bytes, struct client_physical *physical)
{
    struct client_space *space = client_mappings_space(start);
    if (space == NULL || bytes == 0 || bytes > physical->bytes ||
        start % physical->device->granularity_bytes != 0 ||
        bytes % physical->device->granularity_bytes != 0 ||
        bytes > space->bytes - (start - space->start) ||
        client_address_touches(start, bytes, CLIENT_ADDRESS(MAPPING))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct client_mapping *made = client_mappings_add(start, bytes, physical);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = client_vmm_map(physical, start, bytes, space->start, space->bytes);
    if (rc != CUDA_SUCCESS) {
        client_mappings_remove(made);
        return rc;
    }
    unsigned index = client_conn_index(client_session_conn(physical->session));
    space->told[index / 64] |= UINT64_C(1) << index % 64;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CU_TRY(client_vmm_enter());
    struct client_physical *physical = client_vmm_find(handle);
    return client_vmm_leave(physical == NULL || flags != 0 || offset != 0
                                ? CUDA_ERROR_INVALID_VALUE
                                : map(ptr, size, physical));
}

/* Do whole mappings, side by side, make up exactly these addresses? */
static bool whole(uint64_t start, uint64_t bytes)
{
    uint64_t at = start, end = start + bytes;
    const struct client_mapping *mapping;
    while (at < end && (mapping = client_mappings_at(at)) != NULL && mapping->start == at) {
        at += mapping->bytes;
    }
    return end > start && at == end;
}

/* The mappings of one server that lie side by side from there on. */
static uint64_t run_end(uint64_t at, uint64_t end)
{
    const struct client_mapping *mapping = client_mappings_at(at);
    const struct client_conn *conn = client_session_conn(mapping->physical->session);
    while (at < end && (mapping = client_mappings_at(at)) != NULL &&
           client_session_conn(mapping->physical->session) == conn) {
        at += mapping->bytes;
    }
    return at;
}

CUresult client_vmm_unmap(struct client_session *session, uint64_t start, uint64_t bytes)
{
    struct client_call call;
    const struct ga_physical_unmap_args args = {.address = start, .bytes = bytes};
    CU_TRY(client_call_enter_session(&call, API_OP_ga_physical_unmap, session));
    return client_wait_ga_physical_unmap(&call, &args, true);
}

/* Whatever a server says, the program is rid of the mappings. */
static CUresult vmm_unmap(uint64_t at, uint64_t bytes)
{
    CUresult first = CUDA_SUCCESS;
    uint64_t end = at + bytes;
    if (!whole(at, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    while (at < end) {
        uint64_t until = run_end(at, end);
        CUresult rc = client_vmm_unmap(client_mappings_at(at)->physical->session, at, until - at);
        first = first == CUDA_SUCCESS ? rc : first;
        while (at < until) {
            struct client_mapping *mapping = client_mappings_at(at);
            struct client_physical *physical = mapping->physical;
            at += mapping->bytes;
            client_mappings_remove(mapping);
            client_vmm_drop(physical);
        }
    }
    return first;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    if (client_call_exiting()) {
        return CUDA_SUCCESS;
    }
    client_copy_complete();
    CU_TRY(client_vmm_enter());
    return client_vmm_leave(vmm_unmap(ptr, size));
}

/* ---- access */

static CUresult access_check(const CUmemAccessDesc *desc)
{
    struct client_device *device;
    bool known = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                 desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                 desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return known && desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE
               ? client_device_find(desc->location.id, &device)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_vmm_allow(struct client_session *session, uint64_t start, uint64_t bytes,
                          CUdevice device, CUmemAccess_flags flags)
{
    struct client_call call;
    struct client_session *by;
    CUresult rc = client_session_need(device, &by);
    if (rc == CUDA_SUCCESS && by->conn != client_session_conn(session)) {
        return flags != CU_MEM_ACCESS_FLAGS_PROT_NONE
                   ? client_call_between_nodes("access to memory")
                   : CUDA_SUCCESS;
    }
    const struct ga_space_access_args args = {.address = start,
                                              .bytes = bytes,
                                              .device = (int32_t)client_devices[device]->index,
                                              .flags = (uint32_t)flags};
    if (rc == CUDA_SUCCESS) {
        rc = client_call_enter_session(&call, API_OP_ga_space_access, session);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_space_access(&call, &args, true);
    }
    return rc;
}

static CUresult allow(uint64_t at, uint64_t end, const CUmemAccessDesc *desc)
{
    while (at < end) {
        uint64_t until = run_end(at, end);
        CUresult rc = client_vmm_allow(client_mappings_at(at)->physical->session, at, until - at,
                                       desc->location.id, desc->flags);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        while (at < until) {
            struct client_mapping *mapping = client_mappings_at(at);
            client_mappings_allow(mapping, desc->location.id, desc->flags);
            at += mapping->bytes;
        }
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CU_TRY(client_vmm_enter());
    bool less = false;
    CUresult rc = desc == NULL || count == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = access_check(&desc[i]);
        less |= desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    if (rc == CUDA_SUCCESS && !whole(ptr, size)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && less) {
        client_copy_complete();
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = allow(ptr, ptr + size, &desc[i]);
    }
    return client_vmm_leave(rc);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr ptr)
{
    struct client_device *device;
    CU_TRY(client_vmm_enter());
    const struct client_mapping *mapping = client_mappings_at(ptr);
    if (flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        client_device_find(location->id, &device) != CUDA_SUCCESS || mapping == NULL) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = mapping->rights[location->id];
    return client_vmm_leave(CUDA_SUCCESS);
}
