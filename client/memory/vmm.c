/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management. The client keeps the books; a server hears of memory when it is made,
 * and of a reservation with the first mapping there, so reserving needs no device. Memory lives on
 * a server until its last handle and its last mapping have gone, so it can be retained meanwhile.
 */
#include "client/memory/vmm.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/address/address_map.h"
#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/conn/conn_list.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/device_free.h"
#include "client/memory/mappings.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

#define SPACE_MAX (UINT64_C(1) << 44)

/* One call at a time: they wait for servers. */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

const struct client_object_type client_physical_type = {.bytes = sizeof(struct client_physical)};

/* No current context is needed; one whose connection is lost says so. */
CUresult client_vmm_enter(void)
{
    struct client_context *context;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = client_context_current(&context);
        if (rc == CUDA_ERROR_INVALID_CONTEXT || rc == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
            rc = CUDA_SUCCESS;
        }
    }
    if (rc == CUDA_SUCCESS) {
        pthread_mutex_lock(&one);
    }
    return rc;
}

CUresult client_vmm_leave(CUresult rc)
{
    pthread_mutex_unlock(&one);
    return rc;
}

void client_vmm_relieve(void)
{
    pthread_mutex_lock(&one);
    client_vmm_sweep();
    pthread_mutex_unlock(&one);
}

struct client_physical *client_vmm_find(CUmemGenericAllocationHandle handle)
{
    struct client_physical *found = client_object_find(GA_HANDLE_PHYSICAL, handle);
    return found != NULL && found->holds != 0 ? found : NULL;
}

/* ---- reservations */

