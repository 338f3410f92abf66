/* Addresses that nobody has, as ranges without neighbours. Not locked. */
#ifndef CLIENT_ALLOC_FREE_RANGES_H
#define CLIENT_ALLOC_FREE_RANGES_H

#include "client/alloc/ranges.h"

void client_free_ranges_fini(struct client_ranges *gaps);
void client_free_ranges_add(struct client_ranges *gaps, uint64_t start, uint64_t bytes);
/* The first that fits, at a multiple of `alignment`, a power of two. False: none does. */
bool client_free_ranges_take(struct client_ranges *gaps, uint64_t bytes, uint64_t alignment,
                             uint64_t *start);
/* False: not all of it is there. */
bool client_free_ranges_take_at(struct client_ranges *gaps, uint64_t start, uint64_t bytes);

#endif
