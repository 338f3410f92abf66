/* SPDX-License-Identifier: Apache-2.0 */
/* Disjoint intervals, found by binary search. Insertion moves all later ones, which is fast enough
 * for the tens of thousands of allocations that a device has at most. */
#include "softgpu/memory/spans.h"

#include <stdlib.h>
#include <string.h>

void sg_spans_fini(struct sg_spans *spans)
{
    free(spans->items);
    *spans = (struct sg_spans){0};
}

size_t sg_spans_index(const struct sg_spans *spans, uint64_t address)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sg_span_end(spans->items[middle]) > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

struct sg_span *sg_spans_find(const struct sg_spans *spans, uint64_t address)
{
    size_t index = sg_spans_index(spans, address);
    if (index == spans->count || spans->items[index]->base > address) {
        return NULL;
    }
    return spans->items[index];
}

enum ga_status sg_spans_insert(struct sg_spans *spans, struct sg_span *span)
{
    if (span->bytes == 0 || sg_span_end(span) < span->base) {
        return GA_INVALID;
    }
    size_t index = sg_spans_index(spans, span->base);
    if (index < spans->count && spans->items[index]->base < sg_span_end(span)) {
        return GA_INVALID;
    }
    if (spans->count == spans->capacity) {
        size_t capacity = spans->capacity != 0 ? spans->capacity * 2 : 64;
        struct sg_span **items = realloc(spans->items, capacity * sizeof *items);
        if (items == NULL) {
            return GA_NO_MEMORY;
        }
        spans->items = items;
        spans->capacity = capacity;
    }
    memmove(spans->items + index + 1, spans->items + index,
            (spans->count - index) * sizeof *spans->items);
    spans->items[index] = span;
    spans->count++;
    return GA_OK;
}

void sg_spans_remove(struct sg_spans *spans, const struct sg_span *span)
{
    size_t index = sg_spans_index(spans, span->base);
    if (index == spans->count || spans->items[index] != span) {
        return;
    }
    spans->count--;
    memmove(spans->items + index, spans->items + index + 1,
            (spans->count - index) * sizeof *spans->items);
}
