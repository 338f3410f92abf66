/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array of address ranges. */
#include "server/app/ranges.h"

#include <stdlib.h>
#include <string.h>

void range_table_fini(struct range_table *table)
{
    free(table->items);
    *table = (struct range_table){0};
}

/* How many ranges start at or below `address`. */
static size_t count_below(const struct range_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->items[middle].base <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum ga_status range_table_add(struct range_table *table, const struct range *range)
{
    if (range->bytes == 0 || range->bytes > UINT64_MAX - range->base) {
        return GA_INVALID;
    }
    size_t at = count_below(table, range->base);
    if (at > 0 && range->base - table->items[at - 1].base < table->items[at - 1].bytes) {
        return GA_INVALID;
    }
    if (at < table->count && table->items[at].base - range->base < range->bytes) {
        return GA_INVALID;
    }
    if (table->count == table->capacity) {
        size_t capacity = table->capacity != 0 ? 2 * table->capacity : 64;
        struct range *items =
            capacity <= RANGES_MAX ? realloc(table->items, capacity * sizeof *items) : NULL;
        if (items == NULL) {
            return GA_NO_MEMORY;
        }
        table->items = items;
        table->capacity = capacity;
    }
    memmove(table->items + at + 1, table->items + at, (table->count - at) * sizeof *table->items);
    table->items[at] = *range;
    table->count++;
    return GA_OK;
}

const struct range *range_table_find(const struct range_table *table, uint64_t address)
{
    size_t at = count_below(table, address);
    if (at == 0 || address - table->items[at - 1].base >= table->items[at - 1].bytes) {
        return NULL;
    }
    return &table->items[at - 1];
}

bool range_table_holds(const struct range_table *table, uint64_t address, uint64_t bytes)
{
    if (bytes == 0) {
        return true;
    }
    const struct range *range = range_table_find(table, address);
    if (range == NULL) {
        return false;
    }
    uint64_t room = range->bytes - (address - range->base);
    while (bytes > room) {
        const struct range *next = range + 1;
        if (next == table->items + table->count || range->of == NULL || next->of == NULL ||
            next->base != range->base + range->bytes) {
            return false;
        }
        room += next->bytes;
        range = next;
    }
    return true;
}

bool range_table_touches(const struct range_table *table, uint64_t address, uint64_t bytes)
{
    size_t next = count_below(table, address);
    return range_table_find(table, address) != NULL ||
           (next < table->count && table->items[next].base - address < bytes);
}

const struct range *range_table_at(const struct range_table *table, uint64_t base)
{
    const struct range *range = range_table_find(table, base);
    return range != NULL && range->base == base ? range : NULL;
}

bool range_table_whole(const struct range_table *table, uint64_t address, uint64_t bytes)
{
    while (bytes != 0) {
        const struct range *range = range_table_at(table, address);
        if (range == NULL || !range->mapped || range->allocated || range->bytes > bytes) {
            return false;
        }
        address += range->bytes;
        bytes -= range->bytes;
    }
    return true;
}

void range_table_share(struct range_table *table, uint64_t base)
{
    size_t at = count_below(table, base);
    if (at > 0 && table->items[at - 1].base == base) {
        table->items[at - 1].shared = true;
    }
}

void range_table_remove(struct range_table *table, uint64_t base)
{
    size_t at = count_below(table, base);
    if (at > 0 && table->items[at - 1].base == base) {
        memmove(table->items + at - 1, table->items + at,
                (table->count - at) * sizeof *table->items);
        table->count--;
    }
}
