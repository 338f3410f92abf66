/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that devices may access: ours (cuMemHostAlloc, cuMemAllocManaged) or the
 * application's own, registered. Under unified addressing every device reaches it at its host
 * address, whatever the flags say. Therefore managed memory never moves, and prefetching and advice
 * do nothing. */
#include "softgpu/memory/host_memory.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/kept.h"
#include "softgpu/memory/ranges.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "front/front.h"
#include "softgpu/process/process.h"

static struct sg_range *host_range(struct sg_context *context, enum sg_range_kind kind,
                                   unsigned flags)
{
    struct sg_range *range = sg_range_make();
    if (range != NULL) {
        range->kind = kind;
        range->context = context;
        range->host_flags = flags;
        ga_list_init(&range->in_context);
        for (unsigned i = 0; i < sg_process.device_count; i++) {
            range->rights[i] = SG_MAP_READ | SG_MAP_WRITE;
        }
    }
    return range;
}

static CUresult space_alloc(struct sg_context *context, enum sg_range_kind kind, void *wish,
                            uint64_t bytes, unsigned flags, struct sg_range **range)
{
    uint64_t rounded = (bytes + SG_MAP_CHUNK - 1) & ~(SG_MAP_CHUNK - 1);
    if (rounded < bytes || rounded + SG_MAP_CHUNK < rounded) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sg_range *made = host_range(context, kind, flags);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    /* The range has chunks of the permission map of its own: it is aligned to 64 KiB within the
     * mapping. */
    void *space = mmap(wish, rounded + SG_MAP_CHUNK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rounded >= SG_CHUNK_BYTES) {
        (void)madvise(space, rounded + SG_MAP_CHUNK, MADV_HUGEPAGE); /* fewer page faults */
    }
    made->space_base = (uint64_t)(uintptr_t)space;
    made->space_bytes = rounded + SG_MAP_CHUNK;
    made->span.base = (made->space_base + SG_MAP_CHUNK - 1) & ~(SG_MAP_CHUNK - 1);
    made->span.bytes = bytes;
    if (sg_range_enter(made) != GA_OK) {
        munmap(space, made->space_bytes);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *range = made;
    return CUDA_SUCCESS;
}

CUresult sg_host_alloc(struct sg_context *context, uint64_t bytes, unsigned flags,
                       struct sg_range **range)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if ((flags & ~known) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) {
        *range = NULL;
        return CUDA_SUCCESS;
    }
    return space_alloc(context, SG_RANGE_HOST, NULL, bytes, flags, range);
}

/* A backend process forwards these addresses to its application, which needs the same ones free.
 * They are therefore taken where little is mapped: between the windows of device memory and the
 * mappings of Linux. */
static void *managed_wish(void)
{
#if defined(__SANITIZE_THREAD__)
    return NULL; /* that address space does not exist here */
#else
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        return NULL;
    }
    return (void *)(uintptr_t)(UINT64_C(0x400000000000) +
                               (random &
                                UINT64_C(0x0fffffff0000))); /* within 16 TiB, in steps of 64 KiB */
#endif
}

CUresult sg_managed_alloc(struct sg_context *context, uint64_t bytes, struct sg_range **range)
{
    return bytes == 0 ? CUDA_ERROR_INVALID_VALUE
                      : space_alloc(context, SG_RANGE_MANAGED, managed_wish(), bytes, 0, range);
}

/* Takes the space of the range that was at this address; otherwise maps it. */
static CUresult space_place(uint64_t address, uint64_t rounded, struct sg_range *range)
{
    struct sg_range *kept = sg_kept_take(address);
    range->kept = kept != NULL;
    range->space_base = address;
    range->space_bytes = rounded;
    if (kept != NULL && kept->kind == SG_RANGE_MANAGED && kept->span.bytes == range->span.bytes) {
        range->space_base = kept->space_base;
        range->space_bytes = kept->space_bytes;
        free(kept);
        return CUDA_SUCCESS;
    }
    if (kept != NULL) {
        sg_kept_return(kept);
    }
    void *wish = (void *)(uintptr_t)address;
    void *space = mmap(wish, rounded, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (space != MAP_FAILED && space != wish) { /* the kernel does not know MAP_FIXED_NOREPLACE */
        munmap(space, rounded);
    }
    return space == wish ? CUDA_SUCCESS : CUDA_ERROR_ALREADY_ACQUIRED;
}

CUresult sg_managed_alloc_at(uint64_t address, uint64_t bytes, struct sg_range **range)
{
    uint64_t rounded = (bytes + SG_MAP_CHUNK - 1) & ~(SG_MAP_CHUNK - 1);
    if (bytes == 0 || rounded < bytes || address == 0 || address % SG_MAP_CHUNK != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sg_range *made = host_range(NULL, SG_RANGE_MANAGED, 0);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->span = (struct sg_span){.base = address, .bytes = bytes};
    CUresult rc = space_place(address, rounded, made);
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    if (sg_range_enter(made) != GA_OK) {
        sg_host_return(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *range = made;
    return CUDA_SUCCESS;
}

/* Whether every page of the range is mapped: mincore answers ENOMEM otherwise. */
static bool pages_present(uint64_t address, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = address & ~(page - 1);
    uint64_t end = (address + bytes + page - 1) & ~(page - 1);
    unsigned char seen[256];
    while (first < end) {
        uint64_t step = end - first < sizeof seen * page ? end - first : sizeof seen * page;
        if (mincore((void *)(uintptr_t)first, step, seen) != 0) {
            return false;
        }
        first += step;
    }
    return true;
}

CUresult sg_host_register(struct sg_context *context, uint64_t address, uint64_t bytes,
                          unsigned flags)
{
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                           CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (address == 0 || bytes == 0 || address + bytes < address || (flags & ~known) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((flags & (CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)) != 0) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const struct sg_range *there = sg_range_find(address);
    bool device = there != NULL && (there->device != NULL || there->kind == SG_RANGE_MANAGED);
    if (address + bytes > UINT64_C(1) << SG_ADDRESS_BITS || device ||
        !pages_present(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sg_range *made = host_range(context, SG_RANGE_REGISTERED, flags);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->span = (struct sg_span){.base = address, .bytes = bytes};
    enum ga_status status = sg_range_enter(made);
    if (status != GA_OK) {
        free(made);
        return status == GA_INVALID ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                    : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

void sg_host_return(struct sg_range *range)
{
    if (range->kind != SG_RANGE_REGISTERED) {
        munmap((void *)(uintptr_t)range->space_base, range->space_bytes);
    }
    free(range);
}

void sg_host_free(struct sg_range *range)
{
    sg_range_leave(range);
    ga_list_remove(&range->in_context);
    if (range->kind == SG_RANGE_MANAGED) {
        front_advice_forget(range->span.base, sg_span_end(&range->span));
    }
    if (!sg_kept_store(range)) {
        sg_host_return(range);
    }
}
