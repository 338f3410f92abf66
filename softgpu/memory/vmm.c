/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: reservations (address space), physical allocations (chunks with a
 * handle), mappings (ranges). A physical allocation lives as long as its handle or a mapping. */
#include "softgpu/memory/vmm.h"

#include "softgpu/memory/ranges.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/front.h"
#include "softgpu/node/memory_ledger.h"
#include "softgpu/node/shared_chunks.h"
#include "softgpu/process/process.h"

struct sg_reservation {
    struct sg_span span; /* first */
};

struct sg_allocation {
    struct sg_device *device;
    uint32_t count;
    unsigned holds; /* of the handle: after the last cuMemRelease it lives on in its mappings */
    unsigned mappings;
    uint64_t handle;
    bool exportable;
    uint64_t record; /* its offset (memory_ledger.h); 0: never exported */
    struct sg_shared_chunks shared;
    int foreign;              /* the descriptor if it belongs to another process; otherwise -1 */
    struct ga_list lingering; /* links it in sg_memory.lingering */
    uint32_t chunks[];        /* foreign: places in the file of that process */
};

static bool whole_chunks(uint64_t value)
{
    return value % SG_CHUNK_BYTES == 0;
}

CUresult sg_vmm_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *address)
{
    alignment = alignment != 0 ? alignment : SG_CHUNK_BYTES;
    if (bytes == 0 || !whole_chunks(bytes) || (alignment & (alignment - 1)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    alignment = alignment < SG_CHUNK_BYTES ? SG_CHUNK_BYTES : alignment;
    struct sg_reservation *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->span.bytes = bytes;
    if (sg_space_reserve(wish, bytes, alignment, &made->span.base) != GA_OK) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (sg_spans_insert(&sg_memory.reservations, &made->span) != GA_OK) {
        sg_space_release(made->span.base, bytes);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = made->span.base;
    return CUDA_SUCCESS;
}

/* Whether a mapping overlaps [address, address + bytes). */
static bool has_ranges(uint64_t address, uint64_t bytes)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    size_t i = sg_spans_index(ranges, address);
    return i < ranges->count && ranges->items[i]->base < address + bytes;
}

CUresult sg_vmm_unreserve(uint64_t address, uint64_t bytes)
{
    struct sg_span *span = sg_spans_find(&sg_memory.reservations, address);
    if (span == NULL || span->base != address || span->bytes != bytes ||
        has_ranges(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sg_spans_remove(&sg_memory.reservations, span);
    sg_space_release(address, bytes);
    free(ga_container(span, struct sg_reservation, span));
    return CUDA_SUCCESS;
}

/* Makes an allocation; the caller fills in the chunks. */
static struct sg_allocation *allocation_make(struct sg_device *device, uint32_t count)
{
    struct sg_allocation *made = calloc(1, sizeof *made + count * sizeof made->chunks[0]);
    if (made == NULL) {
        return NULL;
    }
    made->device = device;
    made->holds = 1;
    made->count = count;
    made->foreign = -1;
    ga_list_init(&made->lingering);
    if (ga_handle_table_make(&sg_memory.allocations, made, &made->handle) != GA_OK) {
        free(made);
        return NULL;
    }
    return made;
}

CUresult sg_vmm_create(struct sg_device *device, uint64_t bytes, uint64_t *handle)
{
    if (bytes == 0 || !whole_chunks(bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t count = bytes / SG_CHUNK_BYTES;
    if (count > device->memory.total) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sg_vmm_sweep();
    struct sg_allocation *made = allocation_make(device, (uint32_t)count);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    enum ga_status status = sg_physical_take(&device->memory, made->count, made->chunks);
    if (status != GA_OK) { /* pools may hold memory that they do not use */
        (void)front_mempool_release((CUdevice)device->ordinal);
        status = sg_physical_take(&device->memory, made->count, made->chunks);
    }
    if (status != GA_OK) {
        ga_handle_table_remove(&sg_memory.allocations, made->handle);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = made->handle;
    return CUDA_SUCCESS;
}

static struct sg_allocation *allocation_find(uint64_t handle)
{
    struct sg_allocation *found = ga_handle_table_find(&sg_memory.allocations, handle);
    return found != NULL && found->holds != 0 ? found : NULL;
}

static void allocation_free(struct sg_allocation *allocation)
{
    if (allocation->record != 0) {
        sg_ledger_erase(allocation->record, allocation->count);
    }
    sg_physical_give(&allocation->device->memory, allocation->chunks, allocation->count,
                     &allocation->shared);
    free(allocation);
}

static void allocation_drop(struct sg_allocation *allocation)
{
    if (allocation->holds != 0 || allocation->mappings != 0) {
        return;
    }
    ga_handle_table_remove(&sg_memory.allocations, allocation->handle);
    if (allocation->foreign >= 0) {
        close(allocation->foreign);
        sg_shared_chunks_leave(allocation->device->node, &allocation->shared);
        free(allocation);
    } else if (allocation->record != 0 && sg_ledger_held(allocation->record)) {
        sg_shared_chunks_linger(allocation->device->node, &allocation->shared);
        ga_list_append(&sg_memory.lingering, &allocation->lingering);
    } else {
        allocation_free(allocation);
    }
}

void sg_vmm_sweep(void)
{
    ga_list_each (at, following, &sg_memory.lingering) {
        struct sg_allocation *allocation = ga_container(at, struct sg_allocation, lingering);
        if (!sg_ledger_held(allocation->record)) {
            ga_list_remove(at);
            allocation_free(allocation);
        }
    }
}

uint64_t sg_vmm_lingering(const struct sg_device *device)
{
    uint64_t chunks = 0;
    ga_list_each (at, following, &sg_memory.lingering) {
        const struct sg_allocation *allocation = ga_container(at, struct sg_allocation, lingering);
        chunks += allocation->device == device ? allocation->count : 0;
    }
    return chunks * SG_CHUNK_BYTES;
}

/* ---- other processes ---- */

void sg_vmm_allow_export(uint64_t handle)
{
    struct sg_allocation *allocation = allocation_find(handle);
    if (allocation != NULL) {
        allocation->exportable = true;
    }
}

bool sg_vmm_exportable(uint64_t handle)
{
    const struct sg_allocation *allocation = allocation_find(handle);
    return allocation != NULL && allocation->exportable;
}

static enum ga_status vmm_record_write(struct sg_allocation *allocation)
{
    if (allocation->shared.id == 0) {
        GA_TRY(sg_shared_chunks_make(allocation->device->node, allocation->count,
                                     &allocation->shared));
    }
    uint32_t *places = malloc(allocation->count * sizeof *places);
    if (places == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = 0; i < allocation->count; i++) {
        places[i] = sg_physical_place(&allocation->device->memory, allocation->chunks[i]);
    }
    enum ga_status status = sg_ledger_write(allocation->device->config.uuid, allocation->shared.id,
                                            places, allocation->count, &allocation->record);
    free(places);
    return status;
}

CUresult sg_vmm_export(uint64_t handle, int *fd)
{
    struct sg_allocation *allocation = allocation_find(handle);
    if (allocation == NULL || !allocation->exportable) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (allocation->foreign < 0 && allocation->record == 0 &&
        vmm_record_write(allocation) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *fd = allocation->foreign >= 0 ? fcntl(allocation->foreign, F_DUPFD_CLOEXEC, 0)
                                   : sg_ledger_open(allocation->record);
    return *fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Makes an allocation of what the descriptor stands for. */
static CUresult vmm_adopt(struct sg_device *device, const struct sg_ledger_record *share,
                          const uint32_t *places, int fd, uint64_t *handle)
{
    struct sg_shared_chunks shared;
    sg_vmm_sweep();
    if (sg_shared_chunks_join(device->node, share->shared, share->count, &shared) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct sg_allocation *made = own >= 0 ? allocation_make(device, share->count) : NULL;
    if (made == NULL) {
        sg_shared_chunks_leave(device->node, &shared);
        if (own >= 0) {
            close(own);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->foreign = own;
    made->shared = shared;
    made->exportable = true;
    memcpy(made->chunks, places, share->count * sizeof *places);
    *handle = made->handle;
    return CUDA_SUCCESS;
}

CUresult sg_vmm_import(int fd, uint64_t *handle)
{
    struct sg_ledger_record share;
    uint32_t *places;
    enum ga_status status = sg_ledger_read(fd, &share, &places);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sg_device *device = sg_device_of_uuid(share.uuid);
    CUresult rc =
        device != NULL ? vmm_adopt(device, &share, places, fd, handle) : CUDA_ERROR_INVALID_DEVICE;
    free(places);
    return rc;
}

/* ---- mappings ---- */

CUresult sg_vmm_release(uint64_t handle)
{
    struct sg_allocation *allocation = allocation_find(handle);
    if (allocation == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    allocation->holds--;
    allocation_drop(allocation);
    return CUDA_SUCCESS;
}

CUresult sg_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle)
{
    struct sg_allocation *allocation = allocation_find(handle);
    struct sg_span *space = sg_spans_find(&sg_memory.reservations, address);
    if (allocation == NULL || space == NULL || offset != 0 || bytes == 0 ||
        !whole_chunks(address) || !whole_chunks(bytes) ||
        bytes > allocation->count * SG_CHUNK_BYTES || bytes > sg_span_end(space) - address ||
        has_ranges(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sg_range *range = sg_range_make();
    if (range == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->span = (struct sg_span){.base = address, .bytes = bytes};
    range->kind = SG_RANGE_MAPPED;
    range->device = allocation->device;
    range->allocation = allocation;
    ga_list_init(&range->in_context);
    uint32_t count = (uint32_t)(bytes / SG_CHUNK_BYTES);
    if (sg_range_enter(range) != GA_OK) {
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    enum ga_status status =
        allocation->foreign >= 0
            ? sg_physical_map_foreign(allocation->foreign, allocation->chunks, count, address)
            : sg_physical_map(&allocation->device->memory, allocation->chunks, count, address);
    if (status != GA_OK) {
        sg_range_leave(range);
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->mappings++;
    return CUDA_SUCCESS;
}

/* Whether [address, address + bytes) consists of whole mappings without gaps. `*first` is the index
 * of the first. */
static bool whole_mappings(uint64_t address, uint64_t bytes, size_t *first)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    uint64_t at = address;
    *first = sg_spans_index(ranges, address);
    if (bytes == 0 || address + bytes < address) {
        return false;
    }
    for (size_t i = *first; at < address + bytes; i++) {
        if (i == ranges->count || ranges->items[i]->base != at ||
            ((const struct sg_range *)ranges->items[i])->kind != SG_RANGE_MAPPED) {
            return false;
        }
        at = sg_span_end(ranges->items[i]);
    }
    return at == address + bytes;
}

CUresult sg_vmm_unmap(uint64_t address, uint64_t bytes, bool used)
{
    size_t first;
    if (!whole_mappings(address, bytes, &first)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct sg_spans *ranges = &sg_memory.ranges;
    while (first < ranges->count && ranges->items[first]->base < address + bytes) {
        struct sg_range *range = (struct sg_range *)ranges->items[first];
        sg_range_leave(range);
        if (used) {
            sg_space_blank(range->span.base, range->span.bytes);
        } else {
            sg_space_empty(range->span.base, range->span.bytes);
        }
        range->allocation->mappings--;
        allocation_drop(range->allocation);
        free(range);
    }
    return CUDA_SUCCESS;
}

CUresult sg_vmm_access(uint64_t address, uint64_t bytes, unsigned ordinal, unsigned rights)
{
    size_t first;
    if (!whole_mappings(address, bytes, &first)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct sg_spans *ranges = &sg_memory.ranges;
    for (size_t i = first; i < ranges->count && ranges->items[i]->base < address + bytes; i++) {
        struct sg_range *range = (struct sg_range *)ranges->items[i];
        if (sg_range_set_rights(range, ordinal, rights) != GA_OK) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

static struct sg_range *vmm_mapping_at(uint64_t address)
{
    struct sg_range *range = sg_range_find(address);
    return range != NULL && range->kind == SG_RANGE_MAPPED ? range : NULL;
}

CUresult sg_vmm_retain(uint64_t address, uint64_t *handle)
{
    struct sg_range *range = vmm_mapping_at(address);
    if (range == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    range->allocation->holds++;
    *handle = range->allocation->handle;
    return CUDA_SUCCESS;
}

CUresult sg_vmm_rights(uint64_t address, unsigned ordinal, unsigned *rights)
{
    const struct sg_range *range = vmm_mapping_at(address);
    if (range == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *rights = range->rights[ordinal];
    return CUDA_SUCCESS;
}

const struct sg_device *sg_vmm_device(uint64_t handle)
{
    const struct sg_allocation *allocation = allocation_find(handle);
    return allocation != NULL ? allocation->device : NULL;
}
