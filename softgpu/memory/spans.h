/* SPDX-License-Identifier: Apache-2.0 */
/* Disjoint address intervals in order: finds the interval that holds an address, and the next one.
 * A sorted array of borrowed pointers; an interval is embedded as the first member of a larger
 * struct. Not locked: the owner locks. */
#ifndef SOFTGPU_MEMORY_SPANS_H
#define SOFTGPU_MEMORY_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sg_span {
    uint64_t base, bytes; /* bytes at least 1; base + bytes does not wrap */
};

struct sg_spans {
    struct sg_span **items;
    size_t count, capacity;
};

void sg_spans_fini(struct sg_spans *spans);
/* GA_INVALID: it overlaps another one, is empty or wraps. */
GA_CHECKED enum ga_status sg_spans_insert(struct sg_spans *spans, struct sg_span *span);
void sg_spans_remove(struct sg_spans *spans, const struct sg_span *span);
/* The interval that holds `address`, or NULL. */
struct sg_span *sg_spans_find(const struct sg_spans *spans, uint64_t address);
/* The index of the first interval that ends beyond `address`; `count` if there is none. */
size_t sg_spans_index(const struct sg_spans *spans, uint64_t address);

static inline uint64_t sg_span_end(const struct sg_span *span)
{
    return span->base + span->bytes;
}

#endif
