/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about memory pools. Arguments are checked here, mempool.c does the rest. Only pools
 * of device memory exist; those of host and managed memory are refused. */
#include <string.h>

#include "front/front.h"
#include "front/mempool/mempool_state.h"

static CUresult mempool_enter(void)
{
    return front_host.mempool->enter();
}

static CUresult mempool_leave(CUresult rc)
{
    front_host.mempool->leave();
    return rc;
}

static bool device_there(CUdevice device)
{
    struct front_device facts;
    return front_host.device(device, &facts) == CUDA_SUCCESS;
}

/* ---- allocating */

static CUresult mempool_allocate(CUdeviceptr *dptr, size_t bytes, CUstream handle, bool given,
                                 CUmemoryPool wanted)
{
    struct front_stream stream;
    struct mempool *pool = NULL;
    CUresult rc = front_host.mempool->enter_stream(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (dptr == NULL || bytes == 0) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (!given) {
        rc = mempool_current(stream.device, &pool);
    } else if ((pool = mempool_of(wanted)) == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t address = 0;
    if (rc == CUDA_SUCCESS) {
        rc = mempool_take(pool, &stream, bytes, &address);
    }
    if (rc == CUDA_SUCCESS) {
        *dptr = address;
    }
    return mempool_leave(rc);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return mempool_allocate(dptr, bytesize, hStream, false, NULL);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream)
{
    return mempool_allocate(dptr, bytesize, hStream, true, pool);
}

/* Memory of cuMemAlloc may be freed here as well; then the call waits, as cuMemFree does. */
CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct front_stream stream;
    struct front_pointer pointer;
    CUresult rc = front_host.mempool->enter_stream(hStream, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = mempool_leave(dptr != 0 ? mempool_give(dptr, &stream) : CUDA_ERROR_INVALID_VALUE);
    bool other = rc == CUDA_ERROR_INVALID_VALUE && front_host.pointer(dptr, &pointer) &&
                 pointer.device && pointer.pool == NULL;
    return other ? cuMemFree_v2(dptr) : rc;
}

/* ---- pools of devices */

static CUresult device_pool(CUmemoryPool *out, CUdevice device, bool current)
{
    struct mempool *pool;
    CUresult rc = mempool_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (out == NULL) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (!device_there(device)) {
        return mempool_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    rc = current ? mempool_current(device, &pool) : mempool_default(device, &pool);
    if (rc == CUDA_SUCCESS) {
        *out = mempool_handle(pool);
    }
    return mempool_leave(rc);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return device_pool(pool_out, dev, false);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return device_pool(pool, dev, true);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult rc = mempool_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct mempool *found = mempool_of(pool);
    if (!device_there(dev)) {
        return mempool_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    if (found == NULL || found->device != dev || found->imported) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    mempool_set_current(found);
    return mempool_leave(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13000
/* Refuses pools of host and managed memory. */
static CUresult location_check(const CUmemLocation *location, CUmemAllocationType type,
                               const char *call)
{
    if (location == NULL || ((int)type != CU_MEM_ALLOCATION_TYPE_PINNED &&
                             (int)type != CU_MEM_ALLOCATION_TYPE_MANAGED)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return pinned ? CUDA_SUCCESS : front_unsupported(call);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return front_unsupported(call);
    case CU_MEM_LOCATION_TYPE_NONE:
        return pinned ? CUDA_ERROR_INVALID_VALUE : front_unsupported(call);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult location_ready(const CUmemLocation *location, CUmemAllocationType type,
                               const char *call)
{
    CUresult rc = mempool_enter();
    return rc == CUDA_SUCCESS ? mempool_leave(location_check(location, type, call)) : rc;
}

CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                        CUmemAllocationType type)
{
    CUresult rc = location_ready(location, type, "cuMemGetDefaultMemPool of such memory");
    return rc == CUDA_SUCCESS ? device_pool(pool_out, location->id, false) : rc;
}

CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                 CUmemAllocationType type)
{
    CUresult rc = location_ready(location, type, "cuMemGetMemPool of such memory");
    return rc == CUDA_SUCCESS ? device_pool(pool, location->id, true) : rc;
}

CUresult CUDAAPI cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                                 CUmemoryPool pool)
{
    CUresult rc = location_ready(location, type, "cuMemSetMemPool of such memory");
    return rc == CUDA_SUCCESS ? cuDeviceSetMemPool(location->id, pool) : rc;
}
#endif

/* ---- creating and destroying pools */

static CUresult props_check(const CUmemPoolProps *props)
{
    static const unsigned char nothing[sizeof props->reserved];
    if (props == NULL || memcmp(props->reserved, nothing, sizeof nothing) != 0 ||
        props->win32SecurityAttributes != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (props->location.type == CU_MEM_LOCATION_TYPE_HOST ||
        props->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
        return front_unsupported("cuMemPoolCreate of the host's memory");
    }
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_there(props->location.id)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const unsigned types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 |
                           CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC;
    if (((unsigned)props->handleTypes & ~types) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int exported = 0;
    CUresult rc = front_host.device_attribute(
        props->location.id, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, &exported);
    if (rc != CUDA_SUCCESS || ((unsigned)props->handleTypes & ~(unsigned)exported) != 0) {
        return rc != CUDA_SUCCESS ? rc : front_unsupported("cuMemPoolCreate of a pool exported so");
    }
    return props->usage == 0 ? CUDA_SUCCESS
                             : front_unsupported("cuMemPoolCreate for decompression");
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    struct mempool *made;
    CUresult rc = mempool_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pool != NULL ? props_check(poolProps) : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS) {
        rc = mempool_create(poolProps->location.id, poolProps->maxSize, &made);
    }
    if (rc == CUDA_SUCCESS) {
        made->exportable = poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
        *pool = mempool_handle(made);
    }
    return mempool_leave(rc);
}

/* Finds the pool. The lock is held on success. */
static CUresult enter_pool(CUmemoryPool handle, struct mempool **pool)
{
    CUresult rc = mempool_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *pool = mempool_of(handle);
    return *pool != NULL ? CUDA_SUCCESS : mempool_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    struct mempool *found;
    CUresult rc = enter_pool(pool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (found->first) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    mempool_destroy(found);
    return mempool_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    struct mempool *found;
    CUresult rc = enter_pool(pool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    mempool_trim(found, minBytesToKeep);
    return mempool_leave(CUDA_SUCCESS);
}

/* ---- attributes */

static CUresult mempool_attribute_set(struct mempool *pool, CUmemPool_attribute attribute,
                                      const void *value)
{
    int flag;
    uint64_t number;
    memcpy(&flag, value, sizeof flag);
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool->follow = flag != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool->opportunistic = flag != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->internal = flag != 0;
        return CUDA_SUCCESS;
    default:
        break;
    }
    memcpy(&number, value, sizeof number);
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        mempool_set_threshold(pool, number);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        pool->reserved_high = number == 0 ? pool->reserved : pool->reserved_high;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        pool->used_high = number == 0 ? pool->used : pool->used_high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct mempool *found;
    CUresult rc = enter_pool(pool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    return mempool_leave(value != NULL ? mempool_attribute_set(found, attr, value)
                                       : CUDA_ERROR_INVALID_VALUE);
}

static CUresult mempool_attribute_get(const struct mempool *pool, CUmemPool_attribute attribute,
                                      void *value)
{
    const struct {
        CUmemPool_attribute attribute;
        size_t bytes;
        uint64_t value;
    } all[] = {
        {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, sizeof(int), pool->follow},
        {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, sizeof(int), pool->opportunistic},
        {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, sizeof(int), pool->internal},
        {CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, sizeof(cuuint64_t), pool->threshold},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, sizeof(cuuint64_t), pool->reserved},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, sizeof(cuuint64_t), pool->reserved_high},
        {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, sizeof(cuuint64_t), pool->used},
        {CU_MEMPOOL_ATTR_USED_MEM_HIGH, sizeof(cuuint64_t), pool->used_high},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].attribute == attribute) {
            memcpy(value, &all[i].value, all[i].bytes); /* little endian: the low bytes */
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct mempool *found;
    CUresult rc = enter_pool(pool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    return mempool_leave(value != NULL ? mempool_attribute_get(found, attr, value)
                                       : CUDA_ERROR_INVALID_VALUE);
}

/* ---- access by other devices */

static CUresult mempool_access_check(const struct mempool *pool, const CUmemAccessDesc *desc)
{
    bool known = (int)desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                 (int)desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                 (int)desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUdevice by = desc->location.id;
    int peers = 0;
    if (!known || desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_there(by)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (by == pool->device) { /* the pool's device always has access */
        return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = cuDeviceCanAccessPeer(&peers, by, pool->device);
    return rc == CUDA_SUCCESS && peers == 0 ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct mempool *found;
    CUresult rc = enter_pool(pool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (map == NULL) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = mempool_access_check(found, &map[i]);
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        if (map[i].location.id != found->device) {
            rc = mempool_access(found, map[i].location.id, map[i].flags);
        }
    }
    return mempool_leave(rc);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                    CUmemLocation *location)
{
    struct mempool *found;
    CUresult rc = enter_pool(memPool, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !device_there(location->id)) {
        return mempool_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = (CUmemAccess_flags)found->access[location->id];
    return mempool_leave(CUDA_SUCCESS);
}
