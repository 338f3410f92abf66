/* SPDX-License-Identifier: Apache-2.0 */
/* Free ranges of a window: adjacent ones are always merged. */
#include "client/alloc/free_ranges.h"

#include <stdlib.h>

void client_free_ranges_add(struct client_ranges *ranges, uint64_t start, uint64_t bytes)
{
    struct client_range *before = start != 0 ? client_ranges_find(ranges, start - 1) : NULL;
    struct client_range *behind = client_ranges_find(ranges, start + bytes);
    if (before != NULL) {
        client_ranges_remove(ranges, before);
        start = before->start;
        bytes += before->bytes;
    }
    if (behind != NULL) {
        client_ranges_remove(ranges, behind);
        bytes += behind->bytes;
    }
    struct client_range *range = before != NULL ? before : behind;
    if (before != NULL && behind != NULL) {
        free(behind);
    }
    if (range == NULL) {
        range = malloc(sizeof *range);
    }
    if (range == NULL) {
        return; /* these addresses are not used again: there are plenty */
    }
    range->start = start;
    range->bytes = bytes;
    (void)client_ranges_insert(ranges, range);
}

/* Takes a part of a free range; false: it is not inside that range. */
static bool free_range_split(struct client_ranges *ranges, struct client_range *range,
                             uint64_t start, uint64_t bytes)
{
    if (start < range->start || start - range->start > range->bytes ||
        bytes > range->bytes - (start - range->start)) {
        return false;
    }
    struct client_range whole = *range;
    client_ranges_remove(ranges, range);
    free(range);
    if (start > whole.start) {
        client_free_ranges_add(ranges, whole.start, start - whole.start);
    }
    if (whole.start + whole.bytes > start + bytes) {
        client_free_ranges_add(ranges, start + bytes, whole.start + whole.bytes - (start + bytes));
    }
    return true;
}

bool client_free_ranges_take(struct client_ranges *ranges, uint64_t bytes, uint64_t alignment,
                             uint64_t *start)
{
    struct client_range *range = client_ranges_from(ranges, 0);
    while (range != NULL) {
        uint64_t next = range->start + range->bytes;
        *start = (range->start + alignment - 1) & ~(alignment - 1);
        if (free_range_split(ranges, range, *start, bytes)) {
            return true;
        }
        range = client_ranges_from(ranges, next);
    }
    return false;
}

bool client_free_ranges_take_at(struct client_ranges *ranges, uint64_t start, uint64_t bytes)
{
    struct client_range *range = client_ranges_find(ranges, start);
    return range != NULL && free_range_split(ranges, range, start, bytes);
}

void client_free_ranges_fini(struct client_ranges *ranges)
{
    while (ranges->root != NULL) {
        struct client_range *range = ranges->root;
        client_ranges_remove(ranges, range);
        free(range);
    }
}
