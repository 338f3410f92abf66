/* SPDX-License-Identifier: Apache-2.0 */
/* The permission map: which bytes of the process a kernel may access, in chunks of 64 KiB. The
 * owner (driver half) writes it under its own lock; executors read it without one. Taking rights
 * away while a kernel that uses the memory runs is the owner's race, as on hardware. */
#ifndef SOFTGPU_ENGINE_PERMISSION_MAP_H
#define SOFTGPU_ENGINE_PERMISSION_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SG_MAP_READ = 1, SG_MAP_WRITE = 2 };

#define SG_ADDRESS_BITS  47
#define SG_MAP_CHUNK     ((uint64_t)65536)
#define SG_MAP_LEAF_BITS 36 /* one leaf describes 64 GiB */
#define SG_MAP_LEAVES    (1u << (SG_ADDRESS_BITS - SG_MAP_LEAF_BITS))

struct sg_map {
    /* NULL: nothing of these 64 GiB may be accessed. Otherwise one byte of rights per chunk. Leaves
     * are made on demand and live as long as the map. */
    _Atomic(_Atomic uint8_t *) leaf[SG_MAP_LEAVES];
};

/* NULL: no memory. */
struct sg_map *sg_map_create(void);
void sg_map_destroy(struct sg_map *map);

/* Sets the rights (0 = none) of `bytes` from `address`, both multiples of SG_MAP_CHUNK, below
 * 2^47. GA_INVALID otherwise; GA_NO_MEMORY: nothing changed. One writer at a time. */
enum ga_status sg_map_set(struct sg_map *map, uint64_t address, uint64_t bytes, unsigned rights);

/* The rights byte of the chunk that holds `address`; 0 beyond the address space. */
static inline unsigned sg_map_rights(const struct sg_map *map, uint64_t address)
{
    if (address >> SG_ADDRESS_BITS) {
        return 0;
    }
    _Atomic uint8_t *leaf =
        atomic_load_explicit(&map->leaf[address >> SG_MAP_LEAF_BITS], memory_order_acquire);
    if (leaf == NULL) {
        return 0;
    }
    uint64_t chunk = (address & ((UINT64_C(1) << SG_MAP_LEAF_BITS) - 1)) / SG_MAP_CHUNK;
    return atomic_load_explicit(&leaf[chunk], memory_order_relaxed);
}

/* Whether all `bytes` (at least 1) from `address` may be accessed with every right in `need`. */
static inline bool sg_map_allows(const struct sg_map *map, uint64_t address, uint64_t bytes,
                                 unsigned need)
{
    uint64_t last = address + bytes - 1;
    if (last < address || (sg_map_rights(map, address) & need) != need) {
        return false;
    }
    for (uint64_t at = (address | (SG_MAP_CHUNK - 1)) + 1; at <= last; at += SG_MAP_CHUNK) {
        if ((sg_map_rights(map, at) & need) != need) {
            return false;
        }
    }
    return true;
}

#endif
