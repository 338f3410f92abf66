/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the device ranges that a call touches. They saturate: a product over 64 bits becomes
 * UINT64_MAX, which every range check rejects. */
#ifndef API_RANGE_H
#define API_RANGE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t api_range_times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Whether rows do not overlap and have equal alignment: `element` divides the pitch. */
static inline bool api_range_rows_apart(uint64_t pitch, uint64_t width, uint64_t rows,
                                        unsigned element)
{
    return rows <= 1 || width == 0 || (pitch >= width && pitch % element == 0);
}

/* `rows` rows of `width` bytes, each `pitch` bytes after the one before. */
static inline uint64_t api_range_pitched(uint64_t pitch, uint64_t width, uint64_t rows)
{
    if (width == 0 || rows == 0) {
        return 0;
    }
    uint64_t before = api_range_times(pitch, rows - 1);
    uint64_t all;
    return __builtin_add_overflow(before, width, &all) ? UINT64_MAX : all;
}

#endif
