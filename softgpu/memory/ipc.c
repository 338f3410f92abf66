/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of other processes of the node. The exporter writes a record of the allocation to
 * an anonymous file: the chunks of its memory file that the allocation consists of. The importer
 * opens both files through /proc, as processes of the same user may, and maps the chunks. The
 * kernel keeps the pages as long as a process maps them, so the exporter's death takes nothing
 * away. */
#include "softgpu/memory/ipc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/node/memory_file.h"
#include "softgpu/node/memory_ledger.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"

#define EXPORTS_FILE "softgpu-exports"

struct record {
    uint64_t key;    /* random; 0: the memory is freed */
    uint64_t shared; /* the chunks (shared_chunks.h) */
    uint8_t uuid[16];
    uint64_t offset, bytes; /* of the allocation within its chunks */
    uint32_t count, unused;
    /* followed by the places of the chunks, 32 bits each */
};

/* The file of records, under the process's lock; -1: not made yet. */
static int exports = -1;
static uint64_t exports_end;

static bool ipc_write(const void *bytes, size_t size, uint64_t at)
{
    return pwrite(exports, bytes, size, (off_t)at) == (ssize_t)size;
}

static bool exports_open(void)
{
    if (exports < 0) {
        exports = memfd_create(EXPORTS_FILE, MFD_CLOEXEC);
    }
    return exports >= 0;
}

static bool ipc_record_write(struct sg_range *range, struct record *record)
{
    uint64_t base;
    const uint32_t *chunks = sg_heap_chunks(range, &record->count, &base);
    struct sg_shared_chunks *shared = sg_heap_shared(range);
    if (shared->id == 0 &&
        sg_shared_chunks_make(range->device->node, record->count, shared) != GA_OK) {
        return false;
    }
    record->shared = shared->id;
    uint32_t *places = malloc(record->count * sizeof *places);
    if (places == NULL || !exports_open()) {
        free(places);
        return false;
    }
    for (uint32_t i = 0; i < record->count; i++) {
        places[i] = sg_physical_place(&range->device->memory, chunks[i]);
    }
    memcpy(record->uuid, range->device->config.uuid, sizeof record->uuid);
    record->offset = range->span.base - base;
    record->bytes = range->span.bytes;
    bool written = ipc_write(record, sizeof *record, exports_end) &&
                   ipc_write(places, record->count * sizeof *places, exports_end + sizeof *record);
    free(places);
    if (written) {
        range->exported = exports_end + 1;
        exports_end += sizeof *record + record->count * sizeof *places;
    }
    return written;
}

CUresult sg_ipc_export(struct sg_range *range, struct sg_ipc_handle *handle)
{
    struct record record = {0};
    if (range->exported == 0) {
        bool made = getrandom(&record.key, sizeof record.key, 0) == (ssize_t)sizeof record.key;
        record.key += record.key == 0;
        if (!made || !ipc_record_write(range, &record)) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    } else if (pread(exports, &record, sizeof record, (off_t)(range->exported - 1)) !=
               (ssize_t)sizeof record) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (struct sg_ipc_handle){.kind = SG_IPC_MEMORY,
                                     .pid = getpid(),
                                     .node = sg_node_id(),
                                     .at = range->exported - 1,
                                     .key = record.key,
                                     .fd = exports,
                                     .memory_fd = sg_physical_file()};
    return CUDA_SUCCESS;
}

void sg_ipc_withdraw(struct sg_range *range)
{
    const uint64_t none = 0;
    if (range->exported != 0) {
        (void)ipc_write(&none, sizeof none, range->exported - 1 + offsetof(struct record, key));
        range->exported = 0;
    }
}

/* ---- importing ---- */

struct source {
    int memory, exports;
    struct record record;
    uint32_t *places; /* owned */
};

static void source_close(struct source *source)
{
    close(source->memory);
    close(source->exports);
    free(source->places);
}

static bool source_good(const struct source *source)
{
    const struct record *record = &source->record;
    const uint64_t all = record->count * SG_CHUNK_BYTES;
    struct stat facts;
    return sg_memory_file_keeps_length(source->memory) && fstat(source->memory, &facts) == 0 &&
           record->offset <= all && record->bytes <= all - record->offset &&
           sg_ledger_places_good(source->places, record->count, (uint64_t)facts.st_size);
}

