/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines, made in one buffer and written by one write(2), so lines of threads and of
 * processes that share stderr do not mix. There is no lock, because a thread may be forked while
 * it logs. */
#include "base/log_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log_line.h"
#include "base/text.h"

#define PATIENCE_MS 100 /* ms that a slow reader is waited for */

static const char *const formats[] = {"text", "json"};
static _Atomic(const char *) log_name = "gpuaas", log_client;
static _Thread_local const char *thread_client;
static atomic_int log_level = -1, log_format = -1; /* -1: the environment has not been read */
static struct ga_log_place *_Atomic left_out_places;

static void (*_Atomic log_watch)(enum ga_log_level level, const char *text);

void ga_log_watch(void (*watch)(enum ga_log_level level, const char *text))
{
    atomic_store(&log_watch, watch);
}

void ga_log_set_name(const char *name)
{
    atomic_store(&log_name, name);
}

const char *ga_log_name(void)
{
    return atomic_load(&log_name);
}

void ga_log_set_client(const char *address)
{
    atomic_store(&log_client, address);
}

void ga_log_set_thread_client(const char *address)
{
    thread_client = address;
}

void ga_log_set_level(enum ga_log_level level)
{
    atomic_store(&log_level, (int)level);
}

void ga_log_set_format(enum ga_log_format format)
{
    atomic_store(&log_format, (int)format);
}

static int word_find(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool ga_log_level_parse(const char *text, enum ga_log_level *level)
{
    int found = word_find(text, log_level_names, GA_LOG_DEBUG + 1);
    *level = found >= 0 ? (enum ga_log_level)found : *level;
    return found >= 0;
}

bool ga_log_format_parse(const char *text, enum ga_log_format *format)
{
    int found = word_find(text, formats, GA_LOG_JSON + 1);
    *format = found >= 0 ? (enum ga_log_format)found : *format;
    return found >= 0;
}

const char *ga_log_level_name(enum ga_log_level level)
{
    return log_level_names[level];
}

const char *ga_log_format_name(enum ga_log_format format)
{
    return formats[format];
}

/* Errors are reported with the new settings. */
void ga_log_begin(void)
{
    const char *level_text = getenv("GPUAAS_LOG"), *format_text = getenv("GPUAAS_LOG_FORMAT");
    enum ga_log_level level = GA_LOG_WARN;
    enum ga_log_format format = GA_LOG_TEXT;
    bool known = level_text == NULL || *level_text == 0 || ga_log_level_parse(level_text, &level);
    bool formed =
        format_text == NULL || *format_text == 0 || ga_log_format_parse(format_text, &format);
    if (!formed && strcmp(format_text, GA_LOG_RECORD_WORD) == 0) {
        format = GA_LOG_RECORD;
        formed = true;
    }
    int unread = -1;
    bool first = atomic_compare_exchange_strong(&log_level, &unread, (int)level);
    unread = -1;
    bool shaped = atomic_compare_exchange_strong(&log_format, &unread, (int)format);
    if (first && !known) {
        ga_warn("GPUAAS_LOG=%s: it can be " GA_LOG_LEVELS, level_text);
    }
    if (shaped && !formed) {
        ga_warn("GPUAAS_LOG_FORMAT=%s: it can be " GA_LOG_FORMATS, format_text);
    }
}

bool ga_log_enabled(enum ga_log_level level)
{
    int current = atomic_load_explicit(&log_level, memory_order_relaxed);
    if (current < 0) {
        ga_log_begin();
        current = atomic_load(&log_level);
    }
    return (int)level <= current;
}

/* ---- writing */

static size_t line_make(struct log_record *record, char line[LOG_LINE_BYTES])
{
    int format = atomic_load(&log_format);
    (void)clock_gettime(CLOCK_REALTIME, &record->time);
    return ga_log_line_write(format < 0 ? GA_LOG_TEXT : (enum ga_log_format)format, record, line);
}

/* The reader of stderr may have stopped reading, which must not stop us. Lines are then counted,
 * and the count is written when there is room again. */
static void record_write(struct log_record *record, int patience_ms)
{
    static atomic_uint lost;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    char line[LOG_LINE_BYTES];
    unsigned before = atomic_load(&lost);
    if (poll(&out, 1, before == 0 ? patience_ms : 0) == 0) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    ssize_t written; /* a failure cannot be reported anywhere */
    if (before != 0 && (before = atomic_exchange(&lost, 0)) != 0) {
        char gap[60];
        snprintf(gap, sizeof gap, "%u lines are missing here", before);
        struct log_record told = {
            .level = GA_LOG_WARN, .name = ga_log_name(), .pid = (int)getpid(), .text = gap};
        written = write(STDERR_FILENO, line, line_make(&told, line));
        (void)written;
    }
    written = write(STDERR_FILENO, line, line_make(record, line));
    (void)written;
}

static void log_text_write(enum ga_log_level level, const char *client, const char *text)
{
    struct log_record record = {.level = level,
                                .name = ga_log_name(),
                                .pid = (int)getpid(),
                                .client = client,
                                .text = text};
    record_write(&record, PATIENCE_MS);
}

void ga_log_relay(const char *name, int pid, enum ga_log_level level, const char *client,
                  const char *text)
{
    if (ga_log_enabled(level)) {
        char clean[LOG_TEXT_BYTES];
        snprintf(clean, sizeof clean, "%s", text);
        ga_text_clean(clean);
        struct log_record record = {
            .level = level, .name = name, .pid = pid, .client = client, .text = clean};
        record_write(&record, 0);
    }
}

/* NULL: none. */
static const char *log_client_of(const char *given)
{
    const char *serves = thread_client != NULL ? thread_client : atomic_load(&log_client);
    const char *about = given != NULL ? given : serves;
    return about != NULL && *about != 0 ? about : NULL;
}

/* ---- lines of one place */

static uint64_t second_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec + 1; /* never 0, which means none */
}

