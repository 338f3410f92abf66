/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, mappings, pinned memory, and the permission map that follows them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/lifetime/context_lifetime.h"
#include "softgpu/lifetime/init.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/host_memory.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/memory/vmm.h"
#include "softgpu/node/memory_ledger.h"
#include "softgpu/process/process.h"

#define MIB ((uint64_t)1 << 20)
#define RW  (SG_MAP_READ | SG_MAP_WRITE)

static struct sg_device *device;

static void setup(void)
{
    cr_assert_eq(sg_process_init_with("name=A,memory=64MiB,sms=2;name=B,memory=8MiB"),
                 CUDA_SUCCESS);
    device = sg_device_at(0);
    sg_lock();
}

static uint64_t free_bytes(void)
{
    return sg_physical_free(&device->memory) * SG_CHUNK_BYTES;
}

static struct sg_range *alloc(uint64_t bytes)
{
    struct sg_range *range = NULL;
    cr_assert_eq(sg_heap_alloc(device, NULL, bytes, &range), CUDA_SUCCESS);
    return range;
}

static bool allowed(unsigned ordinal, uint64_t address, uint64_t bytes, unsigned need)
{
    return sg_map_allows(sg_device_at((CUdevice)ordinal)->map, address, bytes, need);
}

Test(memory, small_allocations_share_a_chunk_and_give_it_back, .init = setup)
{
    struct sg_range *ranges[100];
    for (unsigned i = 0; i < 100; i++) {
        ranges[i] = alloc(1 + i * 37);
        cr_assert_eq(ranges[i]->span.base % SG_ALLOC_ALIGN, 0);
        memset((void *)(uintptr_t)ranges[i]->span.base, (int)i, ranges[i]->span.bytes);
        cr_assert(allowed(0, ranges[i]->span.base, ranges[i]->span.bytes, RW));
        cr_assert_not(allowed(1, ranges[i]->span.base, 1, SG_MAP_READ));
    }
    cr_assert_eq(free_bytes(), 62 * MIB);
    uint64_t base = ranges[0]->span.base;
    for (unsigned i = 0; i < 100; i++) {
        for (uint64_t b = 0; b < ranges[i]->span.bytes; b++) {
            cr_assert_eq(((uint8_t *)(uintptr_t)ranges[i]->span.base)[b], (uint8_t)i);
        }
    }
    for (unsigned i = 0; i < 100; i++) {
        cr_assert(allowed(0, ranges[i]->span.base, 1, RW), "a neighbour's end took it away");
        sg_heap_free(ranges[i]);
    }
    cr_assert_eq(free_bytes(), 64 * MIB);
    cr_assert_not(allowed(0, base, 1, SG_MAP_READ));
}

Test(memory, holes_are_found_again, .init = setup)
{
    struct sg_range *a = alloc(600 << 10), *b = alloc(600 << 10), *c = alloc(600 << 10);
    uint64_t hole = b->span.base;
    sg_heap_free(b);
    struct sg_range *d = alloc(500 << 10);
    cr_assert_eq(d->span.base, hole);
    sg_heap_free(a);
    sg_heap_free(c);
    sg_heap_free(d);
    cr_assert_eq(free_bytes(), 64 * MIB);
}

