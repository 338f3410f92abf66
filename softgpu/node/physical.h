/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one software GPU: a part of an anonymous file (one file for all GPUs of the
 * process, since descriptors are few), allocated in chunks of 2 MiB. It has no addresses of its
 * own: chunks are mapped at the addresses of an allocation, at several at once if need be. The node
 * decides how many chunks are left, for all processes together; the contents are each process's
 * own, so the content of a chunk may survive its release. */
#ifndef SOFTGPU_NODE_PHYSICAL_H
#define SOFTGPU_NODE_PHYSICAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SG_PHYSICAL_FILE "softgpu" /* its name */
#define SG_CHUNK_BYTES   ((uint64_t)2 << 20)

struct sg_node_device;
struct sg_shared_chunks;

struct sg_physical {
    struct sg_node_device *node; /* knows how many chunks each process holds */
    uint64_t base;               /* the offset of its part of the file */
    uint32_t total;              /* chunks */
    uint64_t *taken;             /* one bit per chunk: those that this process holds */
    uint32_t hint;               /* this process holds all chunks below it */
};

/* `bytes` is rounded down to whole chunks, at least one. */
GA_CHECKED enum ga_status sg_physical_open(struct sg_physical *memory, struct sg_node_device *node,
                                           uint64_t bytes);
/* Chunks that no process holds. */
uint64_t sg_physical_free(const struct sg_physical *memory);
void sg_physical_close(struct sg_physical *memory);
/* Takes `count` chunks, the lowest free ones, and writes their numbers. GA_NO_MEMORY: fewer are
 * free, none is taken. */
GA_CHECKED enum ga_status sg_physical_take(struct sg_physical *memory, uint32_t count,
                                           uint32_t *chunks);
/* `shared`: the hold if others may have them, too (shared_chunks.h), or NULL. */
void sg_physical_give(struct sg_physical *memory, const uint32_t *chunks, uint32_t count,
                      struct sg_shared_chunks *shared);
/* Maps the chunks side by side at `address` (2 MiB aligned, the caller's own address space). */
GA_CHECKED enum ga_status sg_physical_map(const struct sg_physical *memory, const uint32_t *chunks,
                                          uint32_t count, uint64_t address);

/* sg_physical_grow appends `bytes` to the file; sg_physical_punch frees the pages of such a part,
 * whose offsets are never used again. */
GA_CHECKED enum ga_status sg_physical_grow(uint64_t bytes, uint64_t *at);
void sg_physical_punch(uint64_t at, uint64_t bytes);
/* The file, and the position of a chunk in it, in chunks: another process needs both to map it. */
int sg_physical_file(void);
uint32_t sg_physical_place(const struct sg_physical *memory, uint32_t chunk);
/* Maps chunks of another process's file, given by their places in it. */
GA_CHECKED enum ga_status sg_physical_map_foreign(int fd, const uint32_t *places, uint32_t count,
                                                  uint64_t address);

/* Reserves address space without memory: `bytes` (whole chunks) at a multiple of `alignment` (a
 * power of two, at least a chunk). `wish` is taken if it is free, otherwise another address; 0: no
 * wish. */
GA_CHECKED enum ga_status sg_space_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment,
                                           uint64_t *address);
/* Unmaps everything there and keeps the address space reserved. */
void sg_space_empty(uint64_t address, uint64_t bytes);
/* As sg_space_empty, but reads give 0 and writes are discarded. */
void sg_space_blank(uint64_t address, uint64_t bytes);
void sg_space_release(uint64_t address, uint64_t bytes);

#endif
