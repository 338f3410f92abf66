/* SPDX-License-Identifier: Apache-2.0 */
/* The lines on stderr. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_line.h"
#include "base/text.h"

static int ends[2];

static void catch (void)
{
    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

/* All that has been written since. */
static char *caught(void)
{
    static char text[65536];
    ssize_t got = read(ends[0], text, sizeof text - 1);
    text[got > 0 ? got : 0] = 0;
    return text;
}

static unsigned lines_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        count++;
    }
    return count;
}

static void expect_line(enum ga_log_format format, const char *client, const char *text,
                        const char *due)
{
    char line[LOG_LINE_BYTES + 1], clean[LOG_TEXT_BYTES];
    snprintf(clean, sizeof clean, "%s", text);
    ga_text_clean(clean);
    struct log_record record = {.time = {1700000000, 45000000},
                                .level = GA_LOG_WARN,
                                .name = "gpuaasd",
                                .pid = 7,
                                .client = client,
                                .text = clean};
    size_t length = ga_log_line_write(format, &record, line);
    line[length] = 0;
    cr_assert_str_eq(line, due);
}

Test(log, a_line_has_time_program_level_client_and_text)
{
    expect_line(GA_LOG_TEXT, NULL, "a \"b\"",
                "2023-11-14T22:13:20.045Z gpuaasd[7] warn: a \"b\"\n");
    expect_line(GA_LOG_TEXT, "192.0.2.7:40332", "x",
                "2023-11-14T22:13:20.045Z gpuaasd[7] warn: 192.0.2.7:40332: x\n");
}

#define HEAD                                                                                       \
    "{\"time\":\"2023-11-14T22:13:20.045Z\",\"level\":\"warn\",\"process\":\"gpuaasd\",\"pid\":7"

Test(log, json_is_one_object)
{
    expect_line(GA_LOG_JSON, NULL, "a \"b\" \\c", HEAD ",\"msg\":\"a \\\"b\\\" \\\\c\"}\n");
    expect_line(GA_LOG_JSON, "[2001:db8::7]:1", "x",
                HEAD ",\"client\":\"[2001:db8::7]:1\",\"msg\":\"x\"}\n");
}

Test(log, what_is_no_text_is_replaced)
{
    expect_line(GA_LOG_JSON, NULL, "a\nb\x7f\xff\xc3\xa4\xc3(\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82",
                HEAD ",\"msg\":\"a?b??\xc3\xa4?(???\xf0\x9f\x98\x80??\"}\n");
}

Test(log, a_line_ends_though_its_text_is_long)
{
    char text[5000], line[LOG_LINE_BYTES];
    memset(text, '"', sizeof text);
    text[sizeof text - 1] = 0;
    struct log_record record = {.name = "gpuaasd", .client = "192.0.2.7:40332", .text = text};
    cr_assert_eq(ga_log_line_write(GA_LOG_TEXT, &record, line), LOG_LINE_BYTES - 1);
    cr_assert_eq(line[LOG_LINE_BYTES - 2], '\n');
    text[LOG_TEXT_BYTES - 1] = 0; /* the longest that there is */
    size_t length = ga_log_line_write(GA_LOG_JSON, &record, line);
    cr_assert_eq(memcmp(line + length - 5, "\\\"\"}\n", 5), 0);
}

static time_t second_now(void)
{
    struct timespec now;
    cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return now.tv_sec;
}

static void lines(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ga_warn("line %u", i);
    }
}

/* Runs in a fresh second, and returns its output. */
static const char *flood(unsigned count)
{
    for (;;) {
        time_t before = second_now();
        while (second_now() == before) {
            usleep(1000);
        }
        ga_log_end();
        (void)caught();
        before = second_now();
        lines(count);
        const char *text = caught();
        if (second_now() == before) {
            return text;
        }
    }
}

Test(log, of_one_place_ten_lines_a_second_are_written_and_the_rest_is_counted)
{
    catch ();
    ga_warn("first"); /* so that there is something to read */
    const char *text = flood(1000);
    cr_assert_eq(lines_of(text, "\n"), 10);
    cr_assert_not_null(strstr(text, "line 9 (more of this kind are counted for a second)\n"));
    sleep(2);
    lines(1);
    text = caught();
    cr_assert_eq(lines_of(text, "\n"), 2);
    cr_assert_not_null(strstr(text, "warn: 990 lines of this kind were left out: line %u\n"));
    cr_assert_not_null(strstr(text, "warn: line 0\n"));
    (void)flood(30);
    ga_log_end();
    cr_assert_not_null(strstr(caught(), "20 lines of this kind were left out"), "also at the end");
}

Test(log, lists_are_written_whole)
{
    catch ();
    ga_log_set_level(GA_LOG_INFO);
    for (unsigned i = 0; i < 50; i++) {
        ga_info_each("192.0.2.7:1", "line %u", i);
    }
    cr_assert_eq(lines_of(caught(), " info: 192.0.2.7:1: line"), 50);
}

Test(log, the_environment_decides)
{
    catch ();
    setenv("GPUAAS_LOG", "info", 1);
    setenv("GPUAAS_LOG_FORMAT", "json", 1);
    ga_log_set_client("192.0.2.7:1");
    ga_info("one");
    const char *text = caught();
    cr_assert_not_null(strstr(text, "\"level\":\"info\""));
    cr_assert_not_null(strstr(text, "\"client\":\"192.0.2.7:1\",\"msg\":\"one\"}\n"));
}

static void *serve(void *address)
{
    ga_warn("before");
    ga_log_set_thread_client(address);
    ga_warn("served");
    ga_warn_of("192.0.2.9:3", "named");
    ga_warn_of("", "of nobody");
    ga_log_set_thread_client(NULL);
    ga_warn("after");
    return NULL;
}

Test(log, a_thread_may_have_a_client_of_its_own)
{
    pthread_t thread;
    catch ();
    ga_log_set_client("192.0.2.7:1");
    ga_log_set_thread_client("192.0.2.6:0");
    cr_assert_eq(pthread_create(&thread, NULL, serve, "192.0.2.8:2"), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    ga_warn("still");
    const char *text = caught();
    cr_assert_not_null(strstr(text, " warn: 192.0.2.7:1: before\n"), "%s", text);
    cr_assert_not_null(strstr(text, " warn: 192.0.2.8:2: served\n"), "%s", text);
    cr_assert_not_null(strstr(text, " warn: 192.0.2.9:3: named\n"), "%s", text);
    cr_assert_not_null(strstr(text, " warn: of nobody\n"), "%s", text);
    cr_assert_not_null(strstr(text, " warn: 192.0.2.7:1: after\n"), "%s", text);
    cr_assert_not_null(strstr(text, " warn: 192.0.2.6:0: still\n"), "%s", text);
}

Test(log, a_wrong_environment_is_told)
{
    catch ();
    setenv("GPUAAS_LOG", "verbose", 1);
    setenv("GPUAAS_LOG_FORMAT", "xml", 1);
    ga_log_begin();
    ga_log_begin();
    const char *text = caught();
    cr_assert_eq(lines_of(text, "\n"), 2);
    cr_assert_not_null(strstr(text, "GPUAAS_LOG=verbose: it can be error, warn, info or debug\n"));
    cr_assert_not_null(strstr(text, "GPUAAS_LOG_FORMAT=xml: it can be text or json\n"));
    cr_assert(ga_log_enabled(GA_LOG_WARN) && !ga_log_enabled(GA_LOG_INFO));
}
