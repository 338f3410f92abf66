/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as people and programs read them, and those that there are not. */
#include <criterion/criterion.h>

#include "base/moment.h"

static void expect(int64_t milliseconds, const char *people, const char *whole, const char *exact)
{
    char text[GA_MOMENT_BYTES];
    int64_t seconds = milliseconds / 1000 - (milliseconds % 1000 < 0);
    ga_moment_for_people(seconds, text);
    cr_expect_str_eq(text, people, "%s", text);
    cr_expect(ga_moment_write(seconds, text));
    cr_expect_str_eq(text, whole, "%s", text);
    cr_expect(ga_moment_write_ms(milliseconds, text));
    cr_expect_str_eq(text, exact, "%s", text);
}

Test(moment, is_written_in_utc)
{
    expect(INT64_C(1796073968123), "2026-11-30 21:26 UTC", "2026-11-30T21:26:08Z",
           "2026-11-30T21:26:08.123Z");
    expect(0, "1970-01-01 00:00 UTC", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z");
}

Test(moment, before_1970_is_one_too)
{
    expect(-1, "1969-12-31 23:59 UTC", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z");
    expect(-1000, "1969-12-31 23:59 UTC", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.000Z");
}

Test(moment, far_years_are_written_in_full)
{
    expect(INT64_C(253402300800000), "10000-01-01 00:00 UTC", "10000-01-01T00:00:00Z",
           "10000-01-01T00:00:00.000Z");
    char text[GA_MOMENT_BYTES];
    cr_expect(ga_moment_write(INT64_C(67767976233532799), text)); /* the last that gmtime knows */
    cr_expect_str_eq(text, "2147483647-12-31T23:59:59Z", "%s", text);
    cr_expect(ga_moment_write_ms(INT64_MAX, text));
    cr_expect_str_eq(text, "292278994-08-17T07:12:55.807Z", "%s", text);
}

Test(moment, what_is_no_date_is_said_to_be_none)
{
    const int64_t never[] = {INT64_MAX, INT64_MIN};
    for (unsigned i = 0; i < 2; i++) {
        char text[GA_MOMENT_BYTES] = "before";
        ga_moment_for_people(never[i], text);
        cr_expect_str_eq(text, "an unknown time");
        cr_expect_not(ga_moment_write(never[i], text));
        cr_expect_str_eq(text, "");
    }
}
