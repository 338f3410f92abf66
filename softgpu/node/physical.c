/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of a memfd, and address space to map them into. */
#include "softgpu/node/physical.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softgpu/node/node.h"
#include "softgpu/node/shared_chunks.h"

/* Larger releases return their pages to the machine; smaller ones keep them for reuse. */
#define PUNCH_CHUNKS 32

/* One file for all devices; it stays open. Both variables are under the process's lock. */
static int file = -1;
static uint64_t file_bytes;

/* Appends a part to the file. It is never released, only its pages are. */
static enum ga_status file_grow(uint64_t bytes, uint64_t *base)
{
    if (file < 0) {
        file = memfd_create(SG_PHYSICAL_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    /* A process that maps memory of ours would die of a bus error beyond the end. */
    if (file < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0 ||
        ftruncate(file, (off_t)(file_bytes + bytes)) != 0) {
        return GA_NO_MEMORY;
    }
    *base = file_bytes;
    file_bytes += bytes;
    return GA_OK;
}

static void punch(uint64_t at, uint64_t bytes)
{
    /* A failure costs memory of the machine, nothing else. */
    (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

enum ga_status sg_physical_open(struct sg_physical *memory, struct sg_node_device *node,
                                uint64_t bytes)
{
    uint64_t chunks = bytes / SG_CHUNK_BYTES;
    if (chunks == 0 || chunks > UINT32_MAX) {
        return GA_INVALID;
    }
    uint64_t *taken = calloc((size_t)(chunks + 63) / 64, sizeof *taken);
    uint64_t base;
    if (taken == NULL || file_grow(chunks * SG_CHUNK_BYTES, &base) != GA_OK) {
        free(taken);
        return GA_NO_MEMORY;
    }
    *memory =
        (struct sg_physical){.node = node, .base = base, .total = (uint32_t)chunks, .taken = taken};
    return GA_OK;
}

void sg_physical_close(struct sg_physical *memory)
{
    if (memory->taken != NULL) {
        punch(memory->base, memory->total * SG_CHUNK_BYTES);
        free(memory->taken);
        *memory = (struct sg_physical){0};
    }
}

uint64_t sg_physical_free(const struct sg_physical *memory)
{
    return sg_node_free(memory->node);
}

enum ga_status sg_physical_take(struct sg_physical *memory, uint32_t count, uint32_t *chunks)
{
    GA_TRY(sg_node_take(memory->node, count)); /* so at least that many are free here */
    uint32_t found = 0;
    uint32_t at = memory->hint;
    while (found < count) {
        if (memory->taken[at / 64] == UINT64_MAX) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        uint64_t bit = UINT64_C(1) << (at % 64);
        if (!(memory->taken[at / 64] & bit)) {
            memory->taken[at / 64] |= bit;
            chunks[found++] = at;
        }
        at++;
    }
    memory->hint = at;
    return GA_OK;
}

/* The length of the run of consecutive chunk numbers that begins at `from`. */
static uint32_t chunk_run(const uint32_t *chunks, uint32_t count, uint32_t from)
{
    uint32_t length = 1;
    while (from + length < count && chunks[from + length] == chunks[from] + length) {
        length++;
    }
    return length;
}

void sg_physical_give(struct sg_physical *memory, const uint32_t *chunks, uint32_t count,
                      struct sg_shared_chunks *shared)
{
    for (uint32_t i = 0; i < count; i++) {
        memory->taken[chunks[i] / 64] &= ~(UINT64_C(1) << (chunks[i] % 64));
        if (chunks[i] < memory->hint) {
            memory->hint = chunks[i];
        }
    }
    if (shared != NULL && shared->id != 0) {
        sg_shared_chunks_leave(memory->node, shared);
    } else {
        sg_node_give(memory->node, count);
    }
    if (count < PUNCH_CHUNKS) {
        return;
    }
    for (uint32_t i = 0; i < count;) {
        uint32_t run = chunk_run(chunks, count, i);
        punch(memory->base + chunks[i] * SG_CHUNK_BYTES, run * SG_CHUNK_BYTES);
        i += run;
    }
}

static enum ga_status map_runs(int fd, uint64_t base, const uint32_t *chunks, uint32_t count,
                               uint64_t address)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t run = chunk_run(chunks, count, i);
        void *at = (void *)(uintptr_t)(address + i * SG_CHUNK_BYTES);
        if (mmap(at, run * SG_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                 (off_t)(base + chunks[i] * SG_CHUNK_BYTES)) == MAP_FAILED) {
            sg_space_empty(address, count * SG_CHUNK_BYTES);
            return GA_NO_MEMORY;
        }
        i += run;
    }
    return GA_OK;
}

enum ga_status sg_physical_map(const struct sg_physical *memory, const uint32_t *chunks,
                               uint32_t count, uint64_t address)
{
    return map_runs(file, memory->base, chunks, count, address);
}

enum ga_status sg_physical_grow(uint64_t bytes, uint64_t *at)
{
    return file_grow((bytes + SG_CHUNK_BYTES - 1) / SG_CHUNK_BYTES * SG_CHUNK_BYTES, at);
}

void sg_physical_punch(uint64_t at, uint64_t bytes)
{
    punch(at, (bytes + SG_CHUNK_BYTES - 1) / SG_CHUNK_BYTES * SG_CHUNK_BYTES);
}

int sg_physical_file(void)
{
    return file;
}

uint32_t sg_physical_place(const struct sg_physical *memory, uint32_t chunk)
{
    return (uint32_t)(memory->base / SG_CHUNK_BYTES) + chunk;
}

enum ga_status sg_physical_map_foreign(int fd, const uint32_t *places, uint32_t count,
                                       uint64_t address)
{
    return map_runs(fd, 0, places, count, address);
}

#define SPACE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

enum ga_status sg_space_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment,
                                uint64_t *address)
{
    if (wish != 0 && wish % alignment == 0) {
        void *want = (void *)(uintptr_t)wish;
        void *got = mmap(want, bytes, PROT_NONE, SPACE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == want) {
            *address = wish;
            return GA_OK;
        }
        if (got != MAP_FAILED) { /* the kernel does not know MAP_FIXED_NOREPLACE */
            munmap(got, bytes);
        }
    }
    if (bytes + alignment < bytes) {
        return GA_NO_MEMORY;
    }
    void *got = mmap(NULL, bytes + alignment, PROT_NONE, SPACE_FLAGS, -1, 0);
    if (got == MAP_FAILED) {
        return GA_NO_MEMORY;
    }
    uint64_t low = (uint64_t)(uintptr_t)got;
    uint64_t base = (low + alignment - 1) & ~(alignment - 1);
    if (base > low) {
        sg_space_release(low, base - low);
    }
    if (low + alignment > base) {
        sg_space_release(base + bytes, low + alignment - base);
    }
    *address = base;
    return GA_OK;
}

void sg_space_empty(uint64_t address, uint64_t bytes)
{
    (void)mmap((void *)(uintptr_t)address, bytes, PROT_NONE, SPACE_FLAGS | MAP_FIXED, -1, 0);
}

void sg_space_blank(uint64_t address, uint64_t bytes)
{
    (void)mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE, SPACE_FLAGS | MAP_FIXED,
               -1, 0);
}

void sg_space_release(uint64_t address, uint64_t bytes)
{
    munmap((void *)(uintptr_t)address, bytes);
}
