/* SPDX-License-Identifier: Apache-2.0 */
/* An amount that is written is read as the same amount. */
#include <criterion/criterion.h>

#include "base/amount.h"

static void time_is(uint64_t ns, const char *expected)
{
    char text[GA_AMOUNT_BYTES];
    uint64_t read = ns + 1;
    ga_time_write(ns, text);
    cr_assert_str_eq(text, expected);
    cr_assert(ga_time_read(text, &read));
    cr_assert_eq(read, ns);
}

static void bytes_are(uint64_t bytes, const char *expected)
{
    char text[GA_AMOUNT_BYTES];
    uint64_t read = bytes + 1;
    ga_bytes_write(bytes, text);
    cr_assert_str_eq(text, expected);
    cr_assert(ga_bytes_read(text, &read));
    cr_assert_eq(read, bytes);
}

Test(amount, times_have_the_largest_unit_that_divides_them)
{
    time_is(1, "1ns");
    time_is(999, "999ns");
    time_is(25000, "25us");
    time_is(10000000, "10ms");
    time_is(1500000000, "1500ms");
    time_is(59000000000, "59s");
    time_is(60000000000, "1min");
    time_is(90000000000, "90s");
    time_is(3600000000000, "1h");
    time_is(86400000000000, "24h");
    time_is(UINT64_C(1844674407370955160), "1844674407370955160ns");
}

Test(amount, no_time_is_none)
{
    char text[GA_AMOUNT_BYTES];
    ga_time_write(0, text);
    cr_assert_str_eq(text, "none");
}

Test(amount, bytes_have_the_largest_unit_that_divides_them)
{
    bytes_are(0, "0");
    bytes_are(1000, "1000");
    bytes_are(1024, "1KiB");
    bytes_are(UINT64_C(3) << 29, "1536MiB");
    bytes_are(UINT64_C(5) << 40, "5TiB");
}

Test(amount, wrong_amounts_are_not_read)
{
    static const char *const times[] = {"",      "5",  "ms",    "-1ms",
                                        "1.5ms", "5m", "5 ms ", "20000000000s"};
    uint64_t read = 7;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        cr_assert_not(ga_time_read(times[i], &read), "%s", times[i]);
    }
    cr_assert_eq(read, 7);
    cr_assert(ga_time_read("2 s", &read));
    cr_assert_eq(read, 2000000000);
    static const char *const four[] = {"4M", "4m", "4mib", "4 MIB"};
    for (size_t i = 0; i < sizeof four / sizeof *four; i++) {
        cr_assert(ga_bytes_read(four[i], &read));
        cr_assert_eq(read, 4u << 20);
    }
}