static bool places_read(struct source *source, uint64_t at)
{
    size_t size = source->record.count * sizeof *source->places;
    source->places = malloc(size);
    return source->places != NULL &&
           pread(source->exports, source->places, size, (off_t)(at + sizeof source->record)) ==
               (ssize_t)size &&
           source_good(source);
}

static bool source_open(const struct sg_ipc_handle *handle, struct source *source)
{
    *source = (struct source){.memory = -1, .exports = -1};
    source->exports = sg_memory_file_open(handle->pid, handle->fd, EXPORTS_FILE, O_RDONLY);
    source->memory = sg_memory_file_open(handle->pid, handle->memory_fd, SG_PHYSICAL_FILE, O_RDWR);
    struct record *record = &source->record;
    bool right = source->exports >= 0 && source->memory >= 0 && handle->key != 0 &&
                 pread(source->exports, record, sizeof *record, (off_t)handle->at) ==
                     (ssize_t)sizeof *record &&
                 record->key == handle->key && places_read(source, handle->at);
    if (!right) {
        source_close(source);
    }
    return right;
}

static struct sg_range *imported_already(struct sg_context *context, uint64_t key)
{
    ga_list_each (at, following, &context->ranges) {
        struct sg_range *range = ga_container(at, struct sg_range, in_context);
        if (range->kind == SG_RANGE_IMPORTED && range->opened_key == key) {
            return range;
        }
    }
    return NULL;
}

/* Maps it for the device `by` alone, whichever device the memory is of. `context` may be NULL. */
static CUresult source_map(struct sg_context *context, const struct sg_device *by,
                           const struct source *source, struct sg_range **out)
{
    const struct record *record = &source->record;
    struct sg_device *device = sg_device_of_uuid(record->uuid);
    if (device == NULL) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    struct sg_range *range = sg_range_make();
    if (range == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->kind = SG_RANGE_IMPORTED;
    range->device = device;
    range->context = context;
    range->rights[by->ordinal] = SG_MAP_READ | SG_MAP_WRITE;
    range->opened_key = record->key;
    range->opens = 1;
    range->space_bytes = (record->count + UINT64_C(1)) * SG_CHUNK_BYTES;
    ga_list_init(&range->in_context);
    if (sg_shared_chunks_join(device->node, record->shared, record->count, &range->shared) !=
        GA_OK) {
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (sg_space_reserve(0, range->space_bytes, SG_CHUNK_BYTES, &range->space_base) != GA_OK) {
        sg_shared_chunks_leave(device->node, &range->shared);
        free(range);
        return CUDA_ERROR_MAP_FAILED;
    }
    range->span.base = range->space_base + record->offset;
    range->span.bytes = record->bytes;
    if (sg_physical_map_foreign(source->memory, source->places, record->count, range->space_base) !=
            GA_OK ||
        sg_range_enter(range) != GA_OK) {
        sg_space_release(range->space_base, range->space_bytes);
        sg_shared_chunks_leave(device->node, &range->shared);
        free(range);
        return CUDA_ERROR_MAP_FAILED;
    }
    if (context != NULL) {
        ga_list_append(&context->ranges, &range->in_context);
    }
    *out = range;
    return CUDA_SUCCESS;
}

CUresult sg_ipc_import(struct sg_context *context, const struct sg_ipc_handle *handle,
                       struct sg_range **range)
{
    if (handle->kind != SG_IPC_MEMORY || handle->node != sg_node_id()) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (handle->pid == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct sg_range *already = imported_already(context, handle->key);
    if (already != NULL) {
        already->opens++;
        *range = already;
        return CUDA_SUCCESS;
    }
    struct source source;
    if (!source_open(handle, &source)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult rc = source_map(context, context->device, &source, range);
    source_close(&source);
    return rc;
}

CUresult sg_ipc_import_pooled(struct sg_device *device, const struct sg_ipc_handle *handle,
                              struct sg_range **range)
{
    struct source source;
    if (handle->kind != SG_IPC_MEMORY || handle->node != sg_node_id() || handle->pid == getpid() ||
        !source_open(handle, &source)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = device != NULL && sg_device_of_uuid(source.record.uuid) == device
                      ? source_map(NULL, device, &source, range)
                      : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS) {
        (*range)->pooled = true;
    }
    source_close(&source);
    return rc;
}
