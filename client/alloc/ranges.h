/* SPDX-License-Identifier: Apache-2.0 */
/* Disjoint address ranges in order: a treap whose nodes the caller owns. Not locked. */
#ifndef CLIENT_ALLOC_RANGES_H
#define CLIENT_ALLOC_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct client_range {
    uint64_t start, bytes; /* bytes > 0; not to be changed while in a map */
    struct client_range *left, *right;
    uint32_t priority;
};

struct client_ranges {
    struct client_range *root;
    uint32_t random;
};

/* False: it overlaps one that is there (and is not inserted). */
bool client_ranges_insert(struct client_ranges *map, struct client_range *range);
void client_ranges_remove(struct client_ranges *map, struct client_range *range);
/* The one that contains the address, or NULL. */
struct client_range *client_ranges_find(const struct client_ranges *map, uint64_t address);
/* The first one that ends behind the address, or NULL. The next one in order is
 * client_ranges_from(map, range->start + range->bytes). */
struct client_range *client_ranges_from(const struct client_ranges *map, uint64_t address);

#endif
