/* SPDX-License-Identifier: Apache-2.0 */
/* A slab: units of some size, a bit for each unit in use. Not locked. */
#ifndef CLIENT_ALLOC_SLAB_H
#define CLIENT_ALLOC_SLAB_H

#include <stdbool.h>
#include <stdint.h>

struct client_slab {
    uint32_t unit_bytes, units, used;
    uint32_t longest; /* no free run is longer: may be too large, never too small */
    uint64_t *bits;
    uint32_t
        *bytes; /* by unit: size of the allocation that starts there; 0: none; see SLAB_DRAINING */
};

#define SLAB_DRAINING 0x80000000u /* or-ed into `bytes` while an allocation is being freed */

/* NULL: no memory. */
struct client_slab *client_slab_create(uint32_t units, uint32_t unit_bytes);
void client_slab_destroy(struct client_slab *slab);
/* Takes `bytes`; false: no room. */
bool client_slab_take(struct client_slab *slab, uint32_t bytes, uint32_t *unit);
void client_slab_give(struct client_slab *slab, uint32_t unit);
/* The allocation that contains the unit: its first unit; false: none. */
bool client_slab_find(const struct client_slab *slab, uint32_t unit, uint32_t *first);

#endif
