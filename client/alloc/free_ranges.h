/* SPDX-License-Identifier: Apache-2.0 */
/* Free addresses, as ranges; adjacent ones are always merged. Not locked. */
#ifndef CLIENT_ALLOC_FREE_RANGES_H
#define CLIENT_ALLOC_FREE_RANGES_H

#include "client/alloc/ranges.h"

void client_free_ranges_fini(struct client_ranges *ranges);
void client_free_ranges_add(struct client_ranges *ranges, uint64_t start, uint64_t bytes);
/* Takes the first fit, at a multiple of `alignment`, a power of two. False: none fits. */
bool client_free_ranges_take(struct client_ranges *ranges, uint64_t bytes, uint64_t alignment,
                             uint64_t *start);
/* Takes exactly this range. False: not all of it is free. */
bool client_free_ranges_take_at(struct client_ranges *ranges, uint64_t start, uint64_t bytes);

#endif
