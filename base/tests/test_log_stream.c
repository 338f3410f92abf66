/* SPDX-License-Identifier: Apache-2.0 */
/* The log of another process, which says what it likes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log_line.h"
#include "base/log_stream.h"

static struct ga_log_stream stream;
static char told[1 << 20];
static size_t told_bytes;
static unsigned told_lines;

/* level|client|record|text */
static void keep(void *user, const struct ga_log_said *said)
{
    (void)user;
    told_lines++;
    told_bytes +=
        (size_t)snprintf(told + told_bytes, sizeof told - told_bytes, "%s|%s|%d|%s\n",
                         ga_log_level_name(said->level), said->client != NULL ? said->client : "-",
                         said->record, said->text);
}

static void begin(void)
{
    told_bytes = told_lines = 0;
    told[0] = 0;
    ga_log_stream_init(&stream, 1, keep, NULL, 1);
}

static void take(const char *text, uint64_t now_ns)
{
    ga_log_stream_take(&stream, text, strlen(text), now_ns);
}

Test(log_stream, what_the_log_writes_as_a_record_is_read_as_it_was)
{
    static const struct {
        enum ga_log_level level;
        const char *client, *text, *due;
    } rows[] = {
        {GA_LOG_ERROR, NULL, "x", "error|-|1|x\n"},
        {GA_LOG_WARN, "192.0.2.7:1", "a: <3>b", "warn|192.0.2.7:1|1|a: <3>b\n"},
        {GA_LOG_INFO, "[2001:db8::7]:1", "", "info|[2001:db8::7]:1|1|\n"},
        {GA_LOG_DEBUG, NULL, "\xc3\xa4", "debug|-|1|\xc3\xa4\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[LOG_LINE_BYTES];
        struct log_record record = {
            .level = rows[i].level, .name = "n", .client = rows[i].client, .text = rows[i].text};
        begin();
        size_t length = ga_log_line_write(GA_LOG_RECORD, &record, line);
        for (size_t k = 0; k < length; k++) { /* in pieces */
            ga_log_stream_take(&stream, line + k, 1, 1);
        }
        cr_assert_str_eq(told, rows[i].due, "row %zu: %s", i, told);
    }
}

Test(log_stream, everything_else_is_a_line_of_its_own)
{
    static const struct {
        const char *text, *due;
    } rows[] = {
        {"==7==ERROR: AddressSanitizer\n", "warn|-|0|==7==ERROR: AddressSanitizer\n"},
        {"a\n\nb\n", "warn|-|0|a\nwarn|-|0|b\n"},
        {"<5>\tx\n", "warn|-|0|<5>\tx\n"},
        {"<3>x\n", "warn|-|0|<3>x\n"},
        {"<\n<3\n<3>\n", "warn|-|0|<\nwarn|-|0|<3\nwarn|-|0|<3>\n"},
        {"<3> \tx\ty\n", "error| |1|x\ty\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        take(rows[i].text, 1);
        ga_log_stream_end(&stream);
        cr_assert_str_eq(told, rows[i].due, "row %zu: %s", i, told);
    }
    begin();
    ga_log_stream_take(&stream, "a\0b\n", 4, 1);
    cr_assert_str_eq(told, "warn|-|0|a?b\n");
}

Test(log_stream, a_line_without_end_is_cut_and_one_without_newline_comes_at_the_end)
{
    begin();
    for (unsigned i = 0; i < 100000; i++) {
        take("xxxxxxxxxx", 1);
    }
    cr_assert_eq(told_bytes, 0);
    take("\nlast", 1);
    cr_assert_eq(told_lines, 1);
    cr_assert_lt(told_bytes, GA_LOG_STREAM_LINE + 16);
    ga_log_stream_end(&stream);
    cr_assert_not_null(strstr(told, "warn|-|0|last\n"));
}

static void flood(unsigned count, uint64_t now_ns)
{
    char line[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof line, "line %u\n", i);
        take(line, now_ns);
    }
}

Test(log_stream, who_writes_without_end_is_cut_short_and_told_so)
{
    uint64_t now_ns = 1;
    begin();
    flood(1000000, now_ns);
    cr_assert_leq(told_bytes, GA_LOG_STREAM_BURST);
    const size_t first = told_bytes;
    for (unsigned second = 0; second < 60; second++) {
        now_ns += GA_NS_PER_S;
        flood(100000, now_ns);
    }
    cr_assert_leq(told_bytes - first, 60 * GA_LOG_STREAM_RATE);
    cr_assert_gt(told_bytes, first);
    cr_assert_not_null(strstr(told, " lines of this process were left out\n"));
}

Test(log_stream, the_last_lines_are_written_whatever_came_before)
{
    begin();
    flood(1000000, 1);
    take("==7==ERROR: AddressSanitizer: heap-use-after-free\n    #0 f x.c:1\n==7==ABORTING\n", 1);
    told_bytes = 0;
    ga_log_stream_end(&stream);
    cr_assert_not_null(strstr(told, "|==7==ERROR: AddressSanitizer: heap-use-after-free\n"
                                    "warn|-|0|    #0 f x.c:1\nwarn|-|0|==7==ABORTING\n"));
    cr_assert_not_null(strstr(told, " lines of this process were left out\n"));
    cr_assert_lt(told_bytes, 2 * GA_LOG_STREAM_LAST + 64);
}

/* Each line is told, or counted. */
Test(log_stream, no_line_is_lost_without_being_counted)
{
    for (unsigned count = 900; count < 3000; count += 7) {
        begin();
        flood(count, 1);
        ga_log_stream_end(&stream);
        unsigned left_out = 0;
        const char *text = strstr(told, " lines of this process were left out\n");
        if (text != NULL) {
            while (text[-1] >= '0' && text[-1] <= '9') {
                text--;
            }
            left_out = (unsigned)strtoul(text, NULL, 10);
            told_lines--;
        }
        cr_assert_eq(told_lines + left_out, count, "%u and %u of %u", told_lines, left_out, count);
    }
}

Test(log_stream, a_quiet_process_gets_its_room_back)
{
    begin();
    flood(100000, 1);
    told_bytes = 0;
    flood(1000, 1 + 60 * GA_NS_PER_S);
    cr_assert_not_null(strstr(told, "|line 999\n"));
}
