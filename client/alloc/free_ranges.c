/* SPDX-License-Identifier: Apache-2.0 */
/* Free ranges of a window: adjacent ones are always merged. */
#include "client/alloc/free_ranges.h"

#include <stdlib.h>

void client_free_ranges_add(struct client_ranges *gaps, uint64_t start, uint64_t bytes)
{
    struct client_range *before = start != 0 ? client_ranges_find(gaps, start - 1) : NULL;
    struct client_range *behind = client_ranges_find(gaps, start + bytes);
    if (before != NULL) {
        client_ranges_remove(gaps, before);
        start = before->start;
        bytes += before->bytes;
    }
    if (behind != NULL) {
        client_ranges_remove(gaps, behind);
        bytes += behind->bytes;
    }
    struct client_range *gap = before != NULL ? before : behind;
    if (before != NULL && behind != NULL) {
        free(behind);
    }
    if (gap == NULL) {
        gap = malloc(sizeof *gap);
    }
    if (gap == NULL) {
        return; /* these addresses are not used again: there are plenty */
    }
    gap->start = start;
    gap->bytes = bytes;
    (void)client_ranges_insert(gaps, gap);
}

/* Takes a part of a free range; false: it is not inside that range. */
static bool free_range_split(struct client_ranges *gaps, struct client_range *gap, uint64_t start,
                             uint64_t bytes)
{
    if (start < gap->start || start - gap->start > gap->bytes ||
        bytes > gap->bytes - (start - gap->start)) {
        return false;
    }
    struct client_range whole = *gap;
    client_ranges_remove(gaps, gap);
    free(gap);
    if (start > whole.start) {
        client_free_ranges_add(gaps, whole.start, start - whole.start);
    }
    if (whole.start + whole.bytes > start + bytes) {
        client_free_ranges_add(gaps, start + bytes, whole.start + whole.bytes - (start + bytes));
    }
    return true;
}

bool client_free_ranges_take(struct client_ranges *gaps, uint64_t bytes, uint64_t alignment,
                             uint64_t *start)
{
    struct client_range *gap = client_ranges_from(gaps, 0);
    while (gap != NULL) {
        uint64_t next = gap->start + gap->bytes;
        *start = (gap->start + alignment - 1) & ~(alignment - 1);
        if (free_range_split(gaps, gap, *start, bytes)) {
            return true;
        }
        gap = client_ranges_from(gaps, next);
    }
    return false;
}

bool client_free_ranges_take_at(struct client_ranges *gaps, uint64_t start, uint64_t bytes)
{
    struct client_range *gap = client_ranges_find(gaps, start);
    return gap != NULL && free_range_split(gaps, gap, start, bytes);
}

void client_free_ranges_fini(struct client_ranges *gaps)
{
    while (gaps->root != NULL) {
        struct client_range *gap = gaps->root;
        client_ranges_remove(gaps, gap);
        free(gap);
    }
}
