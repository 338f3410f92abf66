/* SPDX-License-Identifier: Apache-2.0 */
/* Physical allocations as descriptors that other processes import. Such a descriptor is the file of
 * the process's memory, opened once more, and its position is where a record says of which chunks
 * the allocation consists: it needs nobody who lives.
 *
 * What a reader would get wrong: nobody counts the descriptors. Each has a lock on its record that
 * is the kernel's (an open file description's), and is gone with the last copy of it, in whichever
 * process or on its way between two. While there is one, the chunks are in use. */
#ifndef SOFTGPU_NODE_MEMORY_LEDGER_H
#define SOFTGPU_NODE_MEMORY_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct sg_share {
    uint64_t magic;
    uint64_t node; /* whose devices are meant */
    uint8_t uuid[16];
    uint32_t count, unused;
    /* followed by the places of the chunks, 32 bits each */
};

/* Writes a record; `*at` is where. GA_NO_MEMORY. */
GA_CHECKED enum ga_status sg_share_write(const uint8_t uuid[16], const uint32_t *places,
                                         uint32_t count, uint64_t *at);
/* Nobody has a descriptor of it: the record goes. */
void sg_share_erase(uint64_t at, uint32_t count);
/* A descriptor, which is the caller's; -1: there is none to be had. */
int sg_share_open(uint64_t at);
/* Whether there is still a descriptor. */
bool sg_share_held(uint64_t at);

/* What a descriptor (of anybody) says; `*places` is the caller's to free. GA_INVALID: it is none of
 * these, or of another node. */
GA_CHECKED enum ga_status sg_share_read(int fd, struct sg_share *share, uint32_t **places);

#endif
