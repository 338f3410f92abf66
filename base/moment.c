/* SPDX-License-Identifier: Apache-2.0 */
#include "base/moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool moment_format(int64_t seconds, const char *format, char text[GA_MOMENT_BYTES])
{
    time_t time = (time_t)seconds;
    struct tm utc;
    bool known =
        gmtime_r(&time, &utc) != NULL && strftime(text, GA_MOMENT_BYTES, format, &utc) != 0;
    if (!known) { /* strftime may have left anything */
        text[0] = 0;
    }
    return known;
}

void ga_moment_for_people(int64_t seconds, char text[GA_MOMENT_BYTES])
{
    if (!moment_format(seconds, "%Y-%m-%d %H:%M UTC", text)) {
        snprintf(text, GA_MOMENT_BYTES, "an unknown time");
    }
}

static char *two_digits(char *at, int value, char behind)
{
    *at++ = (char)('0' + value / 10);
    *at++ = (char)('0' + value % 10);
    *at++ = behind;
    return at;
}

/* Lists have several in each row, and strftime takes five times as long. */
bool ga_moment_write(int64_t seconds, char text[GA_MOMENT_BYTES])
{
    time_t time = (time_t)seconds;
    struct tm utc;
    if (gmtime_r(&time, &utc) != NULL && utc.tm_year >= 0 && utc.tm_year < 8100) {
        int year = utc.tm_year + 1900;
        char *at = two_digits(text, year / 100, 0) - 1;
        at = two_digits(at, year % 100, '-');
        at = two_digits(at, utc.tm_mon + 1, '-');
        at = two_digits(at, utc.tm_mday, 'T');
        at = two_digits(at, utc.tm_hour, ':');
        at = two_digits(at, utc.tm_min, ':');
        at = two_digits(at, utc.tm_sec, 'Z');
        *at = 0;
        return true;
    }
    return moment_format(seconds, "%Y-%m-%dT%H:%M:%SZ", text);
}

bool ga_moment_write_ms(int64_t milliseconds, char text[GA_MOMENT_BYTES])
{
    int64_t part = milliseconds % 1000 < 0 ? milliseconds % 1000 + 1000 : milliseconds % 1000;
    bool known = moment_format((milliseconds - part) / 1000, "%Y-%m-%dT%H:%M:%S", text);
    size_t used = strlen(text);
    if (known) {
        snprintf(text + used, GA_MOMENT_BYTES - used, ".%03dZ", (int)part);
    }
    return known;
}
