/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines as text and as JSON (RFC 8259), with times of RFC 3339 in UTC. */
#include "base/log_line.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/moment.h"

const char *const log_level_names[] = {"error", "warn", "info", "debug"};
const char log_level_priorities[] = "3467";

static void time_write(const struct timespec *time, char text[GA_MOMENT_BYTES])
{
    (void)ga_moment_write_ms((int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000, text);
}

/* A line in progress. */
struct writing {
    char *line;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void log_line_put(struct writing *writing,
                                                               const char *format, ...)
{
    const size_t room = LOG_LINE_BYTES - 1 - writing->used; /* without the newline */
    va_list args;
    va_start(args, format);
    int length = vsnprintf(writing->line + writing->used, room, format, args);
    va_end(args);
    writing->used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* Writes a JSON string. The text is clean, so only two characters need escapes. */
static void log_line_put_string(struct writing *writing, const char *key, const char *text)
{
    log_line_put(writing, ",\"%s\":\"", key);
    for (; *text != 0; text++) {
        log_line_put(writing, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    log_line_put(writing, "\"");
}

size_t ga_log_line_write(enum ga_log_format format, const struct log_record *record,
                         char line[LOG_LINE_BYTES])
{
    char time[GA_MOMENT_BYTES];
    time_write(&record->time, time);
    struct writing writing = {.line = line};
    if (format == GA_LOG_RECORD) {
        log_line_put(&writing, "<%c>%s\t%s", log_level_priorities[record->level],
                     record->client != NULL ? record->client : "", record->text);
    } else if (format == GA_LOG_JSON) {
        log_line_put(&writing, "{\"time\":\"%s\",\"level\":\"%s\",\"process\":\"%s\",\"pid\":%d",
                     time, log_level_names[record->level], record->name, record->pid);
        if (record->client != NULL) {
            log_line_put_string(&writing, "client", record->client);
        }
        log_line_put_string(&writing, "msg", record->text);
        log_line_put(&writing, "}");
    } else {
        log_line_put(&writing, "%s %s[%d] %s: %s%s%s", time, record->name, record->pid,
                     log_level_names[record->level], record->client != NULL ? record->client : "",
                     record->client != NULL ? ": " : "", record->text);
    }
    line[writing.used++] = '\n';
    return writing.used;
}
