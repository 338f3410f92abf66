/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts in configurations: a number and a unit. A table of units has those that are written
 * first, from large to small; other names for reading follow, in any case ("1gib"). GA_BYTES_FORM
 * and GA_TIME_FORM are for error messages. */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"

struct ga_unit {
    const char *name;
    uint64_t factor;
};

#define GA_AMOUNT_BYTES 32 /* of an amount as text, with its NUL */

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
        if (strcasecmp(unit, units[i].name) == 0) {
            uint64_t product;
            if (__builtin_mul_overflow(number, units[i].factor, &product)) {
                return false;
            }
            *amount = product;
            return true;
        }
    }
    return false;
}

/* A number of the largest of the first `count` units that divides the amount; the last of them has
 * the factor 1. ga_amount_read reads the same amount. */
static inline void ga_amount_write(uint64_t amount, const struct ga_unit *units, size_t count,
                                   char text[GA_AMOUNT_BYTES])
{
    size_t at = 0;
    while (at + 1 < count && (amount == 0 || amount % units[at].factor != 0)) {
        at++;
    }
    snprintf(text, GA_AMOUNT_BYTES, "%" PRIu64 "%s", amount / units[at].factor, units[at].name);
}

#define GA_BYTES_FORM    "a number and K, M, G or T (as KiB to TiB)"
#define GA_BYTES_WRITTEN 5u /* of ga_byte_units */

static const struct ga_unit ga_byte_units[] = {
    {"TiB", UINT64_C(1) << 40},
    {"GiB", UINT64_C(1) << 30},
    {"MiB", UINT64_C(1) << 20},
    {"KiB", UINT64_C(1) << 10},
    {"", 1},
    {"B", 1},
    {"T", UINT64_C(1) << 40},
    {"G", UINT64_C(1) << 30},
    {"M", UINT64_C(1) << 20},
    {"K", UINT64_C(1) << 10},
};

/* "1024", "4M", "4 MiB". */
static inline bool ga_bytes_read(const char *text, uint64_t *bytes)
{
    return ga_amount_read(text, ga_byte_units, sizeof ga_byte_units / sizeof *ga_byte_units, bytes);
}

static inline void ga_bytes_write(uint64_t bytes, char text[GA_AMOUNT_BYTES])
{
    ga_amount_write(bytes, ga_byte_units, GA_BYTES_WRITTEN, text);
}

#define GA_TIME_FORM "a number and ns, us, ms, s, min or h"

static const struct ga_unit ga_time_units[] = {{"h", UINT64_C(3600000000000)},
                                               {"min", UINT64_C(60000000000)},
                                               {"s", 1000000000},
                                               {"ms", 1000000},
                                               {"us", 1000},
                                               {"ns", 1}};

/* "6us", "2 s", in ns. */
static inline bool ga_time_read(const char *text, uint64_t *ns)
{
    return ga_amount_read(text, ga_time_units, sizeof ga_time_units / sizeof *ga_time_units, ns);
}

/* 0 is "none". */
static inline void ga_time_write(uint64_t ns, char text[GA_AMOUNT_BYTES])
{
    if (ns == 0) {
        snprintf(text, GA_AMOUNT_BYTES, "none");
    } else {
        ga_amount_write(ns, ga_time_units, sizeof ga_time_units / sizeof *ga_time_units, text);
    }
}

#endif