Test(memory, large_allocations_end_at_the_configured_size, .init = setup)
{
    struct sg_range *range = NULL;
    cr_assert_eq(sg_heap_alloc(device, NULL, 65 * MIB, &range), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(sg_heap_alloc(device, NULL, UINT64_MAX, &range), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(sg_heap_alloc(device, NULL, 0, &range), CUDA_ERROR_INVALID_VALUE);
    struct sg_range *all = alloc(64 * MIB);
    memset((void *)(uintptr_t)all->span.base, 7, 64 * MIB);
    cr_assert_eq(sg_heap_alloc(device, NULL, 1, &range), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_not(allowed(0, all->span.base + 64 * MIB, 1, SG_MAP_READ), "no guard behind it");
    sg_heap_free(all);
    cr_assert_eq(free_bytes(), 64 * MIB);
}

Test(memory, fragmented_chunks_still_serve_a_large_allocation, .init = setup)
{
    struct sg_range *ranges[32];
    for (unsigned i = 0; i < 32; i++) {
        ranges[i] = alloc(2 * MIB);
    }
    for (unsigned i = 0; i < 32; i += 2) {
        sg_heap_free(ranges[i]);
    }
    struct sg_range *big = alloc(32 * MIB);
    memset((void *)(uintptr_t)big->span.base, 1, 32 * MIB);
    for (unsigned i = 1; i < 32; i += 2) {
        sg_heap_free(ranges[i]);
    }
    sg_heap_free(big);
    cr_assert_eq(free_bytes(), 64 * MIB);
}

Test(memory, places_are_told_apart, .init = setup)
{
    struct sg_range *dev = alloc(4096), *host = NULL, *found;
    cr_assert_eq(sg_host_alloc(NULL, 100000, 0, &host), CUDA_SUCCESS);
    char local[16];
    cr_assert_eq(sg_place_of((uintptr_t)local, 16, RW, &found), SG_PLACE_PAGEABLE);
    cr_assert_eq(sg_place_of(dev->span.base + 100, 3996, RW, &found), SG_PLACE_DEVICE);
    cr_assert_eq(found, dev);
    cr_assert_eq(sg_place_of(dev->span.base + 100, 3997, RW, &found), SG_PLACE_WRONG);
    cr_assert_eq(sg_place_of(dev->span.base - 1, 3, RW, &found), SG_PLACE_WRONG);
    cr_assert_eq(sg_place_of(host->span.base + 99999, 1, RW, &found), SG_PLACE_HOST);
    cr_assert_eq(sg_place_of(host->span.base, UINT64_MAX, RW, &found), SG_PLACE_WRONG);
    cr_assert(allowed(0, host->span.base, 100000, RW) && allowed(1, host->span.base, 1, RW));
    sg_host_free(host);
    sg_heap_free(dev);
}

Test(memory, registered_memory_may_lie_anywhere_and_only_once, .init = setup)
{
    char *block = malloc(300000);
    uint64_t at = (uintptr_t)block;
    cr_assert_eq(sg_host_register(NULL, at + 3, 1000, 0), CUDA_SUCCESS);
    cr_assert_eq(sg_host_register(NULL, at + 500, 1000, 0),
                 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    cr_assert_eq(sg_host_register(NULL, at + 2000, 290000, 0), CUDA_SUCCESS);
    cr_assert_eq(sg_host_register(NULL, 4096, 4096, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert(allowed(0, at + 3, 1000, RW));
    sg_host_free(sg_range_find(at + 3));
    cr_assert(allowed(0, at + 2000, 290000, RW), "the neighbour lost its rights");
    sg_host_free(sg_range_find(at + 2000));
    cr_assert_not(allowed(0, at + 2000, 1, SG_MAP_READ));
    free(block);
}

Test(memory, huge_reservations_honour_the_wish, .init = setup)
{
    uint64_t first = 0, second = 0, third = 0;
    const uint64_t bytes = (uint64_t)256 << 30;
    cr_assert_eq(sg_vmm_reserve(0, bytes, 0, &first), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_unreserve(first, bytes), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_reserve(first, bytes, 0, &second), CUDA_SUCCESS);
    cr_assert_eq(second, first, "a free wish is taken");
    cr_assert_eq(sg_vmm_reserve(first, bytes, 0, &third), CUDA_SUCCESS);
    cr_assert_neq(third, first, "a taken wish gives another address");
    cr_assert_eq(third % (2 * MIB), 0);
    cr_assert_eq(sg_vmm_unreserve(first, bytes / 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_unreserve(second, bytes), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_unreserve(third, bytes), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_reserve(0, 4096, 0, &first), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, mappings_follow_their_access, .init = setup)
{
    uint64_t space = 0, handle = 0, other = 0;
    struct sg_range *found;
    cr_assert_eq(sg_vmm_reserve(0, 16 * MIB, 0, &space), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_create(device, 1, &handle), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_create(device, 4 * MIB, &handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_create(device, 2 * MIB, &other), CUDA_SUCCESS);
    cr_assert_eq(free_bytes(), 58 * MIB);
    cr_assert_eq(sg_place_of(space + MIB, 1, RW, &found), SG_PLACE_WRONG, "nothing is mapped");
    cr_assert_eq(sg_vmm_map(space, 4 * MIB, 0, handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space + 2 * MIB, 2 * MIB, 0, other), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_map(space + 4 * MIB, 2 * MIB, 0, other), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space + 15 * MIB, 2 * MIB, 0, other), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_place_of(space, 1, RW, &found), SG_PLACE_WRONG, "no access yet");
    cr_assert_eq(sg_vmm_access(space, 2 * MIB, 0, RW), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_access(space, 6 * MIB, 0, RW), CUDA_SUCCESS);
    cr_assert(allowed(0, space, 6 * MIB, RW));
    cr_assert_not(allowed(1, space, 1, SG_MAP_READ));
    cr_assert_eq(sg_place_of(space + MIB, 5 * MIB, RW, &found), SG_PLACE_DEVICE,
                 "neighbouring mappings count as one");
    memset((void *)(uintptr_t)space, 5, 6 * MIB);
    cr_assert_eq(sg_vmm_access(space, 4 * MIB, 0, SG_MAP_READ), CUDA_SUCCESS);
    cr_assert_eq(sg_place_of(space + MIB, 5 * MIB, RW, &found), SG_PLACE_WRONG);
    cr_assert_eq(sg_vmm_release(handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_release(handle), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(free_bytes(), 58 * MIB, "a mapping keeps its memory");
    cr_assert_eq(sg_vmm_unmap(space, 2 * MIB, false), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_unreserve(space, 16 * MIB), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_unmap(space, 6 * MIB, false), CUDA_SUCCESS);
    cr_assert_not(allowed(0, space, 1, SG_MAP_READ));
    cr_assert_eq(free_bytes(), 62 * MIB);
    cr_assert_eq(sg_vmm_release(other), CUDA_SUCCESS);
    cr_assert_eq(free_bytes(), 64 * MIB);
    cr_assert_eq(sg_vmm_unreserve(space, 16 * MIB), CUDA_SUCCESS);
}

Test(memory, a_mapping_leads_back_to_its_handle, .init = setup)
{
    uint64_t space = 0, handle = 0, again = 0;
    unsigned rights = 99;
    cr_assert_eq(sg_vmm_reserve(0, 4 * MIB, 0, &space), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_create(device, 2 * MIB, &handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_device(handle), device);
    cr_assert_eq(sg_vmm_retain(space, &again), CUDA_ERROR_INVALID_VALUE, "nothing is mapped");
    cr_assert_eq(sg_vmm_map(space, 2 * MIB, 0, handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_rights(space, 0, &rights), CUDA_SUCCESS);
    cr_assert_eq(rights, 0);
    cr_assert_eq(sg_vmm_access(space, 2 * MIB, 0, SG_MAP_READ), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_rights(space + MIB, 0, &rights), CUDA_SUCCESS);
    cr_assert_eq(rights, SG_MAP_READ);
    cr_assert_eq(sg_vmm_rights(space + 2 * MIB, 0, &rights), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_release(handle), CUDA_SUCCESS);
    cr_assert_null(sg_vmm_device(handle));
    cr_assert_eq(sg_vmm_retain(space + MIB, &again), CUDA_SUCCESS, "its mapping keeps it");
    cr_assert_eq(again, handle);
    cr_assert_eq(sg_vmm_unmap(space, 2 * MIB, true), CUDA_SUCCESS);
    cr_assert_eq(*(volatile int *)(uintptr_t)space, 0, "who still looks there finds nothing");
    cr_assert_eq(free_bytes(), 62 * MIB, "and the handle the memory");
    cr_assert_eq(sg_vmm_release(again), CUDA_SUCCESS);
    cr_assert_eq(free_bytes(), 64 * MIB);
    cr_assert_eq(sg_vmm_unreserve(space, 4 * MIB), CUDA_SUCCESS);
}

/* The contents, and the free memory, whichever process frees first. */
Test(memory, an_allocation_lives_while_anybody_has_its_descriptor, .init = setup)
{
    uint64_t space = 0, other = 0, handle = 0, imported = 0, plain = 0;
    int fd = -1, ends[2];
    struct stat facts;
    cr_assert_eq(sg_vmm_reserve(0, 8 * MIB, 0, &space), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_create(device, 2 * MIB, &plain), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_export(plain, &fd), CUDA_ERROR_INVALID_VALUE, "it was not made for that");
    cr_assert_eq(sg_vmm_create(device, 4 * MIB, &handle), CUDA_SUCCESS);
    sg_vmm_allow_export(handle);
    cr_assert_eq(sg_vmm_export(handle, &fd), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space, 4 * MIB, 0, handle), CUDA_SUCCESS);
    memset((void *)(uintptr_t)space, 6, 4 * MIB);
    cr_assert_eq(sg_vmm_unmap(space, 4 * MIB, false), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_release(handle), CUDA_SUCCESS);
    cr_assert_eq(free_bytes(), 58 * MIB, "it is on its way to somebody");
    cr_assert_eq(sg_vmm_create(device, 2 * MIB, &other), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space + 4 * MIB, 2 * MIB, 0, other), CUDA_SUCCESS);
    memset((void *)(uintptr_t)(space + 4 * MIB), 7, 2 * MIB);

    cr_assert_eq(sg_vmm_import(fd, &imported), CUDA_SUCCESS);
    cr_assert_eq(close(fd), 0);
    cr_assert_eq(sg_vmm_device(imported), device);
    cr_assert_eq(sg_vmm_map(space, 4 * MIB, 0, imported), CUDA_SUCCESS);
    cr_assert_eq(*(const char *)(uintptr_t)(space + 3 * MIB), 6);
    sg_vmm_sweep();
    cr_assert_eq(free_bytes(), 56 * MIB);
    cr_assert_eq(sg_vmm_release(imported), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_unmap(space, 4 * MIB, false), CUDA_SUCCESS);
    sg_vmm_sweep();
    cr_assert_eq(free_bytes(), 60 * MIB, "nobody has it any more");

    cr_assert_eq(fstat(sg_physical_file(), &facts), 0);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(sg_vmm_import(ends[0], &imported), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_import(-1, &imported), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(sg_vmm_import(sg_physical_file(), &imported), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(lseek(sg_physical_file(), facts.st_size - 1, SEEK_SET), facts.st_size - 1);
    cr_assert_eq(sg_vmm_import(sg_physical_file(), &imported), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, one_handle_maps_twice, .init = setup)
{
    uint64_t space = 0, handle = 0;
    cr_assert_eq(sg_vmm_reserve(0, 8 * MIB, 0, &space), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_create(device, 2 * MIB, &handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space, 2 * MIB, 0, handle), CUDA_SUCCESS);
    cr_assert_eq(sg_vmm_map(space + 4 * MIB, 2 * MIB, 0, handle), CUDA_SUCCESS);
    *(volatile int *)(uintptr_t)space = 42;
    cr_assert_eq(*(volatile int *)(uintptr_t)(space + 4 * MIB), 42);
}

Test(memory, a_context_takes_what_the_key_says)
{
    struct sg_context *one, *other, *third;
    cr_assert_eq(sg_process_init_with("memory=16MiB,context_memory=5MiB"), CUDA_SUCCESS);
    device = sg_device_at(0);
    sg_lock();
    cr_assert_eq(free_bytes(), 16 * MIB);
    cr_assert_eq(sg_context_make(device, 0, false, &one), CUDA_SUCCESS);
    cr_assert_eq(free_bytes(), 10 * MIB);
    cr_assert_eq(sg_context_make(device, 0, false, &other), CUDA_SUCCESS);
    cr_assert_eq(sg_context_make(device, 0, false, &third), CUDA_ERROR_OUT_OF_MEMORY);
    sg_context_destroy(one);
    cr_assert_eq(free_bytes(), 10 * MIB);
    cr_assert_eq(sg_context_activate(device->primary), CUDA_SUCCESS);
    sg_context_destroy(other);
    sg_context_destroy(device->primary);
    cr_assert_eq(free_bytes(), 16 * MIB);
    sg_unlock();
}

Test(memory, a_file_that_may_get_shorter_is_not_taken, .init = setup)
{
    static const uint8_t uuid[16] = {1};
    const uint32_t place = 0;
    uint64_t at;
    uint32_t *places;
    struct sg_ledger_record record;
    cr_assert_eq(sg_ledger_write(uuid, 1, &place, 1, &at), GA_OK);
    int fd = sg_ledger_open(at), other = memfd_create("softgpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(fd, 0), -1);
    cr_assert_eq(sg_ledger_read(fd, &record, &places), GA_OK);
    free(places);
    cr_assert_eq(pwrite(other, &record, sizeof record, 0), (ssize_t)sizeof record);
    cr_assert_eq(ftruncate(other, 4 * (off_t)MIB), 0);
    cr_assert_eq(sg_ledger_read(other, &record, &places), GA_INVALID);
    cr_assert_eq(fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    cr_assert_eq(sg_ledger_read(other, &record, &places), GA_OK);
    free(places);
    close(other);
    close(fd);
    sg_unlock();
}
