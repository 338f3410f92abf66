/* Log lines: formatted into one buffer and written by one write(2), so that lines of threads and
 * of processes that share a stderr do not mix. */
#include "base/log_watch.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>

#define PATIENCE_MS 100 /* with a reader that is merely slow */

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static _Atomic(const char *) log_name = "gpuaas";
static atomic_int log_level = -1; /* -1: not read from the environment yet */

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

void ga_log_set_level(enum ga_log_level level)
{
    atomic_store(&log_level, (int)level);
}

bool ga_log_level_parse(const char *text, enum ga_log_level *level)
{
    for (int i = 0; i <= GA_LOG_DEBUG; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum ga_log_level)i;
            return true;
        }
    }
    return false;
}

bool ga_log_enabled(enum ga_log_level level)
{
    int current = atomic_load_explicit(&log_level, memory_order_relaxed);
    if (current < 0) {
        enum ga_log_level from_environment = GA_LOG_WARN;
        const char *text = getenv("GPUAAS_LOG");
        if (text != NULL) {
            (void)ga_log_level_parse(text, &from_environment);
        }
        current = (int)from_environment;
        atomic_store(&log_level, current);
    }
    return (int)level <= current;
}

/* Whoever reads stderr may have stopped reading: that must not stop us. Then lines are counted
 * instead, and the count is told when there is room again. */
static void line_write(const char *line, size_t size)
{
    static atomic_uint lost;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    unsigned before = atomic_load(&lost);
    if (poll(&out, 1, before == 0 ? PATIENCE_MS : 0) == 0) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    ssize_t written; /* if it fails there is nowhere left to complain to */
    if (before != 0 && (before = atomic_exchange(&lost, 0)) != 0) {
        char gap[100];
        int length = snprintf(gap, sizeof gap, "%s[%d] warn: %u lines are missing here\n",
                              ga_log_name(), (int)getpid(), before);
        written = write(STDERR_FILENO, gap, (size_t)length);
        (void)written;
    }
    written = write(STDERR_FILENO, line, size);
    (void)written;
}

void ga_log(enum ga_log_level level, const char *format, ...)
{
    void (*watch)(enum ga_log_level, const char *) =
        level <= GA_LOG_WARN ? atomic_load(&log_watch) : NULL;
    bool enabled = ga_log_enabled(level);
    if (!enabled && watch == NULL) {
        return;
    }
    int saved_errno = errno;
    char line[1024];
    int head = snprintf(line, sizeof line, "%s[%d] %s: ", atomic_load(&log_name), (int)getpid(),
                        level_names[level]);
    size_t used = head > 0 ? (size_t)head : 0;
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (body > 0) {
        size_t room = sizeof line - used - 2;
        size_t length = (size_t)body < room ? (size_t)body : room;
        for (size_t i = used; i < used + length; i++) {
            if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) {
                line[i] = '?';
            }
        }
        used += length;
    }
    if (watch != NULL) {
        line[used] = '\0';
        watch(level, line + head);
    }
    line[used++] = '\n';
    if (enabled) {
        line_write(line, used);
    }
    errno = saved_errno;
}
