/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in configurations. */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>

/* A decimal number without sign; *end is behind it. False: there is none, or it is too large. */
static inline bool ga_digits_read(const char *text, const char **end, uint64_t *value)
{
    uint64_t result = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at); at++) {
        if (result > (UINT64_MAX - 9) / 10) {
            return false;
        }
        result = result * 10 + (uint64_t)(*at - '0');
    }
    *end = at;
    *value = result;
    return at != text;
}

#endif