static void place_list(struct ga_log_place *place, const char *format)
{
    const char *unlisted = NULL;
    if (atomic_compare_exchange_strong(&place->format, &unlisted, format)) {
        place->next = atomic_load(&left_out_places);
        while (!atomic_compare_exchange_weak(&left_out_places, &place->next, place)) {
        }
    }
}

/* Whether the next line of the place may be written; `*last`: it is the last one of this second. */
static bool place_takes(struct ga_log_place *place, const char *format, uint64_t now, bool *last)
{
    uint64_t before = atomic_load(&place->second);
    if (before != now && atomic_compare_exchange_strong(&place->second, &before, now)) {
        atomic_store(&place->lines, 0);
    }
    unsigned line = atomic_fetch_add(&place->lines, 1) + 1;
    *last = line == GA_LOG_LINES_A_SECOND;
    if (line <= GA_LOG_LINES_A_SECOND) {
        return true;
    }
    atomic_fetch_add(&place->left_out, 1);
    place_list(place, format);
    return false;
}

/* Reports the lines that were left out in past seconds. */
static void left_out_tell(uint64_t now)
{
    struct ga_log_place *place = atomic_load(&left_out_places);
    for (; place != NULL; place = place->next) {
        unsigned count = 0;
        if (atomic_load(&place->second) != now) {
            count = atomic_exchange(&place->left_out, 0);
        }
        if (count != 0) {
            char text[LOG_TEXT_BYTES];
            snprintf(text, sizeof text, "%u lines of this kind were left out: %s", count,
                     atomic_load(&place->format));
            ga_text_clean(text);
            log_text_write(GA_LOG_WARN, NULL, text);
        }
    }
}

void ga_log_end(void)
{
    left_out_tell(0);
}

void ga_log_write(struct ga_log_place *place, enum ga_log_level level, const char *client,
                  const char *format, ...)
{
    void (*watch)(enum ga_log_level, const char *) =
        level <= GA_LOG_WARN ? atomic_load(&log_watch) : NULL;
    bool enabled = ga_log_enabled(level), last = false;
    if (!enabled && watch == NULL) {
        return;
    }
    int saved_errno = errno;
    uint64_t now = second_now();
    if (enabled) {
        left_out_tell(now);
        enabled = place == NULL || level == GA_LOG_DEBUG || place_takes(place, format, now, &last);
    }
    if (enabled || watch != NULL) {
        static const char more[] = " (more of this kind are counted for a second)";
        char text[LOG_TEXT_BYTES];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof text - sizeof more, format, args);
        va_end(args);
        ga_text_clean(text);
        if (watch != NULL) {
            watch(level, text);
        }
        if (enabled) {
            log_text_write(level, log_client_of(client), last ? strcat(text, more) : text);
        }
    }
    errno = saved_errno;
}
