/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts in configurations: a number and a unit. GA_BYTES_FORM and GA_TIME_FORM are for error
 * messages. */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stddef.h>
#include <string.h>

#include "base/digits.h"

struct ga_unit {
    const char *name;
    uint64_t factor;
};

/* False: the text is not of this form, or the amount does not fit. */
static inline bool ga_amount_read(const char *text, const struct ga_unit *units, size_t count,
                                  uint64_t *amount)
{
    const char *unit;
    uint64_t number;
    if (!ga_digits_read(text, &unit, &number)) {
        return false;
    }
    unit += strspn(unit, " ");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return !__builtin_mul_overflow(number, units[i].factor, amount);
        }
    }
    return false;
}

#define GA_BYTES_FORM "a number and K, M, G or T (as KiB to TiB)"

/* "1024", "4M", "4 MiB". */
static inline bool ga_bytes_read(const char *text, uint64_t *bytes)
{
    static const struct ga_unit units[] = {
        {"", 1},
        {"B", 1},
        {"K", UINT64_C(1) << 10},
        {"KiB", UINT64_C(1) << 10},
        {"M", UINT64_C(1) << 20},
        {"MiB", UINT64_C(1) << 20},
        {"G", UINT64_C(1) << 30},
        {"GiB", UINT64_C(1) << 30},
        {"T", UINT64_C(1) << 40},
        {"TiB", UINT64_C(1) << 40},
    };
    return ga_amount_read(text, units, sizeof units / sizeof *units, bytes);
}

#define GA_TIME_FORM "a number and ns, us, ms or s"

/* "6us", "2 s", in ns. */
static inline bool ga_time_read(const char *text, uint64_t *ns)
{
    static const struct ga_unit units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    return ga_amount_read(text, units, sizeof units / sizeof *units, ns);
}

#endif