/* A granularity that fits all devices. */
static uint64_t granularity(void)
{
    uint64_t most = CLIENT_OTHERS_UNIT;
    for (int i = 0; i < client_device_count; i++) {
        uint64_t bytes = client_devices[i]->granularity_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static CUresult vmm_reserve(uint64_t bytes, uint64_t alignment, uint64_t wish, CUdeviceptr *out)
{
    uint64_t least = granularity(), start;
    if (bytes == 0 || bytes % least != 0 || (alignment & (alignment - 1)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    alignment = alignment > least ? alignment : least;
    if (bytes > SPACE_MAX || alignment > SPACE_MAX ||
        !client_window_take(wish, bytes, alignment, &start)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!client_mappings_reserve(start, bytes)) {
        client_window_give(start, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = start;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    CU_TRY(client_vmm_enter());
    return client_vmm_leave(ptr == NULL || flags != 0 ? CUDA_ERROR_INVALID_VALUE
                                                      : vmm_reserve(size, alignment, addr, ptr));
}

/* Nobody waits: the same addresses are used again by calls that come later. */
void client_vmm_release(struct client_session *session, uint64_t space, uint64_t space_bytes)
{
    struct client_call call;
    const struct ga_space_release_args args = {.space = space, .space_bytes = space_bytes};
    if (client_call_enter_session(&call, API_OP_ga_space_release, session) == CUDA_SUCCESS) {
        (void)client_post_ga_space_release(&call, &args);
    }
}

/* Any session of the connection will do. */
static void tell_released(const struct client_space *space, unsigned index)
{
    const struct client_conn *conn = client_conn_at_index(index);
    for (int i = 0; i < client_device_count; i++) {
        struct client_session *session = atomic_load(&client_devices[i]->session);
        if (session != NULL && client_session_conn(session) == conn) {
            client_vmm_release(session, space->start, space->bytes);
            return;
        }
    }
}

static CUresult vmm_unreserve(uint64_t start, uint64_t bytes)
{
    struct client_space *space = client_mappings_space(start);
    if (space == NULL || space->start != start || space->bytes != bytes ||
        client_address_touches(start, bytes, CLIENT_ADDRESS(MAPPING))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < 64 * (sizeof space->told / sizeof space->told[0]); i++) {
        if ((space->told[i / 64] >> i % 64 & 1) != 0) {
            tell_released(space, i);
        }
    }
    client_mappings_release(space);
    client_window_give(start, bytes);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    if (client_call_exiting()) {
        return CUDA_SUCCESS;
    }
    CU_TRY(client_vmm_enter());
    return client_vmm_leave(vmm_unreserve(ptr, size));
}

/* ---- memory */

static CUresult vmm_device_of(const CUmemAllocationProp *prop, struct client_device **device)
{
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = client_device_find(prop->location.id, device);
    const unsigned vmm = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    return rc == CUDA_SUCCESS && (*device)->attributes[vmm] == 0 ? CUDA_ERROR_NOT_SUPPORTED : rc;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    struct client_device *device;
    CU_TRY(client_vmm_enter());
    CUresult rc = vmm_device_of(prop, &device);
    if (out == NULL || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                        option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *out = granularity();
    }
    return client_vmm_leave(rc);
}

static CUresult ask_memory(struct client_session *session, uint64_t physical, uint64_t bytes)
{
    struct client_call call;
    const struct ga_physical_create_args args = {.physical = physical, .bytes = bytes};
    CU_TRY(client_call_enter_session(&call, API_OP_ga_physical_create, session));
    return client_wait_ga_physical_create(&call, &args, true);
}

struct client_physical *client_vmm_make(struct client_device *device,
                                        struct client_session *session, uint64_t bytes)
{
    struct client_physical *made = client_object_make(GA_HANDLE_PHYSICAL, NULL);
    if (made != NULL) {
        made->device = device;
        made->session = session;
        made->bytes = bytes;
        made->file = -1;
    }
    return made;
}

CUresult client_vmm_memory(CUdevice device, uint64_t bytes, struct client_physical **out)
{
    struct client_session *session;
    CU_TRY(client_session_need(device, &session));
    struct client_physical *made = client_vmm_make(client_devices[device], session, bytes);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = ask_memory(session, made->object.handle, bytes);
    for (unsigned step = 0; rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(session, step);
         step++) {
        rc = ask_memory(session, made->object.handle, bytes); /* it may be what nobody uses */
    }
    if (rc != CUDA_SUCCESS) {
        client_object_drop(made);
        return rc;
    }
    *out = made;
    return CUDA_SUCCESS;
}

static CUresult vmm_create(const struct client_device *device, uint64_t bytes, bool exportable,
                           uint64_t *handle)
{
    struct client_physical *made;
    if (bytes == 0 || bytes % device->granularity_bytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    client_vmm_sweep();
    CU_TRY(client_vmm_memory(device->ordinal, bytes, &made));
    made->holds = 1;
    made->exportable = exportable;
    *handle = made->object.handle;
    return CUDA_SUCCESS;
}

static bool exports(const struct client_device *device, CUmemAllocationHandleType types)
{
    const unsigned posix = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    return types == CU_MEM_HANDLE_TYPE_NONE ||
           (types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && device->attributes[posix] != 0);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct client_device *device;
    uint64_t made;
    CU_TRY(client_vmm_enter());
    CUresult rc = vmm_device_of(prop, &device);
    if (handle == NULL || flags != 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && (!exports(device, prop->requestedHandleTypes) ||
                               prop->allocFlags.gpuDirectRDMACapable != 0)) {
        rc = front_unsupported("cuMemCreate of memory that is exported so");
    }
    if (rc == CUDA_SUCCESS) {
        rc = vmm_create(device, size, prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE, &made);
    }
    if (rc == CUDA_SUCCESS) {
        *handle = made;
    }
    return client_vmm_leave(rc);
}

void client_vmm_drop(struct client_physical *physical)
{
    struct client_call call;
    const struct ga_physical_release_args args = {.physical = physical->object.handle};
    if (physical->holds != 0 || physical->mappings != 0 || client_vmm_lingers(physical)) {
        return;
    }
    if (client_call_enter_session(&call, API_OP_ga_physical_release, physical->session) ==
        CUDA_SUCCESS) {
        (void)client_post_ga_physical_release(&call, &args);
    }
    client_object_drop(physical);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    if (client_call_exiting()) {
        return CUDA_SUCCESS;
    }
    CU_TRY(client_vmm_enter());
    struct client_physical *physical = client_vmm_find(handle);
    if (physical == NULL) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    physical->holds--;
    client_vmm_drop(physical);
    return client_vmm_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CU_TRY(client_vmm_enter());
    struct client_mapping *mapping = client_mappings_at((uint64_t)(uintptr_t)addr);
    if (handle == NULL || mapping == NULL) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    mapping->physical->holds++;
    *handle = mapping->physical->object.handle;
    return client_vmm_leave(CUDA_SUCCESS);
}

/* As it was made. */
CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle)
{
    CU_TRY(client_vmm_enter());
    const struct client_physical *physical = client_vmm_find(handle);
    if (prop == NULL || physical == NULL) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *prop = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = physical->exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                     : CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = physical->device->ordinal}};
    return client_vmm_leave(CUDA_SUCCESS);
}
