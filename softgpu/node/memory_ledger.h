/* SPDX-License-Identifier: Apache-2.0 */
/* Physical allocations as descriptors that other processes import. Such a descriptor is the file of
 * the process's memory, opened once more; its position points to a record that lists the chunks of
 * the allocation. The exporting process need not live any more.
 *
 * Note: nobody counts the descriptors. Each holds a lock of an open file description on its record,
 * which the kernel releases with the last copy of the descriptor, be it in a process or on its way
 * between two. The chunks are in use as long as there is one. */
#ifndef SOFTGPU_NODE_MEMORY_LEDGER_H
#define SOFTGPU_NODE_MEMORY_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct sg_ledger_record {
    uint64_t magic;
    uint64_t node; /* the node of the devices */
    uint8_t uuid[16];
    uint64_t shared; /* the chunks (shared_chunks.h) */
    uint32_t count, unused;
    /* followed by the places of the chunks, 32 bits each */
};

/* Writes a record to *at. GA_NO_MEMORY. */
GA_CHECKED enum ga_status sg_ledger_write(const uint8_t uuid[16], uint64_t shared,
                                          const uint32_t *places, uint32_t count, uint64_t *at);
/* Erases the record. Nobody has a descriptor of it. */
void sg_ledger_erase(uint64_t at, uint32_t count);
/* A descriptor, which the caller owns; -1: the system refuses one. */
int sg_ledger_open(uint64_t at);
/* Whether there is still a descriptor. */
bool sg_ledger_held(uint64_t at);

/* Reads the record of a descriptor, of any process; the caller frees `*places`. GA_INVALID: it is
 * no such descriptor, or one of another node. */
GA_CHECKED enum ga_status sg_ledger_read(int fd, struct sg_ledger_record *share, uint32_t **places);

/* Whether all places lie within a file of another process: one beyond it would be a bus error
 * later.
 */
bool sg_ledger_places_good(const uint32_t *places, uint32_t count, uint64_t file_bytes);

#endif
