/* SPDX-License-Identifier: Apache-2.0 */
/* The permission map. Leaves are 1 MiB of zero pages each, so an empty one costs address space
 * only. They live as long as the map, because executors read them without a lock. */
#include "softgpu/engine/permission_map.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LEAF_BYTES ((size_t)1 << (SG_MAP_LEAF_BITS - 16))

struct sg_map *sg_map_create(void)
{
    return calloc(1, sizeof(struct sg_map));
}

void sg_map_destroy(struct sg_map *map)
{
    if (map == NULL) {
        return;
    }
    for (size_t i = 0; i < SG_MAP_LEAVES; i++) {
        _Atomic uint8_t *leaf = atomic_load(&map->leaf[i]);
        if (leaf != NULL) {
            munmap((void *)leaf, LEAF_BYTES);
        }
    }
    free(map);
}

static enum ga_status leaf_make(struct sg_map *map, uint64_t index)
{
    if (atomic_load(&map->leaf[index]) != NULL) {
        return GA_OK;
    }
    void *leaf = mmap(NULL, LEAF_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (leaf == MAP_FAILED) {
        return GA_NO_MEMORY;
    }
    atomic_store_explicit(&map->leaf[index], leaf, memory_order_release);
    return GA_OK;
}

enum ga_status sg_map_set(struct sg_map *map, uint64_t address, uint64_t bytes, unsigned rights)
{
    if (address % SG_MAP_CHUNK || bytes % SG_MAP_CHUNK || rights > (SG_MAP_READ | SG_MAP_WRITE) ||
        address + bytes < address || address + bytes > (UINT64_C(1) << SG_ADDRESS_BITS)) {
        return GA_INVALID;
    }
    uint64_t end = address + bytes;
    if (rights && bytes) {
        uint64_t last = (end - 1) >> SG_MAP_LEAF_BITS;
        for (uint64_t leaf = address >> SG_MAP_LEAF_BITS; leaf <= last; leaf++) {
            GA_TRY(leaf_make(map, leaf));
        }
    }
    uint64_t leaf_mask = (UINT64_C(1) << SG_MAP_LEAF_BITS) - 1;
    for (uint64_t at = address; at < end; at += SG_MAP_CHUNK) {
        _Atomic uint8_t *leaf = atomic_load(&map->leaf[at >> SG_MAP_LEAF_BITS]);
        if (leaf == NULL) {
            at |= leaf_mask & ~(SG_MAP_CHUNK - 1); /* no rights to take away in this leaf */
            continue;
        }
        atomic_store_explicit(&leaf[(at & leaf_mask) / SG_MAP_CHUNK], (uint8_t)rights,
                              memory_order_relaxed);
    }
    return GA_OK;
}
