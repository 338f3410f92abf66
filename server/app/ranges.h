/* SPDX-License-Identifier: Apache-2.0 */
/* The device memory that an application may name: what it has mapped, and the variables of its
 * modules. Sorted by address, looked up by bisection. */
#ifndef SERVER_APP_RANGES_H
#define SERVER_APP_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct server_physical;

#define RANGES_MAX 262144u /* per application; 2 MiB each are half a terabyte */

struct range {
    uint64_t base, bytes;
    const void *owner;          /* context of a mapping, module of a variable */
    bool mapped;                /* else it is a variable of a module */
    bool allocated;             /* of a mapping: by cuMemAlloc, where there is no window */
    uint64_t physical;          /* of another mapping: the driver's allocation handle */
    struct server_physical *of; /* of a mapping that the program has made: of what; else NULL */
    bool shared;                /* other applications may have been let have it */
    bool opened;                /* it is another application's */
    uint64_t opening;           /* of what is opened: see struct channel_request */
    uint16_t session;
};

struct range_table {
    struct range *items; /* ascending, none overlaps another */
    size_t count, capacity;
};

void range_table_fini(struct range_table *table);
/* GA_INVALID: empty, wraps around, or overlaps one that is there. GA_NO_MEMORY: also at
 * RANGES_MAX. */
GA_CHECKED enum ga_status range_table_add(struct range_table *table, const struct range *range);
/* Whether [address, address + bytes) lies within one range, or within mappings that the program has
 * made side by side. Zero bytes lie anywhere. */
bool range_table_holds(const struct range_table *table, uint64_t address, uint64_t bytes);
/* Whether exactly these bytes are made up of whole mappings. */
bool range_table_whole(const struct range_table *table, uint64_t address, uint64_t bytes);
/* The range that starts exactly at `base`, or NULL. Lent until the table changes. */
const struct range *range_table_at(const struct range_table *table, uint64_t base);
/* Whether any range has bytes of [address, address + bytes). */
bool range_table_touches(const struct range_table *table, uint64_t address, uint64_t bytes);
/* The range with `address` in it, or NULL. */
const struct range *range_table_find(const struct range_table *table, uint64_t address);
/* Marks the range that starts at `base` as shared. */
void range_table_share(struct range_table *table, uint64_t base);
void range_table_remove(struct range_table *table, uint64_t base);

#endif
